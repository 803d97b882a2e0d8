"""Write to MLflow: one run per round, one per monitor, tags on the model version."""
