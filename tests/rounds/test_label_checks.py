"""Items that a column labels and people check: error rates, corrected estimates, own deadlines."""

import json
from dataclasses import dataclass
from datetime import timedelta

import pytest

from monitor.domain.model import Answer, Collected, LabelEvent
from monitor.domain.report import RoundReport
from monitor.domain.state import RoundState
from monitor.presentation.parts.checks import LABEL_CHECKS
from monitor.presentation.round_document import round_sections
from monitor.rounds.estimation.curves import NoCurves, scored_sample
from monitor.rounds.labels import collect
from monitor.rounds.open_rounds import open_rounds
from monitor.storage.labels.round_labels import read_labels
from monitor.storage.overview.attention_store import read_attention
from monitor.storage.results import report_store
from monitor.storage.rounds import round_store
from monitor.tracking.values import metrics
from monitor.wiring import build
from tests.engine import engine
from tests.rounds.test_census import COLUMN, SLOT, Fraud

FLAGGED = COLUMN
PEOPLE = {"kind": "files", "deadline": "5d"}

TRUTH = """
    select 'p' || i as case_id, if(i % 10 < 3 or i % 20 = 4, 'yes', 'no') as fraud
    from range(1, 601) t(i)
"""


def truth(item):
    """What people say; the column misses a quarter of these, and adds a twelfth of the others."""
    return Answer.POSITIVE if int(item[1:]) % 10 < 4 else Answer.NEGATIVE


@dataclass
class Checked(Fraud):
    """A monitor whose flagged items a column labels, of which people check some."""

    known: str = "true"

    def write(self, name, query):
        """Write the predictions, and those labels of this module that are known."""
        super().write(name, f"{TRUTH} where {self.known}" if name == "truth" else query)

    def flagged(self):
        """Items that the classifier flags."""
        return self._ids("select id from 'predictions.parquet' where score >= 0.9")

    def called_fraud(self):
        """Items that the column calls fraud."""
        return self._ids("select case_id from 'truth.parquet' where fraud = 'yes'")

    def _ids(self, query):
        with engine() as connection:
            connection.execute(f"set file_search_path = '{self.folder}'")
            return {item for (item,) in connection.execute(query).fetchall()}

    def begin(self, flagged, passed, **checks):
        """Play the only round of a labeler for each class."""
        self.ways, self.labeling = ("list",), {"flagged": flagged, "passed": passed, **checks}
        return self.go_on()

    def go_on(self, later=timedelta(0)):
        """Run what is due."""
        self.now += later
        self.play(self.config())
        [self.context] = build(self.config(), clock=lambda: self.now).monitors
        return self

    def waiting(self):
        """Items that people are yet to answer, each with its task."""
        return {task.item_id: task for task in collect.unanswered(self.context)}

    def checks(self):
        """Those that they are to check."""
        return {item: task for item, task in self.waiting().items() if task.slot == 0}

    def answer(self, tasks, of=truth):
        """Let people answer some tasks."""
        events = tuple(LabelEvent(task.key, "ann", of(item)) for item, task in tasks.items())
        collect.store_together([(self.context, Collected(events))])
        return self.go_on()

    @property
    def round(self):
        """The only round."""
        [round_] = self.read(round_store.find_rounds, "list")
        return round_

    @property
    def labels(self):
        """Its labels."""
        return self.read(read_labels, self.round)

    @property
    def report(self):
        """Its newest report."""
        payload = self.read(report_store.read_report, self.round.id, self.round.version)
        return RoundReport.model_validate(payload)


@pytest.fixture
def scene(store_folder):
    return Checked(store_folder).begin({**FLAGGED, "checks": 40}, PEOPLE)


def ends(report, basis):
    """Ends and point of a round's precision."""
    row = report.shown("precision", basis, "window")
    return row.low, row.point, row.high


def test_checks_correct_the_estimates_and_say_how_good_the_column_is(scene):
    assert len(scene.checks()) == 40

    scene.answer(scene.waiting())

    flagged = scene.flagged()
    precision = sum(truth(item) is Answer.POSITIVE for item in flagged) / len(flagged)
    [row] = LABEL_CHECKS.of(scene.report)
    assert (row.labels, row.items, row.rounds) == ("flagged", 40, 1)
    assert row.tp + row.fn + row.tn + row.fp == 40
    assert row.fn > 0
    low, point, high = ends(scene.report, "round")
    assert low == point == high != precision  # the column has all labels, some of them wrong
    low, _, high = ends(scene.report, "corrected")
    assert low < precision < high


def test_show_and_mlflow_have_the_error_rates(scene):
    scene.answer(scene.waiting())

    report = scene.report
    [row] = LABEL_CHECKS.of(report)

    lines = [line for section in round_sections(report) for line in section.lines]
    [line] = [line for line in lines if "the column's labels of flagged items" in line]
    assert f"{row.tp} of {row.tp + row.fn} positive ones right" in line
    named = metrics(report)
    assert row.sensitivity is not None
    assert named["labels/flagged_sensitivity"] == pytest.approx(row.sensitivity[0], abs=1e-6)
    assert named["labels/flagged_specificity_low"] < named["labels/flagged_specificity"]


