"""Estimates of these tests are coarse: they look at what is stored, not at how fine it is."""

import pytest

from tests.faults.few_points import few_points


@pytest.fixture(autouse=True)
def _coarse():
    with few_points(2**8):
        yield
