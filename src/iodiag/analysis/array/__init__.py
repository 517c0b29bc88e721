"""Devices held against each other: members, layers, peers, the traffic between them."""
