"""Alerts with a promised false-alarm rate, and how soon they find a drop."""
