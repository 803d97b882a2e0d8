"""Addresses that monitor the service: health, readiness and metrics."""
