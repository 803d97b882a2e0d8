"""Estimates corrected for label errors, and what is told of missing answers, in whole rounds."""

from datetime import timedelta

import pytest
from pydantic import ValidationError

from monitor.domain.model import Answer, Stratum
from monitor.domain.report import AnswersRow
from monitor.domain.settings import AuditCounts, ClassAuditCounts
from monitor.presentation.round_document import answers_sentence
from monitor.rounds.estimation.tally import Tally
from monitor.stats.core.counts import Counts
from monitor.stats.core.metrics import METRICS
from monitor.stats.labels.audit import LabelAudit
from monitor.stats.labels.label_error import corrected_estimates
from monitor.storage.results import estimate_store
from monitor.storage.samples.frame_store import StratumTally
from tests.rounds.estimation.tallies import estimated
from tests.rounds.estimation.test_segments import report_of
from tests.rounds.scene import LIMITS, REFERENCE, Scene, settings

AUDIT = AuditCounts(tp=96, fn=4, tn=1990, fp=10)


def rows_of(scene, found, basis):
    rows = scene.read(estimate_store.read_estimates, found.id, found.version)
    return [row for row in rows if row.basis == basis]


def test_corrected_rows_stand_beside_the_others_and_say_what_the_statistics_say(database):
    scene = Scene(database, settings(audit=AUDIT))
    found = scene.play(1)
    counted = scene.rows(
        "select s.size, c.labeled, c.positive, s.flagged from strata s join counts c on "
        "c.round_id = s.round_id and c.stratum = s.stratum where s.round_id = :id "
        "order by s.position",
        id=found.id,
    )
    counts = Counts.of_arrays(
        **{name: [row[name] for row in counted] for name in ("size", "labeled", "positive")},  # type: ignore[arg-type]
        is_flagged=[True, False],
    )

    rows = rows_of(scene, found, "corrected")

    wanted = corrected_estimates(
        counts, LabelAudit(**AUDIT.model_dump()), metrics=tuple(METRICS), seed=found.sobol_seed
    )
    assert {(r.metric, r.estimand): (r.point, r.low, r.high) for r in rows} == {
        (e.metric, e.estimand): pytest.approx((e.point, e.low, e.high)) for e in wanted
    }
    assert {row.method for row in rows} == {
        "corrected for label errors: posterior of labels and audit"
    }
    assert len(rows) == 2 * len(METRICS)
    answers = report_of(scene, found).answers
    assert (answers.missing, answers_sentence(answers)) == (0, None)


NOW = Tally(
    (
        StratumTally(Stratum("flagged", flagged=True), 120, 80, 80, 60, 0),
        StratumTally(Stratum("passed", flagged=False), 1880, 120, 118, 3, 2),
    )
)


def audited_by(audit):
    return estimated([NOW, NOW], settings(limits=LIMITS, reference=REFERENCE, audit=audit))


def corrected(found):
    return [row for row in found.rows if row.basis == "corrected"]


def test_alerts_and_the_other_estimates_are_the_same_with_and_without():
    plain, audited = audited_by(None), audited_by(AUDIT)

    assert [row for row in audited.rows if row.basis != "corrected"] == plain.rows
    assert audited.readings == plain.readings
    assert len(corrected(audited)) == 2 * len(METRICS)


def test_audits_of_each_class_correct_its_own_labels():
    hard = AuditCounts(tp=48, fn=2, tn=90, fp=10)

    found = audited_by(ClassAuditCounts(flagged=hard, passed=AUDIT))

    own, by_class = (
        next(row for row in found.rows if (row.metric, row.basis) == ("precision", basis))
        for basis in ("round", "corrected")
    )
    assert by_class.high - by_class.low > own.high - own.low


def test_an_audit_that_tells_nothing_leaves_a_reason_in_place_of_numbers():
    rows = corrected(audited_by(AuditCounts(tp=2, fn=1, tn=2, fp=1)))

    assert {row.point for row in rows} == {None}
    [reason] = {row.reason for row in rows}
    assert reason.startswith("labels are no better than chance with probability 0.")


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        (
            {"tp": 0, "fn": 0, "tn": 9, "fp": 1},
            r"needs truly positive items \(tp, fn\) and truly negative",
        ),
        ({"tp": 1, "fn": 9, "tn": 9, "fp": 1}, "10% of the positive and 90% of the negative items"),
    ],
)
def test_an_audit_that_cannot_correct_is_refused_in_the_config(counts, sentence):
    with pytest.raises(ValidationError, match=sentence):
        AuditCounts(**counts)


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

    found = report_of(scene, scene.round(1)).answers

    assert (found.wanted, found.labeled, found.declined, found.missing) == (200, 186, 4, 14)
    assert (found.half_hours, found.most_hours, found.last_hours) == (10, 60, 60)
    assert found.open_hours == 120
    assert answers_sentence(found) == (
        "14 of 200 answers are missing (7 %): 10 not given, 4 “cannot tell”; half of the others "
        "came within 10 h, nine in ten within 2.5 days, the last after 2.5 days; the round closed "
        "after 5 days"
    )


def test_missing_answers_without_any_time_are_told_all_the_same():
    answers_row = AnswersRow(
        wanted=10,
        labeled=8,
        declined=2,
        half_hours=None,
        most_hours=None,
        last_hours=None,
        open_hours=5,
    )

    told = "2 of 10 answers are missing (20 %): 0 not given, 2 “cannot tell”"
    assert answers_sentence(answers_row) == told
