"""What the host did meanwhile: processors, tasks that wait."""
