"""Rules on how to read the numbers of this capture, which say nothing of the host."""
