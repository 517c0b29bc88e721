"""Rules that show the cause to lie outside the storage."""
