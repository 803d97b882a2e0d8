"""Labeled sets of any balance, evaluated in a notebook or by `mlflow.models.evaluate`."""
