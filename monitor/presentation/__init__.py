"""Every sentence and number format that the terminal, MLflow and hooks share, once.

Below this package travel codes and numbers, above it nobody words them anew.
"""
