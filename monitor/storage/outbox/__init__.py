"""Effects: deliveries to MLflow and hooks, claimed in order and kept until done."""
