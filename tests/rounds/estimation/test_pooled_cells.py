"""Rounds that were labeled by score cells, pooled: each class is one rate."""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from monitor.domain.model import BandEdges, Verdict
from monitor.domain.sample_settings import Bands, Cells, Sample
from monitor.domain.settings import Pooling
from monitor.rounds.estimation.estimate import proposal_margin, propose_limits
from monitor.rounds.estimation.history import before_launch, cells_to_pool
from monitor.rounds.parts.cause import precision_cause
from monitor.stats.estimation.cell_matrix import cell_posterior
from tests.rounds.estimation.tallies import estimated, known_of, tally, tally_by_class
from tests.rounds.scene import LIMITS, settings

POINTS = 2**10
ONE = Sample(max_labels=300, cells=Cells(flagged=1, passed=1), bands=Bands(flagged=1, passed=1))
ONE_BAND = Sample(max_labels=300, bands=Bands(flagged=1, passed=1))
MANY = Sample(max_labels=360, cells=Cells(flagged=4, passed=6), bands=Bands(flagged=2, passed=2))

FRAME = BandEdges(flagged=(0.6, 0.7, 0.8), passed=(0.1, 0.2, 0.3, 0.35, 0.4)).strata()
SIZE = np.array([60, 50, 40, 30, 4000, 2000, 800, 400, 200, 100])
LABELED = np.array([14, 12, 10, 8, 30, 24, 20, 16, 12, 10])
RATE = np.array([0.6, 0.75, 0.85, 0.95, 0.0005, 0.002, 0.01, 0.05, 0.15, 0.3])


def drawn(seed, size=SIZE, rate=RATE, labeled=LABELED):
    positive = np.random.default_rng(seed).binomial(labeled, rate)
    return tally(FRAME, size, labeled, positive)


def two(tp, fp, fn, tn, flagged=180, passed=7500):
    return tally_by_class(tp, fp, fn, tn, flagged=flagged, passed=passed)


def closed(rounds, sample, reference=None, **asked):
    chosen = settings(sample=sample, **asked)
    known = known_of(rounds, chosen, reference)
    found = estimated(rounds, chosen, reference)
    return found, known


def rows(found, basis="pooled", estimand="rate"):
    return {row.metric: row for row in found.rows if (row.basis, row.estimand) == (basis, estimand)}


def values(row):
    return row.point, row.low, row.high


@pytest.mark.parametrize("reference", [None, {"flagged": (80, 100), "passed": (3, 200)}])
def test_one_cell_a_class_is_pooled_as_one_band_a_class_is(reference):
    history = [two(40, 10, 5, 145), two(39, 11, 2, 148), two(30, 20, 4, 140), two(0, 0, 3, 90)]

    for count in range(1, 5):
        cell, _ = closed(history[:count], ONE, reference, limits=LIMITS)
        band, _ = closed(history[:count], ONE_BAND, reference, limits=LIMITS)
        for metric, row in rows(band).items():
            assert values(rows(cell)[metric]) == pytest.approx(values(row), abs=1e-12), metric
        for name in ("flagged", "passed"):
            ours, theirs = getattr(cell.pooled, name), getattr(band.pooled, name)
            assert ours.weight == pytest.approx(theirs.weight, abs=1e-12)
            assert ours.alpha == pytest.approx(theirs.alpha)
        assert cell.readings == band.readings
    launch = before_launch(history[0].frame, reference)
    by_cells, by_bands = (
        propose_limits(history * 2, launch, cells_to_pool(history[0].frame, sample), seed=1)
        for sample in (ONE, ONE_BAND)
    )
    assert by_cells == by_bands
    causes = [precision_cause(history[2], history[:2], seed=1, cells=by) for by in (True, False)]
    assert causes[0] == causes[1]


