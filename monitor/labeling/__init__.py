"""Labelers: one module for each kind, with the class of its settings."""
