"""Typed facts that pass between the layers; no computing happens here."""
