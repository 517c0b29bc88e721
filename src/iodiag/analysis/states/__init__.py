"""What each device was doing: its samples as a few states, and what a healthy device takes at most."""
