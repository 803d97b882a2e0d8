"""Evidence where sizes of strata are a draw: its mean, enumerated, its bets, and its power."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks.first_phase import Asked, without
from monitor.stats.core.counts import Counts, FirstPhase
from monitor.stats.detection.alternatives import WEIGHTS, guess
from monitor.stats.detection.e_detector import log_e_factor
from monitor.stats.detection.half_space import Limit, half_space, per_item
from monitor.stats.detection.random_shares import log_e_path_of_shares, log_recovery_of_shares
from monitor.stats.detection.recovery import opposite
from tests.stats.samples import of_strata

UP, PARENT = np.array([True, True, False, False]), np.array([0, 0, 1, 1])
ITEMS, JUDGED = np.array([40, 400]), np.array([3, 2])
BEFORE = of_strata(
    [12, 28, 360, 40],
    [8, 20, 30, 20],
    [4, 19, 1, 10],
    UP,
    FirstPhase(np.array([30, 70, 90, 10]), PARENT),
)
GUESS = guess([BEFORE])
PRECISION, RECALL = Limit("precision", 0.8, "at_least"), Limit("recall", 0.6, "at_least")


def log_e_of(limit, counts, rates, missing=None, earlier=()):
    """Log e of a round that is read as a whole."""
    lost = None if missing is None else [missing]
    return log_e_path_of_shares(limit, [counts], rates, lost, earlier)[-1]


def window(first, labeled, positive):
    """Two cells of two verdicts; sizes as the first phase has them."""
    by_yes = ITEMS * first[1::2] // JUDGED
    size = np.stack([ITEMS - by_yes, by_yes], axis=1).ravel()
    return of_strata(size, labeled, positive, UP, FirstPhase(first, PARENT))


def first_phases(share):
    """All first phases of both cells, each with its probability."""
    for yes in itertools.product(*(range(m + 1) for m in JUDGED)):
        of_yes = np.array(yes)
        first = np.stack([JUDGED - of_yes, of_yes], axis=1).ravel()
        yield first, float(np.prod(stats.binom.pmf(of_yes, JUDGED, share)))


def answers(labeled, rates):
    """All answers to some labels, each with its probability."""
    for positive in itertools.product(*(range(n + 1) for n in labeled)):
        yield np.array(positive), float(np.prod(stats.binom.pmf(positive, labeled, rates)))


def greedy(first):
    """Labels by a rule of the worst kind: more where the first phase speaks against the limit."""
    return np.minimum(first, [1, 2, 1, 1] if first[1] >= 2 else [1, 0, 0, 2])


def mean_of_e(share, rates, log_e, plan=greedy):
    """Mean over the first phase and the labels, enumerated."""
    mean = 0.0
    for first, chance in first_phases(share):
        labeled = plan(first)
        for positive, given_first in answers(labeled, rates):
            mean = mean + chance * given_first * np.exp(log_e(window(first, labeled, positive)))
    return mean


def on_the_limit(limit):
    """Shares of yes and rates exactly at a limit: verdicts that say much, little, the reverse."""
    for of_flagged, of_passed in ((0.7, 0.1), (0.3, 0.4)):
        for flagged_yes, passed_ratio in ((0.99, 9.0), (0.8, 1.0)):
            if limit.metric == "precision":
                flagged, passed = limit.value, 0.05
            else:
                flagged = 0.8
                passed = ITEMS[0] * flagged * (1 / limit.value - 1) / ITEMS[1]
            flagged_no = (flagged - of_flagged * flagged_yes) / (1 - of_flagged)
            no = passed / (1 - of_passed + of_passed * passed_ratio)
            rates = [flagged_no, flagged_yes, no, no * passed_ratio]
            if min(rates) >= 0 and max(rates) <= 1:
                yield np.array([of_flagged, of_passed]), np.array(rates)


@pytest.mark.parametrize("limit", [PRECISION, RECALL], ids=str)
def test_evidence_at_a_limit_has_a_mean_of_one_at_most_whatever_the_shares_and_the_plan(limit):
    def log_e(counts):
        return log_e_of(limit, counts, GUESS, None, [BEFORE])

    means = [mean_of_e(share, rates, log_e) for share, rates in on_the_limit(limit)]

    assert len(means) == 4
    assert np.max(means) <= 1 + 1e-9
    assert np.max(means) > 0.9


def test_evidence_of_recovery_has_a_mean_of_one_at_most_beyond_the_limit():
    def log_e(counts):
        return log_recovery_of_shares(opposite(PRECISION), counts, GUESS, None, [BEFORE])

    means = [mean_of_e(share, rates, log_e) for share, rates in on_the_limit(PRECISION)]

    assert np.max(means) <= 1 + 1e-9
    assert np.max(means) > 0.8


def test_missing_answers_count_for_the_limit():
    first, lost = np.array([1, 2, 1, 1]), np.array([0, 1, 0, 0])
    some = window(first, np.array([1, 1, 1, 1]), np.array([0, 0, 0, 0]))
    full = window(first, np.array([1, 2, 1, 1]), np.array([0, 1, 0, 0]))

    mine = log_e_of(PRECISION, some, GUESS, lost, [BEFORE])

    assert mine.tolist() == log_e_of(PRECISION, full, GUESS, None, [BEFORE]).tolist()


def test_a_first_round_says_nothing_and_an_e_value_of_counted_sizes_is_refused():
    counts = window(np.array([1, 2, 1, 1]), np.array([1, 2, 1, 1]), np.array([0, 1, 0, 0]))

    assert log_e_of(PRECISION, counts, GUESS).tolist() == [0, 0, 0]
    assert log_recovery_of_shares(PRECISION, counts, GUESS) == 0
    with pytest.raises(ValueError, match="use random_shares"):
        log_e_factor(PRECISION, counts, GUESS)


def test_where_all_is_judged_evidence_is_that_of_a_column_of_verdicts():
    def counts(labeled, positive):
        phase = FirstPhase(np.array([120, 280, 3600, 400]), PARENT)
        return of_strata([120, 280, 3600, 400], labeled, positive, UP, phase)

    rows = ([20, 30, 60, 40], [8, 24, 1, 20])
    earlier, now = counts(*rows), counts(rows[0], [6, 18, 2, 26])
    rates = guess([earlier])

    mine = log_e_of(RECALL, now, rates, None, [earlier])

    theirs = log_e_of(RECALL, without(now), rates, None, [without(earlier)])
    assert mine == pytest.approx(theirs, rel=1e-12)
    assert theirs.max() > 1


# --- a column of verdicts, or scores: the whole window is a draw of the process -------------------

SMALL = 3  # items of an enumerated window
COLUMN = of_strata([1, 2, 8, 9], [1, 2, 4, 4], [0, 2, 0, 3], UP)


def windows(chance):
    """All sizes of a window of a few items, each with its probability."""
    sizes = [of for of in itertools.product(range(SMALL + 1), repeat=4) if sum(of) == SMALL]
    return [(np.array(of), stats.multinomial.pmf(of, SMALL, chance)) for of in sizes]


def by_size(size):
    """Labels by a rule of the worst kind, which follows the sizes."""
    return np.minimum(size, [1, 2, 1, 1] if size[1] > size[0] else [2, 1, 0, 1])


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


def test_evidence_that_takes_random_sizes_as_fixed_has_a_mean_over_one():
    """What the enumeration would show if shares of verdicts were taken as counted."""
    limit, rates = Limit("precision", 0.7, "at_least"), guess([COLUMN])

    means = [
        mean_over_sizes(
            chance, truth, lambda counts: log_e_factor(limit, counts, rates), plan=np.copy
        ).max()
        for chance, truth in processes(limit)
    ]

    assert max(means) > 1.05


@pytest.mark.parametrize("metric", ["precision", "recall", "specificity", "npv", "prevalence"])
@pytest.mark.parametrize("side", ["at_least", "at_most"])
def test_items_of_a_limit_add_up_to_its_half_space(metric, side):
    assert_items_add_up(Limit(metric, 0.3, side))


@pytest.mark.parametrize("metric", ["accuracy", "f1", "f2", "fpr", "false_omission_rate"])
def test_items_of_another_limit_add_up_to_its_half_space(metric):
    assert_items_add_up(Limit(metric, 0.3, "at_least"))


def assert_items_add_up(limit):
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


@pytest.mark.simulation
def test_evidence_of_a_drop_is_nearly_that_of_counted_sizes_where_thousands_are_judged():
    design = Asked.of("Phi1", "weak", "TPR .8, FPR .02")
    limit = Limit("precision", float(design.truth[0]) - 0.05, "at_least")
    wrong = np.minimum(1.0, 1.48 * (1 - design.rate))  # precision falls by .10
    dropped = replace(design, rate=np.where(design.is_flagged, 1 - wrong, design.rate))
    at_limit = Limit("precision", float(design.truth[0]), "at_least")
    rng, gained, known, null = np.random.default_rng(3), [], [], []
    for _ in range(150):
        earlier = [design.drawn(5000, rng)[0] for _ in range(3)]
        rates, quiet, now = guess(earlier), design.drawn(5000, rng)[0], dropped.drawn(5000, rng)[0]
        null.append(log_e_of(at_limit, quiet, rates, None, earlier))
        gained.append(log_e_of(limit, now, rates, None, earlier))
        known.append(log_e_of(limit, without(now), rates))

    weights = np.array(WEIGHTS)
    assert np.exp(null).mean(axis=0)[0] < 1.2  # others have too long a tail for so few rounds
    assert np.mean(gained, axis=0) @ weights > 0.8 * (np.mean(known, axis=0) @ weights)
