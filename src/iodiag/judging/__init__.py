"""From captures to one Report: what rules see of each host, and what they found. No rule is in here."""
