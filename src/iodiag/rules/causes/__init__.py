"""Rules that name a mechanism."""
