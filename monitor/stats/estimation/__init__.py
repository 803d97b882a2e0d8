"""Estimates of one round, from its labels alone."""
