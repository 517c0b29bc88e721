"""Fuzzing: hostile inputs made from the samples, and what must hold for any input."""
