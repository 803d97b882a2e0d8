"""How the labels of a round came, by the readings of it, and that some scores wait longer."""

from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pytest

from monitor.domain.model import Stratum, Verdict
from monitor.rounds.early_estimates import EarlyLabels, early_row
from monitor.rounds.paces import DAY, FollowedRound, ScoreCut, paces_by_score, score_cuts
from monitor.stats.core.counts import Counts
from monitor.storage.labels.provisional_store import DatedScore, PositiveCount

START = datetime(2025, 1, 1, tzinfo=UTC)
COLUMN = {"missing_means": "negative", "matures": "40d"}
EDGES = (None, 0.1, 0.3, 0.5)
PASSED = [
    Stratum(f"passed {low}", flagged=False, low=low, high=high) for low, high in pairwise(EDGES)
]
FRAME = [Stratum("flagged", flagged=True, low=0.5), *PASSED]
AGE = 10
COLUMNS = {True: COLUMN, False: COLUMN}


def rounds_with(slow, *, count=8):
    """Six matured rounds, then one of ten days; passed labels of low scores take ``slow`` days."""
    rounds = []
    for number, closed in enumerate([True] * 6 + [False]):
        age = 40 if closed else AGE
        labels = [
            DatedScore(f"{number}.{score}.{label}", score >= 0.5, score, START + day * DAY)
            for score, longest in ((0.9, 20), (0.2, 20), (0.05, slow))
            for label, day in enumerate(np.linspace(1, longest, count).tolist())
        ]
        readings = [
            PositiveCount(
                START + day * DAY,
                *(
                    sum(one.flagged is up and one.at <= START + day * DAY for one in labels)
                    for up in (True, False)
                ),
            )
            for day in range(age + 1)
        ]
        rounds.append(FollowedRound(START, closed, readings, labels))
    return rounds


def labels_of(rounds, **more):
    """The labels of the last round, by stratum."""
    at = rounds[-1].readings[-1].at
    came = [one.score for one in rounds[-1].labels if one.at <= at]
    positive = [came.count(0.9), came.count(0.05), came.count(0.2), 0]
    counts = Counts.of_arrays(
        size=[8, 40_000, 800, 100],
        labeled=[8, 400, 80, 50],
        positive=positive,
        is_flagged=[True, False, False, False],
    )
    return EarlyLabels(counts, FRAME, **more)


def recall_of(row):
    """Low end, point and high end of recall."""
    [recall] = [one for one in row.metrics if one.metric == "recall"]
    return np.array([recall.low, recall.point, recall.high], dtype=np.float64)


def test_scores_that_take_longer_get_a_pace_of_their_own_and_equal_ones_share_one():
    late = paces_by_score(FRAME, rounds_with(slow=38), 4.0, flagged=False)
    alike = paces_by_score(FRAME, rounds_with(slow=20), 4.0, flagged=False)

    assert late is not None
    assert (late.cut.strata, late.cut.edge) == (1, 0.1)
    low, high = late.at(AGE)
    assert (low.share < 0.3, high.share > 0.45) == (True, True)
    assert alike is None


def test_too_few_labels_on_one_side_of_a_cut_tell_no_scores_apart():
    assert paces_by_score(FRAME, rounds_with(slow=38, count=1), 4.0, flagged=False) is None


@pytest.mark.parametrize("has_cells", [False, True])
def test_recall_counts_late_scores_by_their_own_pace(has_cells):
    rounds = rounds_with(slow=38)
    truth = 8 / (8 + 8 * 40_000 / 400 + 8 * 800 / 80)

    labels = labels_of(rounds, has_cells=has_cells)
    by_class = [FollowedRound(one.end, one.closed, one.readings) for one in rounds]

    row, without = (early_row(labels, COLUMNS, of, 1) for of in (rounds, by_class))

    (low, point, high), (_, at_one_pace, _) = recall_of(row), recall_of(without)
    assert row.by_score
    assert not without.by_score
    assert low < truth < high
    assert abs(point - truth) < abs(at_one_pace - truth)


def test_a_cut_knows_on_which_side_its_first_strata_are():
    ascending = score_cuts(FRAME, flagged=False)
    descending = score_cuts(PASSED[::-1], flagged=False)

    assert ascending[0] == ScoreCut(flagged=False, strata=1, edge=0.1, is_ascending=True)
    assert ascending[0].is_first(0.05)
    assert not ascending[0].is_first(0.1)
    assert descending[0] == ScoreCut(flagged=False, strata=1, edge=0.3, is_ascending=False)
    assert descending[0].is_first(0.3)
    assert score_cuts(FRAME, flagged=True) == []


@pytest.mark.parametrize(
    "odd", [{"unscored": True}, {"verdict": Verdict.YES}], ids=["unscored", "verdict"]
)
def test_strata_that_overlap_in_score_are_not_cut(odd):
    extra = Stratum("extra", flagged=False, **odd)

    assert score_cuts([*PASSED, extra], flagged=False) == []


# --- the readings of a round ------------------------------------------------------------------


def followed(*counts, closed=True):
    """Make a round of which flagged positives were counted once a day."""
    readings = [
        PositiveCount(START + day * DAY, count, 0)
        for day, count in enumerate(counts)
        if count is not None
    ]
    return FollowedRound(START, closed, readings)


@pytest.mark.parametrize("cut", [(0, 0), (17, 3), (0, None)])
def test_readings_of_a_file_that_was_cut_off_for_a_while_are_as_if_nobody_had_looked(cut):
    whole = followed(10, 34, None, None, 35, 40)

    seen = followed(10, 34, *cut, 35, 40)

    assert seen.arrivals({True}) == whole.arrivals({True})
    assert [one.labels for one in seen.arrivals({True})] == [10, 24, 1, 5]


def test_a_few_labels_that_were_taken_back_never_came():
    assert [one.labels for one in followed(10, 34, 32, 40).arrivals({True})] == [10, 22, 8]


@pytest.mark.parametrize("closed", [True, False])
def test_a_round_that_lost_many_labels_says_how_many_and_nothing_of_the_pace(closed):
    cut = followed(10, 34, 17, closed=closed)

    assert cut.taken_back({True}) == (17, 34)
    assert cut.arrivals({True}) == []
    assert cut.taken_back({False}) is None
