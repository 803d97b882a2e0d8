"""Which tests `make test` leaves to `make test-all`, and which of them share a process."""

from __future__ import annotations

import pytest

THOROUGH = ("tests/faults/",)
"""Folders of which `make test` runs nothing: each has its feature tested elsewhere as well."""

POSTGRESQL = {"postgres_server", "postgres_url"}
ONE_SERVER = "mlflow_url"


def sort(item: pytest.Item) -> None:
    """Mark a test as `thorough`, and by the server that it shares with others.

    A test of its own may be marked where it stands, as `slow` or `simulation`.
    """
    names = set(getattr(item, "fixturenames", ()))
    marks = {mark.name for mark in item.iter_markers()}
    if (
        item.nodeid.startswith(THOROUGH)
        or marks & {"simulation", "slow", "postgresql", "soak"}
        or names & POSTGRESQL
    ):
        item.add_marker("thorough")
    elif ONE_SERVER in names:
        item.add_marker(pytest.mark.xdist_group("mlflow"))
