"""Statistics over samples: weighted means, quantiles, changes, windows, and sentences that cite."""
