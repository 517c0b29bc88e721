"""Measures the rules on labelled captures: `python -m evaluation FOLDER...` with tests/ on the path."""
