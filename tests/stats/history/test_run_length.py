"""Many histories at once: each as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.stats.history.change_point import pooling_steps
from monitor.stats.history.run_length import RunLength, advance, begin


@pytest.mark.parametrize("keep", [4, 50])
def test_replicates_that_advance_together_are_each_pooled_as_if_alone(keep):
    rng = np.random.default_rng(3)
    labeled = np.array([20.0, 60.0, 5.0])
    rounds = rng.binomial(labeled.astype(int), [0.9, 0.4, 0.1], size=(6, 7, 3)).astype(float)
    settings = RunLength(hazard=0.3, keep=keep)

    run, total = begin(rounds[0], labeled), np.zeros(7)
    for t, positive in enumerate(rounds[1:], start=1):
        run, log_predictive = advance(run, positive, labeled, t, settings)
        total += log_predictive

    for replicate in range(7):
        steps = pooling_steps(
            [(round_[replicate], labeled) for round_ in rounds[1:]],
            reference=(rounds[0][replicate], labeled),
            hazard=0.3,
            keep=keep,
        )
        assert run.weight[replicate] == pytest.approx(steps[-1].mixture.weight, rel=1e-9)
        assert run.alpha[replicate] == pytest.approx(steps[-1].mixture.alpha)
        assert run.beta[replicate] == pytest.approx(steps[-1].mixture.beta)
        assert run.started[replicate].tolist() == steps[-1].started.tolist()
        assert total[replicate] == pytest.approx(sum(step.log_predictive for step in steps))


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
