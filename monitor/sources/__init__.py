"""Where predictions come from: one module per product, each with its settings class."""
