"""The benchmark of pooled estimates does what the monitor does, and claims are what it found."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import pooling_coverage
from benchmarks.pooling_coverage import DOWN, QUIET, UP, Simulation, design, metric_draws, pooled
from monitor.domain.settings import POOLED_COVERAGE
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import JointPosterior
from monitor.stats.estimation.posterior import estimates
from monitor.stats.history.change_point import pool
from monitor.stats.history.robust_mixture import with_robust_weight

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "pooling_coverage.txt"


def test_intervals_are_those_of_the_monitor():
    window, labels = design("Phi1", "3+5:200+1050")
    simulation = Simulation(window, labels, replicates=2)
    rounds = [simulation.labeled(window.rate, [1, t]) for t in range(QUIET + 1)]
    rounds.append(simulation.labeled(window.rate * 0.98, [2, 1]))
    after = simulation.after(simulation.quiet, rounds[-1], QUIET + 1)
    posteriors = []
    for up in (UP, DOWN):
        mine = window.of_class(up)
        history = [(each[0, mine], labels[mine]) for each in rounds]
        mixture = pool(history[1:], reference=history[0])
        posteriors.append(with_robust_weight(mixture, *history[-1]))

    mixed = {
        up: pooled(run, *simulation.of_class(rounds[-1], up), 0.3) for up, run in after.items()
    }
    draws = metric_draws(window, mixed, "recall", np.random.default_rng(1))[0]

    for up, posterior in zip((UP, DOWN), posteriors, strict=True):
        weight, alpha, beta = (part[0] for part in mixed[up])
        assert weight == pytest.approx(posterior.weight, abs=1e-12)
        assert alpha == pytest.approx(posterior.alpha, rel=1e-12)
        assert beta == pytest.approx(posterior.beta, rel=1e-12)
    counts = Counts.of_arrays(
        size=window.size.astype(int),
        labeled=labels.astype(int),
        positive=rounds[-1][0].astype(int),
        is_flagged=window.is_flagged,
    )
    (recall,) = estimates(
        counts,
        metrics=("recall",),
        estimands=("rate",),
        posterior=JointPosterior(*posteriors),
        basis="pooled",
    )
    assert np.quantile(draws, [0.025, 0.975]) == pytest.approx([recall.low, recall.high], abs=0.01)


def test_it_runs_at_a_tiny_size(capsys):
    pooling_coverage.main(replicates=5, designs=("1+1:60+300",))

    printed = capsys.readouterr().out
    assert re.search(r"least coverage by default: \d\.\d+ after changes, \d\.\d+ in", printed)


def test_what_reports_claim_of_coverage_is_the_least_that_the_benchmark_found():
    results = RESULTS.read_text(encoding="utf-8")

    found = re.findall(r"least coverage by default: (\d\.\d+) after changes, (\d\.\d+) in", results)

    assert len(found) == 2  # Phi1 and Phi2
    least = [min(float(each) for each in kind) for kind in zip(*found, strict=True)]
    assert tuple(math.floor(100 * each) / 100 for each in least) == POOLED_COVERAGE
