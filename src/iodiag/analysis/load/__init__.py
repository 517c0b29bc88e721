"""How loaded a device is and what it can do: load levels, baselines, limits and stalls."""
