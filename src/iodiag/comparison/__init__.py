"""Two captures before and after a change: what is compared, how sure, in what words."""
