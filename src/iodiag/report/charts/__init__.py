"""Charts as plain data, their layout as shapes, and both as SVG or PNG; no analysis."""
