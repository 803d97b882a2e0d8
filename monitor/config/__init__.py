"""The config: read from YAML with every problem named by line, typed and compared."""
