"""Where labels come from: one module per way, each with its settings class."""
