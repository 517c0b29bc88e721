"""What a rule sees of one host: clean samples, derived columns, topology."""
