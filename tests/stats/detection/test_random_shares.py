"""Evidence where sizes of strata are a draw: its mean, enumerated, its bets, and its power."""

import itertools

import numpy as np
import pytest
from scipy import stats

from monitor.stats.core.counts import Counts
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.e_detector import log_e_factor
from monitor.stats.detection.half_space import WATCHABLE, Limit, half_space, per_item
from monitor.stats.detection.random_shares import log_e_path_of_shares, log_recovery_of_shares
from monitor.stats.detection.recovery import opposite
from tests.stats.samples import of_strata

UP = np.array([True, True, False, False])

SMALL = 3  # items of an enumerated window
COLUMN = of_strata([1, 2, 8, 9], [1, 2, 4, 4], [0, 2, 0, 3], UP)


def log_e_of(limit, counts, rates, missing=None, earlier=()):
    """Log e of a round that is read as a whole."""
    lost = None if missing is None else [missing]
    return log_e_path_of_shares(limit, [counts], rates, lost, earlier)[-1]


def windows(chance):
    """All sizes of a window of a few items, each with its probability."""
    sizes = [of for of in itertools.product(range(SMALL + 1), repeat=4) if sum(of) == SMALL]
    return [(np.array(of), stats.multinomial.pmf(of, SMALL, chance)) for of in sizes]


def by_size(size):
    """Labels by a rule of the worst kind, which follows the sizes."""
    return np.minimum(size, [1, 2, 1, 1] if size[1] > size[0] else [2, 1, 0, 1])


def answers(labeled, rates):
    """All answers to some labels, each with its probability."""
    for positive in itertools.product(*(range(n + 1) for n in labeled)):
        yield np.array(positive), float(np.prod(stats.binom.pmf(positive, labeled, rates)))


def mean_over_sizes(chance, rates, log_e, plan=by_size):
    """Mean over windows of a process and their labels, enumerated."""
    mean = np.zeros(3)
    for size, of_size in windows(chance):
        labeled = plan(size)
        for positive, given_size in answers(labeled, rates):
            counts = Counts(size, labeled, positive, UP)
            mean += of_size * given_size * np.exp(log_e(counts))
    return mean


def processes(limit):
    """Chances and rates of strata with the metric exactly at a limit, or above it."""
    rng = np.random.default_rng(5)
    for spread in (0.2, 0.999):  # how much the strata say of the answer
        chance = rng.dirichlet([2, 3, 4, 2])
        low, high = (1 - spread) / 2, (1 + spread) / 2
        rates = np.array([low, high, low / 3, high / 3])
        yield chance, at_least(limit, chance, rates)


def at_least(limit, chance, rates):
    """Move the rates of the flagged up until the metric keeps the limit, if it does not."""
    c, d = per_item(limit, UP)
    for by in np.linspace(0, 1, 400):
        moved = np.where(UP, rates + by * (1 - rates), rates * (1 - by))
        if chance @ (c * moved - d) >= 0:
            return moved
    raise AssertionError(limit)


@pytest.mark.parametrize(
    "limit",
    [
        Limit("precision", 0.7, "at_least"),
        Limit("recall", 0.6, "at_least"),
        Limit("specificity", 0.5, "at_least"),
        Limit("accuracy", 0.6, "at_least"),
    ],
    ids=str,
)
def test_evidence_has_a_mean_of_one_at_most_over_random_sizes_of_strata(limit):
    rates = guess([COLUMN])

    means = np.array(
        [
            mean_over_sizes(
                chance,
                truth,
                lambda counts: log_e_of(limit, counts, rates, None, [COLUMN]),
            )
            for chance, truth in processes(limit)
        ]
    )

    assert means.max() <= 1 + 1e-9
    assert means.max() > 0.8


def test_evidence_of_recovery_has_a_mean_of_one_at_most_over_random_sizes_of_strata():
    limit, rates = Limit("precision", 0.7, "at_least"), guess([COLUMN])

    means = [
        mean_over_sizes(
            chance,
            truth,
            lambda counts: log_recovery_of_shares(opposite(limit), counts, rates, None, [COLUMN]),
        ).max()
        for chance, truth in processes(limit)
    ]

    assert max(means) <= 1 + 1e-9
    assert max(means) > 0.8


def test_missing_answers_count_for_the_limit():
    limit, size, lost = Limit("precision", 0.7, "at_least"), [2, 3, 9, 6], np.array([0, 1, 0, 0])
    some = of_strata(size, [1, 1, 1, 1], [0, 0, 0, 0], UP)
    full = of_strata(size, [1, 2, 1, 1], [0, 1, 0, 0], UP)

    mine = log_e_of(limit, some, guess([COLUMN]), lost, [COLUMN])

    assert mine.tolist() == log_e_of(limit, full, guess([COLUMN]), None, [COLUMN]).tolist()
    assert mine.any()


@pytest.mark.parametrize("metric", [*WATCHABLE, "f2"])
@pytest.mark.parametrize("side", ["at_least", "at_most"])
def test_items_of_a_limit_add_up_to_its_half_space(metric, side):
    limit = Limit(metric, 0.3, side)
    size, rates = np.array([30, 70, 500, 150]), np.random.default_rng(1).random((9, 4))
    space, (c, d) = half_space(limit, size, UP), per_item(limit, UP)

    mine = rates @ (size * c) - size @ d

    theirs = rates @ space.c - space.d
    assert mine / theirs == pytest.approx(mine[0] / theirs[0])
    assert mine[0] / theirs[0] > 0


def test_equal_strata_cost_the_evidence_on_precision_nothing():
    limit = Limit("precision", 0.8, "at_least")
    cut = of_strata([100, 100, 900, 900], [30, 30, 40, 40], [18, 19, 2, 2], UP)
    whole = of_strata([200, 1800], [60, 80], [37, 4], [True, False])
    flat = np.array([0.84, 0.84, 0.05, 0.05])

    mine = log_e_of(limit, cut, flat, None, [cut])

    theirs = log_e_factor(limit, whole, flat[::2])
    assert mine == pytest.approx(theirs, rel=1e-4)
    assert theirs.max() > 1


@pytest.mark.parametrize(("is_declared", "holds"), [(True, True), (False, False)])
def test_evidence_has_a_mean_of_one_at_most_if_a_log_keeps_some_passed_items(is_declared, holds):
    limit, rates, per_row = Limit("accuracy", 0.6, "at_least"), guess([COLUMN]), [1, 1, 4, 4]

    def log_e(rows):
        size = rows.size * per_row if is_declared else rows.size
        counts = Counts(size, rows.labeled, rows.positive, UP, rows.size if is_declared else None)
        return log_e_of(limit, counts, rates, None, [COLUMN])

    of_rows = [(chance / per_row, truth) for chance, truth in processes(limit)]
    means = [mean_over_sizes(of / of.sum(), truth, log_e).max() for of, truth in of_rows]

    assert (max(means) <= 1 + 1e-9) == holds
    assert max(means) > 0.8
