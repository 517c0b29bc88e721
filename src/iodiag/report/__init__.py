"""A Report as JSON, Markdown, HTML or on a terminal; made from the Report alone."""
