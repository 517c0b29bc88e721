"""Bytes in: files, standard input, compressed files."""
