"""DuckDB of this process for tests that write files: one of their own takes 40 ms to start."""

from monitor.files.engine import session


def engine():
    """Give a connection to the DuckDB by which the product reads files."""
    return session(alone=False)
