"""A simulated exam: short captures of hosts whose trouble is known, and marks for what is reported."""
