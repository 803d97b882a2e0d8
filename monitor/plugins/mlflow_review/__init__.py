"""Label in the review view of MLflow."""
