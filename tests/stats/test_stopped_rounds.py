"""The benchmark of rounds that stop: its short cuts are the monitor's own rule and intervals."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import stopped_rounds
from benchmarks.stopped_rounds import (
    NO_SCORE,
    Cell,
    arrivals,
    designs,
    drawn,
    evidence,
    half_widths,
    looks_at,
    planned,
    stopped,
)
from monitor.stats.core.counts import Counts
from monitor.stats.estimation.posterior import estimates
from monitor.stats.estimation.stopping import looks, shows_both_answers

CELL = Cell("Phi3", "good", 0.15)


@pytest.fixture(scope="module")
def rounds():
    design, rng = designs(CELL), np.random.default_rng(1)
    return drawn(design, planned(design, CELL.margin, rng), 6, rng)


def counts_of(rounds, n, y):
    return Counts.of_arrays(
        size=rounds.design.size.astype(np.int64),
        labeled=n,
        positive=y,
        is_flagged=rounds.design.is_flagged,
    )


def test_half_widths_are_those_of_the_monitors_estimate(rounds):
    n, y = rounds.until(30)

    found = half_widths(rounds.design, n, y)

    for place, (labeled, positive) in enumerate(zip(n, y, strict=True)):
        rows = estimates(counts_of(rounds, labeled, positive), estimands=("rate",), cells=True)
        told = [
            (row.high - row.low) / 2 for row in rows if row.high is not None if row.low is not None
        ]
        assert found[:, place] == pytest.approx(told, abs=0.01)  # 256 points


def test_rounds_stop_at_the_looks_of_the_monitor_and_not_before_it_would(rounds):
    total = rounds.stratum.shape[1]

    found = stopped(rounds, CELL.margin, looks_at(total))

    assert looks_at(total) == [*looks(total), total]
    for place, labels in enumerate(found.labels.astype(int)):
        assert labels in looks_at(total)
        if labels < total:
            n, y = (each[place] for each in rounds.until(labels))
            assert shows_both_answers(rounds.design.size, n, y, rounds.design.is_flagged)
            assert (found.half_width[:, place] <= CELL.margin).all()


def test_answers_come_in_once_each_and_in_order_for_one_person(rounds):
    rng = np.random.default_rng(2)
    total = rounds.stratum.shape[1]

    alone, many = arrivals(rounds, 1, rng), arrivals(rounds, 8, rng)

    assert (alone == np.arange(total)).all()
    assert (np.sort(many, axis=1) == np.arange(total)).all()
    assert (many != np.arange(total)).any()


def test_evidence_of_a_stop_keeps_its_mean_as_a_product_only():
    whole, many = (evidence(count, 0.2, 0.2) for count in (1, 8))

    assert whole.together == pytest.approx(1, abs=1e-9)
    assert many.product == pytest.approx(1, abs=1e-9)
    assert many.together > 1.02


def test_the_command_says_all_tables(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["stopped_rounds", "--replicates", "4"])
    monkeypatch.setattr(stopped_rounds, "CHOSEN", (CELL,))
    monkeypatch.setattr(stopped_rounds, "CELLS", (Cell("Phi3", NO_SCORE, 0.2),))
    monkeypatch.setattr(stopped_rounds, "BY_PEOPLE", (CELL,))
    monkeypatch.setattr(stopped_rounds, "LIMITS", (0.8,))

    stopped_rounds.main()

    said = capsys.readouterr().out
    for words in ("25 %, 16, 5 of each", "stopped: mean", "arrival, 8 people", "mean e"):
        assert words in said
