"""Reports for MLflow and notices for people, written as effects."""
