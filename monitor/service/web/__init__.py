"""What the service tells those who watch it: health, readiness and metrics."""
