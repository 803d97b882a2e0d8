"""The evaluator that MLflow finds by its entry point."""
