"""Effects: deliveries to MLflow and hooks, claimed in order and stored until done."""
