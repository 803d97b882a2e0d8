"""What the next rounds would find: simulated drifts, plans, other thresholds."""
