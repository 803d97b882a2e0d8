"""Sinks that every monitor has; the others are its hooks, by their names."""

from __future__ import annotations

MLFLOW, LOG = "mlflow", "log"
