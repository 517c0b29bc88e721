"""What all host-days of a fleet mean together, from the joined tables alone."""
