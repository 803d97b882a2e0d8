"""Predictions in a Delta or Iceberg table: a scan reads one snapshot of it, which is stored."""
