"""Parquet, CSV and DuckDB files as relations to query, and files written whole or not at all."""
