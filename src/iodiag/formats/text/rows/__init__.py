"""The rows of blocks as numbers and words, with the proof that each line has the shape of its header."""
