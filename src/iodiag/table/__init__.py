"""The one table inside: columns of numbers, texts and times; DataFrames at its door only."""
