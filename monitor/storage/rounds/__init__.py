"""Rounds: their rows, claims, transitions and windows."""
