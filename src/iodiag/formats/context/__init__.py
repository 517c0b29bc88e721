"""Context formats: one public module per tool whose output describes the host or its load."""
