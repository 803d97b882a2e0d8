"""Which rounds' checks of a column's labels count together."""

from types import SimpleNamespace
from typing import Any

import pytest

from monitor.rounds.estimation.label_errors import ROUNDS, checked_labels
from monitor.stats.core.counts import Counts
from monitor.stats.labels.audit import ClassAudits, LabelAudit, NoBetterThanChance
from monitor.stats.labels.label_error import corrected_estimates
from monitor.storage.labels.check_store import CheckCounts, PastChecks

COUNTS = CheckCounts(tp=20, fn=2, tn=15, fp=3)


def list_of(*columns):
    """Labelers of which each column is checked by the files at the end."""
    parts = [{"kind": "column", "checks": 40, **column} for column in columns]
    return {"kind": "several", "parts": [*parts, {"for": "passed", "kind": "files"}]}


CASES = list_of({"for": "flagged", "path": "cases.csv"})


def checked(labeling, own, past=()):
    """Count the checks of a round after others."""
    round_: Any = SimpleNamespace(id=7, settings=SimpleNamespace(labeling=labeling))
    labels: Any = {7: SimpleNamespace(check_counts=own)}
    return checked_labels([round_], labels, past)[7]


def test_the_last_rounds_with_the_same_column_count_together():
    before = PastChecks(CASES, {True: COUNTS})
    other = PastChecks(list_of({"for": "flagged", "path": "old.csv"}), {True: COUNTS})
    more = PastChecks(list_of({"for": "flagged", "path": "cases.csv", "checks": 9}), {True: COUNTS})

    of_all = checked(CASES, {True: COUNTS}, [other, before, more])
    of_many = checked(CASES, {True: COUNTS}, [before] * 30)

    assert (of_all.rounds, of_all.pooled[True]) == (3, CheckCounts(60, 6, 45, 9))
    assert (of_many.rounds, of_many.pooled[True].tp) == (ROUNDS, ROUNDS * 20)


@pytest.mark.parametrize(
    ("labeling", "of_flagged", "of_passed"),
    [
        (CASES, LabelAudit(20, 2, 15, 3), None),
        (
            list_of({"for": "flagged", "path": "a.csv"}, {"for": "passed", "path": "b.csv"}),
            LabelAudit(20, 2, 15, 3),
            LabelAudit(9, 1, 90, 1),
        ),
    ],
)
def test_each_class_has_the_audit_of_its_own_column(labeling, of_flagged, of_passed):
    own = {True: COUNTS, False: CheckCounts(9, 1, 90, 1)}

    assert checked(labeling, own).audit() == ClassAudits(of_flagged, of_passed)


OF_ALL = list_of({"for": "otherwise", "path": "a.csv"})


def test_a_column_of_both_classes_has_an_audit_and_a_row_for_each():
    both = checked(OF_ALL, {True: COUNTS, False: CheckCounts(9, 1, 90, 1)})

    assert both.audit() == ClassAudits(LabelAudit(20, 2, 15, 3), LabelAudit(9, 1, 90, 1))
    assert [(row.labels, row.items) for row in both.rows()] == [("flagged", 40), ("passed", 101)]


def test_a_class_that_nobody_has_checked_yet_does_not_count_as_right():
    with pytest.raises(NoBetterThanChance, match="0 of 0 positive"):
        checked(OF_ALL, {True: COUNTS}).audit()


def test_a_column_that_misses_positives_among_the_passed_alone_is_corrected_there():
    # Of 760 flagged positives it has .95, of 230 passed ones .3: recall is 760 / 990.
    counts = Counts.of_matrix(
        tp=722, fp=278, fn=69, tn=18_931, flagged_size=1000, passed_size=19_000
    )
    own = {True: CheckCounts(361, 19, 120, 0), False: CheckCounts(9, 21, 220, 0)}

    audit = checked(OF_ALL, own).audit()

    rows: Any = corrected_estimates(counts, audit, metrics=("recall",), estimands=("window",))
    [recall] = rows
    assert recall.low < 760 / 990 < recall.high
    assert recall.point < 0.9
