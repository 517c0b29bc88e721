"""Rules on what only looks wrong, and what to know beside the findings."""
