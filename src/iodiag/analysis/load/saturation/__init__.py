"""The verdict on a device's busy load levels: a false alarm, approaching, saturated, or open.

One function, `classify`, gives every busy level exactly one verdict, and the three rules on load read it, so
they exclude each other by construction. Their thresholds are THRESHOLDS in `judged_levels`, declared by all
three; `devices_with_verdict` is how a rule asks.
"""
