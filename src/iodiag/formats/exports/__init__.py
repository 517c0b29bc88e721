"""Exports that fill a whole file: sadf's CSV, JSON, XML, pairs and raw counters, and iostat's JSON."""
