"""Whose a capture is: its host, its clock's zone, counters paired into rates."""
