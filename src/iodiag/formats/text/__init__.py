"""Any text into rows: clean, structure, rows, times, tables, account. It knows no format by name."""
