"""Estimates of these tests are coarse: they look at what is stored, not at how fine it is."""

from tests.coarse import coarsely  # noqa: F401  a fixture