def test_scores_that_move_while_each_cell_keeps_its_rate_are_no_change_of_the_class():
    """The first three weeks have few items near the threshold, this one has many."""
    moved = SIZE * np.array([1, 1, 1, 1, 1, 1, 1, 4, 8, 8])
    history = [drawn(seed, labeled=3 * LABELED) for seed in range(6)]
    history.append(drawn(7, size=moved, labeled=3 * LABELED))

    found, known = closed(history, MANY)

    truth = float(moved[4:] @ RATE[4:] / moved[4:].sum())
    before = known.before.passed
    mean = float(before.mean()[0])
    usual = float(SIZE[4:] @ RATE[4:] / SIZE[4:].sum())
    assert abs(mean - truth) < 0.2 * (truth - usual)
    precision, recall = (rows(found)[name] for name in ("precision", "recall"))
    assert precision.point == pytest.approx(0.75, abs=0.08)
    found_positive = float(moved[:4] @ RATE[:4])
    wanted = found_positive / (found_positive + truth * moved[4:].sum())
    assert recall.low < wanted < recall.high


def test_a_class_without_a_label_this_time_has_no_estimate_of_earlier_rounds():
    unlabeled = np.where(np.arange(10) < 4, 0, LABELED)
    history = [*(drawn(seed) for seed in range(4)), drawn(5, labeled=unlabeled)]

    found, _ = closed(history, MANY)

    assert rows(found, basis="round")["precision"].point is None
    assert rows(found)["precision"].point is None
    assert "flagged items is labeled" in rows(found)["precision"].reason


def test_an_empty_class_leaves_the_other_one_pooled_and_later_rounds_know_all_of_it():
    nothing = SIZE * np.r_[np.zeros(4, dtype=int), np.ones(6, dtype=int)]
    empty = drawn(5, size=nothing, labeled=np.minimum(LABELED, nothing))
    history = [*(drawn(seed) for seed in range(4)), empty]

    found, _ = closed(history, MANY)
    after, known = closed([*history, drawn(6)], MANY)

    assert rows(found)["precision"].reason is not None
    assert rows(found)["false_omission_rate"].point is not None
    assert known.before.flagged.alpha.sum(axis=1).max() > 100
    assert rows(after)["precision"].point is not None


def test_a_cell_without_an_answer_counts_as_the_answered_ones_beside_it():
    some = np.where(np.isin(np.arange(10), [1, 7]), 0, LABELED)
    history = [drawn(seed, labeled=some) for seed in range(4)]

    found, known = closed(history, MANY)

    rate = weighted(history[-1].counts)
    assert known.now.positive[0] / known.now.labeled[0] == pytest.approx(rate, abs=1e-12)
    assert rows(found, basis="round")["precision"].point == pytest.approx(rate, abs=1e-12)


def weighted(counts):
    """Rate of the flagged class by hand: cell 0 is a group of 14 answers, the others are one."""
    share = counts.positive[:4] / np.maximum(counts.labeled[:4], 1)
    first = share[0]
    second = np.average(share[2:4], weights=counts.size[2:4])
    return (60 * first + 120 * second) / 180


def test_proposed_limits_lie_under_a_low_quantile_of_the_rates_of_the_classes():
    history = [drawn(seed) for seed in range(6)]

    found = propose_limits(history, None, cells_to_pool(FRAME, MANY), seed=1)

    counts = [each.counts for each in history]
    labeled, positive = (
        np.sum([getattr(each, name)[:4] for each in counts], axis=0)
        for name in ("labeled", "positive")
    )
    rate = float(np.average(positive / labeled, weights=SIZE[:4]))
    spread = np.sqrt(((SIZE[:4] / SIZE[:4].sum()) ** 2 * RATE[:4] * (1 - RATE[:4]) / labeled).sum())
    low = rate - 1.645 * spread
    assert found["precision"] == pytest.approx(low - proposal_margin(low), abs=0.01)
    assert 0 < found["recall"] < 1


