"""Which rounds' checks of a column's labels count together."""

from types import SimpleNamespace
from typing import Any

import pytest

from monitor.rounds.estimation.checks import ROUNDS, checked_labels
from monitor.stats.labels.audit import ClassAudits, LabelAudit
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


def test_a_column_of_both_classes_has_one_audit_and_one_row():
    both = checked(
        list_of({"for": "otherwise", "path": "a.csv"}),
        {True: COUNTS, False: CheckCounts(1, 0, 19, 0)},
    )

    assert both.audit() == LabelAudit(21, 2, 34, 3)
    [row] = both.rows()
    assert (row.labels, row.items) == ("flagged and passed", 60)
