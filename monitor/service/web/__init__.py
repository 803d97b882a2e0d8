"""What the service shows to those who watch it: health, readiness and metrics."""
