"""Table formats: one public module per tool whose text is samples below a header. No reading happens here."""
