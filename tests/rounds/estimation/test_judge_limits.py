"""Evidence on limits of a judge: its mean, enumerated, and what it is made of."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from monitor.domain.model import Stratum, Verdict
from monitor.domain.settings import Limits
from monitor.rounds.estimation.evidence import judge_evidence
from monitor.rounds.estimation.judge import as_classifier
from monitor.stats.core.counts import Counts
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.random_shares import log_e_path_of_shares, log_recovery_of_shares

STRATA = [
    Stratum("", up, verdict=verdict)
    for up in (True, False)
    for verdict in (Verdict.NO, Verdict.YES, Verdict.MISSING)
]
UP = np.array([one.flagged for one in STRATA])
YES, NO = np.array([False, True, False] * 2), np.array([True, False, False] * 2)
ITEMS = 3  # of an enumerated window


def tally(size, labeled, positive, *, missing=(0,) * 6):
    counts = Counts.of_arrays(size=size, labeled=labeled, positive=positive, is_flagged=UP)
    return SimpleNamespace(counts=counts, missing=np.array(missing), frame=STRATA)


BEFORE = tally([10, 26, 4, 340, 40, 20], [10, 20, 4, 40, 20, 6], [4, 18, 2, 2, 12, 1])


def windows(share):
    """All windows of a few items, each with its probability."""
    sizes = itertools.product(range(ITEMS + 1), repeat=6)
    for size in (np.array(of) for of in sizes if sum(of) == ITEMS):
        yield size, float(stats.multinomial.pmf(size, ITEMS, share))


def labels_by_size(size):
    """Two labels by a rule of the worst kind: others where the judge never says yes."""
    labeled = np.zeros(6, dtype=np.int64)
    for stratum in [0, 3, 4, 1, 5, 2] if size[1] == 0 else [1, 4, 3, 0, 2, 5]:
        labeled[stratum] = min(size[stratum], 2 - labeled.sum())
    return labeled


def mean_of_e(share, rates, log_e):
    """Mean over windows and answers."""
    mean = 0.0
    for size, chance in windows(share):
        labeled = labels_by_size(size)
        for positive in itertools.product(*(range(n + 1) for n in labeled)):
            given = float(np.prod(stats.binom.pmf(positive, labeled, rates)))
            if given > 0:
                mean = mean + chance * given * np.exp(log_e(tally(size, labeled, positive)))
    return mean


def rates_of_judge(share, rates):
    """TPR and FPR by hand, over the items with a verdict."""
    return tuple(
        float((share * of)[YES].sum() / (share * of)[YES | NO].sum()) for of in (rates, 1 - rates)
    )


GOOD = [0.12, 0.24, 0.04, 0.51, 0.06, 0.03], [0.2, 0.95, 0.5, 0.005, 0.4, 0.1]
SILENT = [0.08, 0.08, 0.24, 0.06, 0.06, 0.48], [0.6, 0.7, 1.0, 0.05, 0.05, 0.0]
WRONG = [0.24, 0.12, 0.04, 0.18, 0.36, 0.06], [1.0, 0.5, 0.0, 0.4, 0.0, 1.0]


@pytest.mark.parametrize(
    ("world", "room"),
    [
        pytest.param(GOOD, 0.0, id="a good judge"),
        pytest.param(GOOD, 0.05, id="a good judge with room", marks=pytest.mark.slow),
        pytest.param(SILENT, 0.0, id="one that seldom answers", marks=pytest.mark.slow),
        pytest.param(WRONG, 0.0, id="one that is wrong"),
    ],
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
    size, labeled = [10, 10, 0, 60, 10, 10], np.array([1, 0, 0, 0, 0, 0])
    lost = np.array([0, 1, 0, 0, 1, 0])
    some = tally(size, labeled, 0 * labeled, missing=lost)
    limits = Limits.model_validate({"judge_tpr": 0.7, "judge_fpr": 0.05})

    tpr, fpr = judge_evidence(some, [BEFORE], limits)

    right, wrong = (
        judge_evidence(tally(size, labeled + lost, each), [BEFORE], limits)
        for each in (lost, 0 * lost)
    )
    assert tpr.log_e == right[0].log_e  # all would be positive
    assert fpr.log_e == right[1].log_e
    assert wrong[0].log_e[0] > tpr.log_e[0]


def test_a_round_in_which_the_judge_never_says_yes_counts_against_its_tpr():
    now = tally([20, 0, 0, 60, 0, 0], [2, 0, 0, 1, 0, 0], [2, 0, 0, 0, 0, 0])

    [tpr] = judge_evidence(now, [BEFORE], Limits.model_validate({"judge_tpr": 0.9}))

    assert min(tpr.log_e) > 0


def test_where_all_verdicts_are_counted_an_fpr_has_the_evidence_of_a_classifiers():
    columns = [120, 280, 30, 3500, 400, 70], [20, 30, 3, 60, 40, 5], [8, 24, 1, 1, 20, 2]
    earlier = tally(*columns)
    now = tally(*columns[:2], [6, 18, 1, 2, 26, 1], missing=[1, 0, 1, 0, 2, 0])

    [mine] = judge_evidence(now, [earlier], Limits.model_validate({"judge_fpr": 0.03}))

    before, counted = (as_classifier(each, STRATA) for each in (earlier, now))
    limit, rates = Limit("fpr", 0.03, "at_most"), guess([before.counts])
    lost, earlier = counted.missing, [before.counts]
    theirs = log_e_path_of_shares(limit, [counted.counts], rates, [lost], earlier)[-1]
    recovery = log_recovery_of_shares(limit, counted.counts, rates, lost, earlier)
    assert mine.log_e == pytest.approx(theirs, rel=1e-9)
    assert mine.log_recovery == pytest.approx(recovery, rel=1e-9)
    assert mine.log_e[0] != 0
