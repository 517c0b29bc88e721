"""When each row was measured, over which interval, in which report."""
