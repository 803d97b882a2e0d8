"""Every sentence and number format that the terminal, MLflow and hooks share, once.

Below this package codes and numbers travel; above it nobody writes sentences.
"""
