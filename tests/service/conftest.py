"""Estimates of these tests are coarse: none looks at more than their second digit."""

import pytest

from tests.cli.conftest import bare  # noqa: F401  a fixture
from tests.faults.few_points import few_points


@pytest.fixture(autouse=True)
def _coarse():
    with few_points(2**9):
        yield
