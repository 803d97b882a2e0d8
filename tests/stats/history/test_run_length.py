"""Many histories at once: each as if it were alone."""

from __future__ import annotations

import pytest

from monitor.stats.history.run_length import RunLength, advance, begin


def test_each_shift_enters_with_its_share_of_the_hazard():
    settings = RunLength(hazard=0.2, shifts=((-1.0, 3.0), (0.0, 1.0)))

    run, log_predictive = advance(begin([5.0], [10.0]), [0.0], [0.0], 1, settings)

    assert run.weight == pytest.approx([0.8, 0.15, 0.05])  # no label says anything yet
    assert run.started.tolist() == [0, 1, 1]
    assert log_predictive == pytest.approx(0.0, abs=1e-12)
    assert run.history_alpha.tolist() == [5.5]


def test_the_heaviest_stay_in_their_order():
    settings = RunLength(hazard=0.2, shifts=((-1.0, 3.0), (0.0, 1.0), (1.0, 2.0)), keep=2)

    run, _ = advance(begin([5.0], [10.0]), [0.0], [0.0], 1, settings)

    assert run.started.tolist() == [0, 1]
    assert run.weight == pytest.approx([0.8 / 0.9, 0.1 / 0.9])
    assert run.alpha[1, 0] < run.beta[1, 0]  # the one that fell
