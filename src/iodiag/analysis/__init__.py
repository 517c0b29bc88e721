"""Facts that several rules need, computed once from the normalised tables; no rule and no verdict."""
