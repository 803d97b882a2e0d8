"""Asking a judge on behalf of rounds."""
