"""Decisions that MLflow recorded as traces, read as the predictions of a classifier."""
