"""The benchmark of many monitors plays all rounds, with as many replicas as it is asked for."""

from __future__ import annotations

import pytest

from benchmarks.many_monitors import HEADS, Case, measure

pytestmark = pytest.mark.slow


def test_two_replicas_close_all_rounds_and_tell_every_figure():
    figures = measure(Case(monitors=4, replicas=2, lanes=2), told=4, on_postgres=False)

    assert set(figures) == set(HEADS)
    assert min(figures[head] for head in ("rounds/min", "CPU ms", "cores", "idle ms")) > 0
    assert figures["idle MB"] < figures["busy MB"]
