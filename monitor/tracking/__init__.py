"""What MLflow shows: one run per round, one per monitor, tags on the model version."""
