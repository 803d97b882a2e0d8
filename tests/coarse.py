"""Estimates and forecasts that cost milliseconds, for tests that look at no number of them."""

from contextlib import contextmanager

import pytest

from monitor.stats.detection import delay
from monitor.stats.detection.power import alert_power, smallest_drops
from monitor.stats.labels import label_error
from tests.faults.few_points import few_points

POINTS = 2**9


@contextmanager
def coarse(points=POINTS):
    """Estimate by few points and proposals, and simulate drops to come on few paths."""
    with pytest.MonkeyPatch.context() as patch, few_points(points):
        for simulated in (alert_power, smallest_drops):
            patch.setitem(simulated.__kwdefaults__ or {}, "paths", 20)
        patch.setitem(delay.detection.__kwdefaults__ or {}, "rounds", 8)
        patch.setattr(delay, "_FINEST", 0.1)
        for proposals in ("FIRST_ANALYSIS", "PROPOSALS"):
            patch.setattr(label_error, proposals, points)
        yield


@pytest.fixture(autouse=True)
def coarsely():
    """Import it into a module or a `conftest.py` whose tests run so."""
    with coarse():
        yield
