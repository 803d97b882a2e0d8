"""Curves over all thresholds from a stratified sample."""