def test_a_pooled_interval_of_precision_is_the_mixture_that_is_documented():
    history = [drawn(seed) for seed in range(3)]

    found, known = closed(history, MANY)

    law, q = known.after.flagged, Pooling().robust_weight
    own = cell_posterior(history[-1].counts).flagged
    parts = zip(law.weight * (1 - q), law.alpha[:, 0], law.beta[:, 0], strict=True)
    laws = [*parts, (q, own.alpha[0, 0], own.beta[0, 0])]
    row = rows(found)["precision"]
    for end, wanted in ((row.low, 0.025), (row.high, 0.975)):
        mass = sum(weight * stats.beta(a, b).cdf(end) for weight, a, b in laws)
        assert mass == pytest.approx(wanted, abs=4e-3)  # of 1024 draws


CUT = BandEdges(flagged=(0.7,), passed=(0.2,), judged=True).strata()
RATES = {(True, 0): 0.6, (True, 1): 0.9, (False, 0): 0.004, (False, 1): 0.1}
ITEMS = {(True, 0): 2000, (True, 1): 3000, (False, 0): 80_000, (False, 1): 15_000}
STEADY, TURNED, SILENT = (0.9, 0.02), (0.1, 0.98), None


def judged_round(judge, labels=400):
    """A round with answers as they are expected, by the share of positives and others that get yes.

    A silent judge has no verdict.
    """
    seen: Counter[tuple[bool, Verdict | None]] = Counter()
    columns = []
    for one in CUT:
        cell = one.flagged, seen[one.flagged, one.verdict]
        seen[one.flagged, one.verdict] += 1
        yes, items, rate = one.verdict is Verdict.YES, ITEMS[cell], RATES[cell]
        if judge is None or one.verdict is Verdict.MISSING:
            part = (rate, 1 - rate) if judge is None and one.verdict is Verdict.MISSING else (0, 0)
        else:
            tpr, fpr = judge
            part = rate * (tpr if yes else 1 - tpr), (1 - rate) * (fpr if yes else 1 - fpr)
        size = round(items * sum(part))
        labeled = min(labels, size)
        columns.append((size, labeled, round(labeled * part[0] / max(sum(part), 1e-9))))
    return tally(CUT, *zip(*columns, strict=True))


TRUE_PRECISION = (2000 * 0.6 + 3000 * 0.9) / 5000
BY_BANDS = Sample(max_labels=3000, bands=Bands(flagged=2, passed=2))
BY_CELLS = Sample(max_labels=3000, cells=Cells(flagged=4, passed=4))
both_cuts = pytest.mark.parametrize("sample", [BY_CELLS, BY_BANDS], ids=["cells", "bands"])


@both_cuts
def test_limits_and_causes_outlast_a_judge_whose_verdicts_turned_round(sample):
    history = [*[judged_round(STEADY)] * 3, *[judged_round(TURNED)] * 3]
    cells = cells_to_pool(CUT, sample)

    turned = propose_limits(history, None, cells, seed=1)

    steady = propose_limits([judged_round(STEADY)] * 6, None, cells, seed=1)
    assert turned["precision"] == pytest.approx(steady["precision"], abs=0.01)
    assert 0 <= steady["recall"] - turned["recall"] < 0.04  # less is known
    cause = precision_cause(history[-1], history[:-1], seed=1, cells=True)
    assert cause is not None
    assert cause.before[0] == pytest.approx(TRUE_PRECISION, abs=0.003)
    assert cause.change[0] == pytest.approx(0, abs=0.005)


def test_few_labels_of_two_verdicts_know_precision_well_alone_and_pooled():
    now = judged_round((0.95, 0.01), labels=4)  # 16 answers on flagged items, two groups

    result, _ = closed([now, now], BY_CELLS)

    alone, pooled = rows(result, "round")["precision"], rows(result)["precision"]
    # One group of all would have the half-width of 16 plain labels, 0.21.
    assert alone.high - alone.low < 2 * 0.14
    assert pooled.high - pooled.low < 2 * 0.14
    assert alone.low < TRUE_PRECISION < alone.high
