"""Facts that several rules need, computed once from the normalised tables."""
