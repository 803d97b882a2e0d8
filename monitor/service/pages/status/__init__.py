"""Status pages: all monitors, one monitor, one round."""
