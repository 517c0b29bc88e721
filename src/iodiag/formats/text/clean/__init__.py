"""A text without what mail, terminals, forums and log collectors added to its lines."""
