"""Evidence where a judge was asked about a sample only: its mean, enumerated, and its power."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks.first_phase import Asked, without
from monitor.stats.core.counts import FirstPhase
from monitor.stats.detection.alternatives import WEIGHTS, guess
from monitor.stats.detection.e_detector import log_e_factor
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.recovery import opposite
from monitor.stats.detection.waves import log_recovery_of_waves
from tests.stats.detection.test_waves import log_e_of_waves
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


def wave(first, labeled, positive):
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
    """Mean over the first phase and one wave of labels, enumerated."""
    mean = 0.0
    for first, chance in first_phases(share):
        labeled = plan(first)
        for positive, given_first in answers(labeled, rates):
            mean = mean + chance * given_first * np.exp(log_e(wave(first, labeled, positive)))
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
        return log_e_of_waves(limit, [counts], [GUESS], None, [BEFORE])

    means = [mean_of_e(share, rates, log_e) for share, rates in on_the_limit(limit)]

    assert len(means) == 4
    assert np.max(means) <= 1 + 1e-9
    assert np.max(means) > 0.9


def test_evidence_of_recovery_has_a_mean_of_one_at_most_beyond_the_limit():
    def log_e(counts):
        return log_recovery_of_waves(opposite(PRECISION), [counts], [GUESS], None, [BEFORE])

    means = [mean_of_e(share, rates, log_e) for share, rates in on_the_limit(PRECISION)]

    assert np.max(means) <= 1 + 1e-9
    assert np.max(means) > 0.8


def test_two_waves_whose_sizes_follow_answers_have_a_mean_of_one_at_most_together():
    share, rates = np.array([0.7, 0.1]), np.array([1 / 3, 1.0, 0.05, 0.05])
    mean = 0.0
    for first, chance in first_phases(share):
        labeled = np.minimum(first, [1, 1, 0, 0])
        for found, given_first in answers(labeled, rates):
            more = np.minimum(first - labeled, [2, 0, 0, 0] if found.sum() else [1, 1, 0, 0])
            more[2] = min(2 - more[:2].sum(), first[2])  # the total is fixed
            for rest, given_wave in answers(more, rates):
                waves = [wave(first, labeled, found), wave(first, more, rest)]
                guesses = [GUESS, guess([BEFORE, waves[0]])]
                log_e = log_e_of_waves(PRECISION, waves, guesses, None, [BEFORE])
                mean = mean + chance * given_first * given_wave * np.exp(log_e)

    assert np.max(mean) <= 1 + 1e-9
    assert np.max(mean) > 0.9


def test_missing_answers_count_for_the_limit():
    first, lost = np.array([1, 2, 1, 1]), np.array([0, 1, 0, 0])
    some = wave(first, np.array([1, 1, 1, 1]), np.array([0, 0, 0, 0]))
    full = wave(first, np.array([1, 2, 1, 1]), np.array([0, 1, 0, 0]))

    mine = log_e_of_waves(PRECISION, [some], [GUESS], [lost], [BEFORE])

    assert mine.tolist() == log_e_of_waves(PRECISION, [full], [GUESS], None, [BEFORE]).tolist()


def test_a_first_round_says_nothing_and_an_e_value_of_counted_sizes_is_refused():
    counts = wave(np.array([1, 2, 1, 1]), np.array([1, 2, 1, 1]), np.array([0, 1, 0, 0]))

    assert log_e_of_waves(PRECISION, [counts], [GUESS]).tolist() == [0, 0, 0]
    assert log_recovery_of_waves(PRECISION, [counts], [GUESS]) == 0
    with pytest.raises(ValueError, match="use waves"):
        log_e_factor(PRECISION, counts, GUESS)


def test_the_bet_does_not_depend_on_the_first_phase_of_the_round():
    """With nothing labeled log e is K d less what is worst: the same K shows as the same log e."""
    one, other = np.array([1, 2, 1, 1]), np.array([2, 1, 2, 0])
    labeled = np.array([0, 0, 1, 0])

    mine, theirs = (
        log_e_of_waves(PRECISION, [wave(each, labeled, 0 * labeled)], [GUESS], None, [BEFORE])
        for each in (one, other)
    )

    assert mine == pytest.approx(theirs, rel=1e-12)
    assert (mine < 0).all()


def test_where_all_is_judged_evidence_is_that_of_counted_sizes_with_the_bet_of_earlier_rounds():
    def counts(labeled, positive, judged):
        return of_strata(
            [120, 280, 3600, 400],
            labeled,
            positive,
            UP,
            judged and FirstPhase(np.array([120, 280, 3600, 400]), PARENT),
        )

    rows = ([20, 30, 60, 40], [8, 24, 1, 20])
    earlier, now = counts(*rows, judged=True), counts(rows[0], [6, 18, 2, 26], judged=True)
    rates = guess([earlier])

    mine = log_e_of_waves(RECALL, [now], [rates], None, [earlier])

    theirs = log_e_factor(RECALL, without(now), rates)
    assert mine == pytest.approx(theirs, rel=1e-6)
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
        null.append(log_e_of_waves(at_limit, [quiet], [rates], None, earlier))
        gained.append(log_e_of_waves(limit, [now], [rates], None, earlier))
        known.append(log_e_of_waves(limit, [without(now)], [rates]))

    weights = np.array(WEIGHTS)
    assert np.exp(null).mean(axis=0)[0] < 1.2  # others have too long a tail for so few rounds
    assert np.mean(gained, axis=0) @ weights > 0.8 * (np.mean(known, axis=0) @ weights)
