"""Sources of predictions: files and databases, with the classes of their settings."""
