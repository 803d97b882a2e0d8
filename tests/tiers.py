"""Which tests `make test` leaves to `make test-all`, and which of them share a process."""

from __future__ import annotations

import pytest

THOROUGH = "tests/faults/"
"""Of this folder `make test` runs nothing: each feature has tests elsewhere as well."""

POSTGRESQL = {"postgres_server", "postgres_url"}
SHARED = {"mlflow_url", "filled_folder"}
"""Fixtures of the session that take seconds to make: whoever needs one goes where it is."""


def sort(item: pytest.Item) -> None:
    """Mark a test as `thorough`, or by what it shares with others.

    A single test is marked where it stands, as `slow` or `simulation`.
    """
    names = set(getattr(item, "fixturenames", ()))
    marks = {mark.name for mark in item.iter_markers()}
    if (
        item.nodeid.startswith(THOROUGH)
        or marks & {"simulation", "slow", "postgresql", "soak"}
        or names & POSTGRESQL
    ):
        item.add_marker("thorough")
        return
    for name in sorted(names & SHARED):
        item.add_marker(pytest.mark.xdist_group(name))
