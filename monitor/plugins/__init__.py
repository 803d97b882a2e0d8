"""Adapters that a first user does not need, loaded by entry points as anybody else's package is."""
