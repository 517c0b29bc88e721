"""From an input to captures: which of its files count, which format reads each. No text is parsed here."""
