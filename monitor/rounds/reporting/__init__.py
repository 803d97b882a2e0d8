"""What is said of a round: reports for MLflow, notices for people, written as effects."""