def test_people_who_check_label_nothing(scene):
    scene.answer(scene.checks(), of=lambda _: Answer.POSITIVE)
    scene.answer(scene.waiting())

    counted = [row for row in scene.matrix("list") if row[0].startswith("flagged")]
    assert sum(row[2] for row in counted) == len(scene.flagged())
    assert sum(row[3] for row in counted) == len(scene.flagged() & scene.called_fraud())


def test_status_counts_the_checks_among_the_answers(scene):
    labels = len(scene.flagged()) + 40

    [before] = scene.read(open_rounds, "list")
    scene.answer(scene.checks())
    [after] = scene.read(open_rounds, "list")

    assert (before.wanted, before.answered) == (labels + 40, len(scene.flagged()))
    assert (after.wanted, after.answered) == (labels + 40, len(scene.flagged()) + 40)


def test_the_page_is_waited_for_until_its_own_deadline_and_a_late_check_corrects(scene):
    waiting = scene.waiting()
    late = dict([scene.checks().popitem()])
    scene.answer({item: task for item, task in waiting.items() if item not in late})

    assert scene.round.people_deadline == scene.now + timedelta(days=5)
    assert scene.go_on(timedelta(days=4)).round.state is RoundState.LABELING
    closed = scene.go_on(timedelta(days=2))
    assert closed.round.state is RoundState.CLOSED
    assert closed.round.deadline > scene.now
    assert (closed.round.version, LABEL_CHECKS.of(closed.report)[0].items) == (1, 39)

    scene.answer(late)

    assert (scene.round.version, LABEL_CHECKS.of(scene.report)[0].items) == (2, 40)


def test_the_column_is_waited_for_after_the_page_is_over(store_folder):
    scene = Checked(store_folder, now=SLOT, known="i % 2 = 0").begin(FLAGGED, PEOPLE)
    scene.answer(scene.waiting())

    assert scene.go_on(timedelta(days=20)).round.state is RoundState.LABELING
    assert scene.go_on(timedelta(days=11)).round.state is RoundState.CLOSED


def test_where_a_challenger_needs_items_checks_are_drawn_among_them_and_weigh_as_their_stratum(
    store_folder,
):
    other = {"name": "v8", "score": "score", "threshold": 0.8}
    source = {"path": "predictions.parquet", "challenger": other}
    scene = Checked(store_folder, source=source).begin({**FLAGGED, "checks": 20}, PEOPLE)
    drawn = scene.rows("select item_id, count(*) from tasks group by 1 having count(*) = 2")

    scene.answer(scene.waiting())

    assert {item for item, _ in drawn} < scene.flagged()
    assert LABEL_CHECKS.of(scene.report)[0].items == len(drawn) == 20
    assert ends(scene.report, "corrected") != ends(scene.report, "round")
    strata = [part for part in scene.labels.strata if part.stratum.flagged]
    share = sum(part.planned for part in strata) / sum(part.size for part in strata)
    [stored] = scene.rows("select counts from round_parts where name = 'checks' and version = 1")
    flagged = json.loads(stored[0])["flagged"]
    assert {name: of[0] for name, of in flagged["strata"].items()} == {
        part.stratum.name: pytest.approx(share * part.size / part.planned) for part in strata
    }
    by_stratum = [of[1:] for of in flagged["strata"].values()]
    assert [*map(sum, zip(*by_stratum, strict=True))] == [
        flagged[name] for name in ("tp", "fn", "tn", "fp")
    ]


def test_without_a_check_answered_nothing_is_corrected_and_the_reason_is_given(scene):
    late = dict([scene.checks().popitem()])
    scene.answer({item: task for item, task in scene.waiting().items() if task.slot})
    scene.go_on(timedelta(days=6))

    row = scene.report.shown("precision", "corrected")
    assert row.point is None
    assert "no better than chance" in row.reason
    assert "0 of 40 checks of the column" in closing_reason(scene)
    unchecked = "nobody answered the 40 checks of the column's labels"
    assert any(unchecked in sentence for sentence in scene.report.concerns)

    scene.answer(late)

    assert scene.round.version == 2
    assert not any(unchecked in sentence for sentence in scene.report.concerns)


def closing_reason(scene):
    """Why the round closed."""
    return scene.rows("select reason from round_events where after = 'closed'")[0][0]


def test_answers_of_a_column_that_is_counted_are_answers(store_folder):
    scene = Checked(store_folder).begin(FLAGGED, PEOPLE)
    late = scene.round.deadline - timedelta(seconds=1)

    assert scene.read(read_attention, late, "list") == []
    with pytest.raises(NoCurves, match="flagged-1, flagged-2 are counted whole"):
        scored_sample(scene.round, scene.labels)


def test_a_column_of_both_classes_is_checked_in_each(store_folder):
    of_class = {**COLUMN, "checks": 15}
    scene = Checked(store_folder).begin(of_class, of_class, checks=PEOPLE)

    flagged = scene.flagged()
    assert sum(item in flagged for item in scene.checks()) == 15
    assert len(scene.waiting()) == 30
    scene.answer(scene.waiting())

    rows = [(row.labels, row.items) for row in LABEL_CHECKS.of(scene.report)]
    assert rows == [("flagged", 15), ("passed", 15)]
