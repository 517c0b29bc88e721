"""Rules that measure who waits, whatever the cause."""
