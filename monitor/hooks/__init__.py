"""Where notices go: a log line, a signed webhook."""
