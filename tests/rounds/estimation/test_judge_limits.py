"""Evidence on limits of a judge that is asked: its mean, enumerated, and what it is made of."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from monitor.domain.model import Stratum, Verdict
from monitor.domain.settings import JUDGE_METRICS, Limits
from monitor.rounds.estimation.evidence import judge_evidence
from monitor.rounds.estimation.judge import as_classifier
from monitor.stats.core.counts import Counts, FirstPhase
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.random_shares import log_e_path_of_shares, log_recovery_of_shares

STRATA = [
    Stratum("", up, verdict=verdict)
    for up in (True, False)
    for verdict in (Verdict.NO, Verdict.YES, Verdict.MISSING)
]
UP, PARENT = np.array([one.flagged for one in STRATA]), np.array([0, 0, 0, 1, 1, 1])
ITEMS, JUDGED = np.array([40, 400]), np.array([2, 1])


def tally(size, labeled, positive, *, judged=None, missing=(0,) * 6):
    counts = Counts.of_arrays(
        size=size,
        labeled=labeled,
        positive=positive,
        is_flagged=UP,
        first_phase=None if judged is None else FirstPhase(np.array(judged), PARENT),
    )
    return SimpleNamespace(counts=counts, missing=np.array(missing), frame=STRATA)


BEFORE = tally(
    [10, 26, 4, 340, 40, 20],
    [10, 20, 4, 40, 20, 6],
    [4, 18, 2, 2, 12, 1],
    judged=[25, 65, 10, 85, 10, 5],
)


def window(first, labeled, positive):
    """A window of both cells; sizes as the first phase has them."""
    size = np.repeat(ITEMS, 3) * first // np.repeat(JUDGED, 3)
    return tally(size, labeled, positive, judged=first)


def first_phases(share):
    """All first phases of both cells, each with its probability."""
    parts = (
        [each for each in itertools.product(range(m + 1), repeat=3) if sum(each) == m]
        for m in JUDGED
    )
    for flagged, passed in itertools.product(*parts):
        chance = stats.multinomial.pmf(flagged, JUDGED[0], share[:3])
        yield (
            np.array([*flagged, *passed]),
            chance * stats.multinomial.pmf(passed, JUDGED[1], share[3:]),
        )


def mean_of_e(share, rates, log_e):
    """Mean over first phases and answers; more is labeled where the judge never says yes."""
    mean = 0.0
    for first, chance in first_phases(share):
        labeled = np.minimum(first, [2, 1, 0, 1, 1, 1] if first[1] == 0 else [0, 2, 1, 1, 1, 0])
        for positive in itertools.product(*(range(n + 1) for n in labeled)):
            given = float(np.prod(stats.binom.pmf(positive, labeled, rates)))
            if given > 0:
                mean = mean + chance * given * np.exp(log_e(window(first, labeled, positive)))
    return mean


def rates_of_judge(share, rates):
    """TPR and FPR by hand, over the items with a verdict."""
    items = np.repeat(ITEMS, 3) * share
    yes, no = np.array([False, True, False] * 2), np.array([True, False, False] * 2)
    return tuple(
        float((items * of)[yes].sum() / (items * of)[yes | no].sum()) for of in (rates, 1 - rates)
    )


GOOD = [0.3, 0.6, 0.1, 0.85, 0.1, 0.05], [0.2, 0.95, 0.5, 0.005, 0.4, 0.1]
SILENT = [0.2, 0.2, 0.6, 0.1, 0.1, 0.8], [0.6, 0.7, 1.0, 0.05, 0.05, 0.0]
WRONG = [0.6, 0.3, 0.1, 0.3, 0.6, 0.1], [1.0, 0.5, 0.0, 0.4, 0.0, 1.0]


@pytest.mark.parametrize(
    ("world", "room"),
    [(GOOD, 0.0), (GOOD, 0.05), (SILENT, 0.0), (WRONG, 0.0)],
    ids=["a good judge", "a good judge with room", "one that seldom answers", "one that is wrong"],
)
def test_evidence_on_a_judge_that_keeps_its_limits_has_a_mean_of_one_at_most(world, room):
    share, rates = (np.array(each) for each in world)
    tpr, fpr = rates_of_judge(share, rates)
    limits = Limits.model_validate({"judge_tpr": tpr - room, "judge_fpr": fpr + room})

    def log_e(now):
        both = judge_evidence(now, [BEFORE], limits)
        ended = [-np.inf if room else each.log_recovery for each in both]  # it is of no limit kept
        return np.array([[*each.log_e, end] for each, end in zip(both, ended, strict=True)])

    mean = mean_of_e(share, rates, log_e)

    assert mean.max() <= 1 + 1e-9
    assert mean.max(axis=1).min() > 0.9


def test_missing_answers_count_for_a_judge():
    first, labeled = np.array([1, 1, 0, 0, 1, 0]), np.array([1, 0, 0, 0, 0, 0])
    lost = np.array([0, 1, 0, 0, 1, 0])
    some = window(first, labeled, 0 * labeled)
    some.missing = lost
    limits = Limits.model_validate({"judge_tpr": 0.7, "judge_fpr": 0.05})

    tpr, fpr = judge_evidence(some, [BEFORE], limits)

    right, wrong = (
        judge_evidence(window(first, labeled + lost, each), [BEFORE], limits)
        for each in (lost, 0 * lost)
    )
    assert tpr.log_e == right[0].log_e  # all would be positive
    assert fpr.log_e == right[1].log_e
    assert wrong[0].log_e[0] > tpr.log_e[0]


def test_the_bet_on_a_judge_does_not_depend_on_how_many_items_have_a_verdict():
    """A stratum without labels adds -q at its worst: the same K shows as the same log e."""
    labeled, limits = np.array([0, 0, 0, 1, 0, 0]), Limits.model_validate({"judge_tpr": 0.8})

    [mine], [theirs] = (
        judge_evidence(window(np.array(first), labeled, 0 * labeled), [BEFORE], limits)
        for first in ([1, 1, 0, 1, 0, 0], [0, 1, 1, 1, 0, 0])
    )

    assert mine.log_e == theirs.log_e
    assert max(mine.log_e) < 0


def test_a_round_in_which_the_judge_never_says_yes_counts_against_its_tpr():
    first = np.array([2, 0, 0, 1, 0, 0])
    now = window(first, first, np.array([2, 0, 0, 0, 0, 0]))

    [tpr] = judge_evidence(now, [BEFORE], Limits.model_validate({"judge_tpr": 0.9}))

    assert min(tpr.log_e) > 0


def test_where_all_verdicts_are_counted_an_fpr_has_the_evidence_of_a_classifiers():
    columns = [120, 280, 30, 3500, 400, 70], [20, 30, 3, 60, 40, 5], [8, 24, 1, 1, 20, 2]
    earlier = tally(*columns)
    now = tally(*columns[:2], [6, 18, 1, 2, 26, 1], missing=[1, 0, 1, 0, 2, 0])

    [mine] = judge_evidence(now, [earlier], Limits.model_validate({"judge_fpr": 0.03}))

    before, counted = (as_classifier(each, STRATA) for each in (earlier, now))
    limit, rates = Limit(JUDGE_METRICS["judge_fpr"], 0.03, "at_most"), guess([before.counts])
    lost, earlier = counted.missing, [before.counts]
    theirs = log_e_path_of_shares(limit, [counted.counts], rates, [lost], earlier)[-1]
    recovery = log_recovery_of_shares(limit, counted.counts, rates, lost, earlier)
    assert mine.log_e == pytest.approx(theirs, rel=1e-9)
    assert mine.log_recovery == pytest.approx(recovery, rel=1e-9)
    assert mine.log_e[0] != 0
