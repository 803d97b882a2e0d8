"""What everything else is computed from: counts, metrics, Beta mixtures and draws of them."""
