"""Estimates corrected for label errors that checks find, and missing answers."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from monitor.domain.model import Answer, Stratum
from monitor.domain.report import AnswersRow
from monitor.presentation.parts.checks import LABEL_CHECKS
from monitor.presentation.round_document import answers_sentence
from monitor.rounds.estimation.label_errors import ROUNDS, checked_labels, stored_checks
from monitor.rounds.estimation.tally import Tally
from monitor.stats.core.beta_mixture import HEAVY
from monitor.stats.core.counts import Counts
from monitor.stats.core.metrics import METRICS
from monitor.stats.estimation.cell_matrix import plain_counts
from monitor.stats.labels.audit import ArrivedShare, ClassAudits, LabelAudit, NoBetterThanChance
from monitor.stats.labels.label_error import corrected_estimates
from monitor.storage.labels.check_store import CheckCounts, ClassChecks, WeightedChecks
from monitor.storage.results.part_store import PastCounts
from monitor.storage.samples.frame_store import StratumTally
from tests.rounds.estimation.tallies import estimated
from tests.rounds.scene import LIMITS, REFERENCE, Scene, settings

NOW = Tally(
    (
        StratumTally(Stratum("flagged", flagged=True), 120, 80, 80, 60, 0),
        StratumTally(Stratum("passed", flagged=False), 1880, 120, 118, 3, 2),
    )
)


def corrected_by(own, arrived=None):
    """Estimate with checks of the flagged class."""
    return estimated(
        [NOW, NOW],
        settings(limits=LIMITS, reference=REFERENCE),
        checked=None if own is None else checked(CASES, {True: own}),
        arrived=arrived,
    )


def corrected(found):
    return [row for row in found.rows if row.basis == "corrected"]


def test_alerts_and_the_other_estimates_are_the_same_with_and_without():
    plain, with_checks = corrected_by(None), corrected_by(CheckCounts(96, 4, 1990, 10))

    assert [row for row in with_checks.rows if row.basis != "corrected"] == plain.rows
    assert with_checks.readings == plain.readings
    assert len(corrected(with_checks)) == 2 * len(METRICS)


LATE = ArrivedShare(0.6, worth=200)


@pytest.mark.parametrize("of_passed", [None, LATE], ids=["all are there", "labels are to come"])
def test_corrected_rows_are_what_the_statistics_say_of_the_counts_and_the_checks(of_passed):
    """Also for labels to come of the class that nobody checks."""
    own = CheckCounts(96, 4, 1990, 10)

    rows = corrected(corrected_by(own, of_passed and ClassAudits(LATE, LATE)))

    expected = corrected_estimates(
        plain_counts(NOW.counts, prior=HEAVY),
        ClassAudits(LabelAudit(*own), of_passed),
        metrics=tuple(METRICS),
        seed=3,
    )
    assert {(r.metric, r.estimand): r.point for r in rows} == {
        (e.metric, e.estimand): pytest.approx(e.point) for e in expected
    }
    if of_passed is None:
        assert {(r.metric, r.estimand): (r.answered_low, r.answered_high) for r in rows} == {
            (e.metric, e.estimand): pytest.approx((e.low, e.high)) for e in expected
        }


@pytest.mark.parametrize(("share", "proposed"), [(0.6, False), (0.97, True)])
def test_no_limits_are_proposed_while_many_labels_count_as_negative_yet(share, proposed):
    arrived = ArrivedShare(share, worth=200)

    found = estimated([NOW] * 6, settings(), arrived=ClassAudits(arrived, arrived))

    assert bool(found.proposed_limits) is proposed


def test_checks_that_tell_nothing_leave_a_reason_in_place_of_numbers():
    rows = corrected(corrected_by(CheckCounts(2, 1, 2, 1)))

    assert {row.point for row in rows} == {None}
    [reason] = {row.reason for row in rows}
    assert reason.startswith("labels are no better than chance with probability 0.")


def test_missing_answers_are_told_with_their_share_and_when_the_others_came(database):
    scene = Scene(database, settings())
    scene.draw(1)
    opened = scene.now
    scene.now = opened + timedelta(hours=10)
    scene.label(0.5)
    scene.now = opened + timedelta(hours=60)
    scene.answer(0.95)
    first = sorted(scene.labeler.answers)[:4]
    scene.labeler.answers.update(dict.fromkeys(first, Answer.CANNOT_TELL))
    scene.run()
    scene.now = opened + timedelta(days=5)
    scene.run()

    found = scene.round_report(1).answers

    assert (found.wanted, found.labeled, found.declined, found.missing) == (200, 186, 4, 14)
    assert (found.half_hours, found.most_hours, found.last_hours) == (10, 60, 60)
    assert found.open_hours == 120
    assert answers_sentence(found) == (
        "14 of 200 answers are missing (7 %): 10 not given, 4 “cannot tell”; half of the others "
        "came within 10 h, nine in ten within 2.5 days, the last after 2.5 days; the round closed "
        "after 5 days"
    )


def test_missing_answers_without_any_time_are_told_all_the_same():
    never = AnswersRow(wanted=10, labeled=8, declined=2, open_hours=5)

    told = "2 of 10 answers are missing (20 %): 0 not given, 2 “cannot tell”"
    assert answers_sentence(never) == told


# --- which rounds' checks of a column's labels count together --------------------------------


COUNTS = CheckCounts(tp=20, fn=2, tn=15, fp=3)


def list_of(*columns):
    """Labelers of which each column is checked by the files at the end."""
    parts = [{"kind": "column", "checks": 40, **column} for column in columns]
    return {"kind": "several", "parts": [*parts, {"for": "passed", "kind": "files"}]}


CASES = list_of({"for": "flagged", "path": "cases.csv"})


def checked(labeling, own, past=()):
    """Count the checks of a round after others."""
    round_: Any = SimpleNamespace(id=7, settings=SimpleNamespace(labeling=labeling))
    labels: Any = {7: SimpleNamespace(check_counts=of_classes(own))}
    return checked_labels([round_], labels, past)[7]


def of_classes(own):
    """Checks by class, of one stratum where they are only counted."""
    return {
        up: ClassChecks.unweighted(one) if isinstance(one, CheckCounts) else one
        for up, one in own.items()
    }


def past(labeling, own=COUNTS):
    return PastCounts({"labeling": labeling}, stored_checks(of_classes({True: own})))


def test_the_last_rounds_with_the_same_column_count_together():
    before = past(CASES)
    other = past(list_of({"for": "flagged", "path": "old.csv"}))
    more = past(list_of({"for": "flagged", "path": "cases.csv", "checks": 9}))

    of_all = checked(CASES, {True: COUNTS}, [other, before, more])
    of_many = checked(CASES, {True: COUNTS}, [before] * 30)

    together, many = of_all.pooled[True], of_many.pooled[True]
    assert (together.rounds, together.total) == (3, CheckCounts(60, 6, 45, 9))
    assert (many.rounds, many.total.tp) == (ROUNDS, ROUNDS * 20)


def test_checks_of_strata_count_by_the_items_that_they_stand_for_in_all_rounds():
    far, near = CheckCounts(8, 2, 40, 0), CheckCounts(20, 0, 20, 10)
    of_strata = ClassChecks.of({"far": WeightedChecks(1.8, far), "near": WeightedChecks(0.2, near)})
    before = past(CASES, of_strata)

    found = checked(CASES, {True: of_strata}, [before] * 3)

    [audits], [row] = found.audits(), found.rows()
    audit = audits.flagged
    assert audit.tp / (audit.tp + audit.fn) == pytest.approx((14.4 + 4) / (18 + 4))
    assert audit.tn / (audit.tn + audit.fp) == pytest.approx((72 + 4) / (72 + 6))
    assert (row.tp, row.fn, row.tn, row.fp) == (112, 8, 240, 40)
    assert row.sensitivity[0] == pytest.approx(18.4 / 22)
    report: Any = SimpleNamespace(parts={"checks": [row]})
    [line] = LABEL_CHECKS.lines(report)
    assert "112 of 120 positive ones right (83.6 % [" in line
    assert "weighted by items" in line


def test_rounds_of_earlier_versions_which_have_no_strata_count_with_those_that_have():
    near = ClassChecks({"far": WeightedChecks(1.8, COUNTS), "near": WeightedChecks(0.2, COUNTS)})

    found = checked(CASES, {True: near}, [past(CASES)]).pooled[True]

    assert (found.rounds, found.total) == (2, CheckCounts(60, 6, 45, 9))


GOOD, NOW_BAD = CheckCounts(330, 10, 58, 2), CheckCounts(25, 9, 6, 0)


def test_where_checks_find_other_errors_only_the_new_ones_count_and_a_notice_says_so():
    before = checked(CASES, {True: CheckCounts(33, 1, 6, 0)}, [past(CASES, GOOD)])
    after = checked(CASES, {True: NOW_BAD}, [past(CASES, GOOD)])

    assert (before.pooled[True].rounds, before.notices()) == (2, [])
    assert after.pooled[True].rounds == 1
    assert after.audits() == [ClassAudits(LabelAudit(*NOW_BAD), None)]
    [notice] = after.notices()
    assert (notice.kind, notice.subject) == ("checks", "flagged")
    assert notice.value < 0.01
    assert "rest on these checks alone" in notice.sentence


def test_a_plan_that_moves_to_the_hard_items_is_no_change_of_the_column():
    easy, hard = (97, 3, 60, 4), (60, 40, 30, 30)

    def drawn(easy_times, hard_times):
        both = {"easy": (easy, easy_times), "hard": (hard, hard_times)}
        return ClassChecks.of(
            {
                name: WeightedChecks(1 / times, CheckCounts(*(times * count for count in counts)))
                for name, (counts, times) in both.items()
            }
        )

    before = past(CASES, drawn(2, 1))

    found = checked(CASES, {True: drawn(1, 2)}, [before] * 3)

    assert found.pooled[True].change is None
    assert not found.notices()


def test_where_they_may_be_other_errors_both_are_allowed_for():
    doubtful = CheckCounts(31, 5, 6, 0)

    after = checked(CASES, {True: doubtful}, [past(CASES, GOOD)])

    of_all = LabelAudit(361, 15, 64, 2)
    assert after.audits() == [ClassAudits(of_all, None), ClassAudits(LabelAudit(*doubtful), None)]
    assert after.pooled[True].rounds == 2
    assert "allow for either" in " ".join(notice.sentence for notice in after.notices())


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

    assert checked(labeling, own).audits() == [ClassAudits(of_flagged, of_passed)]


OF_ALL = list_of({"for": "otherwise", "path": "a.csv"})


def test_a_column_of_both_classes_has_an_audit_and_a_row_for_each():
    both = checked(OF_ALL, {True: COUNTS, False: CheckCounts(9, 1, 90, 1)})

    assert both.audits() == [ClassAudits(LabelAudit(20, 2, 15, 3), LabelAudit(9, 1, 90, 1))]
    assert [(row.labels, row.items) for row in both.rows()] == [("flagged", 40), ("passed", 101)]


def test_a_class_that_nobody_has_checked_yet_does_not_count_as_right():
    with pytest.raises(NoBetterThanChance, match="0 of 0 positive"):
        checked(OF_ALL, {True: COUNTS}).audits()


def test_a_column_that_misses_positives_among_the_passed_alone_is_corrected_there():
    # Of 760 flagged positives it has .95, of 230 passed ones .3: recall is 760 / 990.
    counts = Counts.of_matrix(
        tp=722, fp=278, fn=69, tn=18_931, flagged_size=1000, passed_size=19_000
    )
    own = {True: CheckCounts(361, 19, 120, 0), False: CheckCounts(9, 21, 220, 0)}

    [audit] = checked(OF_ALL, own).audits()

    rows: Any = corrected_estimates(counts, audit, metrics=("recall",), estimands=("window",))
    [recall] = rows
    assert recall.low < 760 / 990 < recall.high
    assert recall.point < 0.9
