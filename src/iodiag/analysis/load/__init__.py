"""How loaded a device is and what it can do: load levels, limits, classes, stalls."""
