"""Predictions in tables and files that Spark reads."""
