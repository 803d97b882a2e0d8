"""Answers that people put right before a round closes: learned, reported, and waited for."""

from datetime import timedelta

import pytest

from monitor.domain.alerting import AlertState
from monitor.domain.labels import Statement
from monitor.domain.model import Answer, LabelKind
from monitor.domain.settings import Limits
from monitor.presentation.round_document import round_sections
from monitor.rounds.parts.corrections import LEAST, count_corrections, expected_corrections
from monitor.storage.labels.round_labels import read_labels
from tests.rounds.played import played
from tests.rounds.scene import MONDAY, Scene, settings

DAY = timedelta(days=1)
GOOD, BAD = {"precision": 0.85, "share": 0.3}, {"precision": 0.3, "share": 0.3}
PRECISION = Limits.model_validate({"precision": 0.7})


def slips(scene, number, share):
    """Flagged items that are positive and first called negative."""
    items = scene.flagged().intersection(scene.items(number))
    positive = sorted(item for item in items if scene.truth[item] is Answer.POSITIVE)
    return positive[: round(share * len(positive))]


def begin(scene, number, slipped, **week):
    """Answer all but one item of a round, some of them wrongly."""
    scene.draw(number, **week)
    wrong, (last, *items) = slips(scene, number, slipped), scene.items(number)[::-1]
    scene.labeler.answers |= {item: scene.truth[item] for item in items}
    scene.labeler.answers |= dict.fromkeys(wrong, Answer.NEGATIVE)
    scene.run()
    return wrong, last


def end(scene, number, wrong, last):
    """Put them right a day later, and answer the last one."""
    scene.labeler.answers |= {item: scene.truth[item] for item in [*wrong, last]}
    scene.run(later=DAY)
    assert scene.round(number).state == "closed"


@played
def careless(database):
    """Two good rounds with slips."""
    scene = Scene(database, settings(limits=PRECISION, labels=200, hooks=("ops",)))
    for number in (1, 2):
        end(scene, number, *begin(scene, number, 0.1, **GOOD))
    return scene


@played
def careful(database):
    """Two good rounds without a slip."""
    scene = Scene(database, settings(limits=PRECISION, labels=200, hooks=("ops",)))
    for number in (1, 2):
        end(scene, number, *begin(scene, number, 0, **GOOD))
    return scene


def slip_often(scene):
    """Play a good round in which half of the flagged positives are called negative for a day."""
    wrong, last = begin(scene, 3, 0.5, **GOOD)
    scene.run(later=timedelta(hours=12))
    end(scene, 3, wrong, last)


def test_answers_that_will_be_put_right_fire_nothing_once_rounds_have_shown_it(careless):
    slip_often(careless)

    assert careless.alert_states() == []


def test_before_any_correction_they_fire_an_alert_that_the_closing_revises(careful):
    slip_often(careful)

    assert careful.alert_states() == [(3, AlertState.REVISED)]


def test_a_bad_round_fires_when_its_answers_are_older_than_corrections_usually_are(careless):
    begin(careless, 3, 0, **BAD)
    at_once = careless.alerts()
    careless.run(later=DAY)
    on_time = careless.alerts()
    careless.run(later=timedelta(minutes=1))

    assert (at_once, on_time) == ([], [])
    assert careless.round(3).state == "labeling"
    assert careless.alert_states() == [(3, AlertState.FIRING)]


def test_an_alert_says_how_many_answers_do_not_count_yet(careless):
    begin(careless, 3, 0, **BAD)
    [last] = [item for item in careless.items(3) if item not in careless.labeler.answers]
    careless.labeler.answers.pop(young := next(iter(bad_items(careless, 3))))
    careless.run(later=timedelta(hours=1))
    careless.labeler.answers[young] = Answer.NEGATIVE
    careless.run(later=timedelta(hours=1))

    careless.run(later=timedelta(hours=23))

    assert last not in careless.labeler.answers
    [notice] = careless.alert_notices("ops")
    assert "after 199 of 200 labels, without 1 that may be corrected yet" in notice["sentence"]


def bad_items(scene, number):
    items = scene.flagged().intersection(scene.items(number))
    return sorted(item for item in items if scene.truth[item] is Answer.NEGATIVE)


def test_the_report_says_how_many_answers_were_changed_and_until_when(careless):
    [row] = careless.report(2)["corrections"]

    count = careless.part(2, "corrections")["flagged 0"]
    assert (row["labels"], row["positive"], row["rounds"], row["hours"]) == (
        "flagged",
        False,
        2,
        24,
    )
    assert row["changed"] / row["answers"] > LEAST
    assert count[1] == [DAY.total_seconds()] * len(slips(careless, 2, 0.1))
    lines = [line for one in round_sections(careless.round_report(2)) for line in one.lines]
    [line] = [line for line in lines if "were changed before the end" in line]
    assert f"{row['changed']} of {row['answers']} negative answers to flagged items" in line
    assert "nearly all within 24 h" in line


def test_later_corrections_of_a_closed_round_teach_nothing(careless):
    before = careless.part(2, "corrections")
    careless.turn(*slips(careless, 2, 1.0)[-8:])
    careless.run(later=DAY)

    assert careless.round(2).version == 2
    assert careless.part(2, "corrections") == before


def given(hour, answer, who="ann"):
    return Statement(MONDAY + timedelta(hours=hour), who, LabelKind.GIVEN, answer)


def withdrawn(hour, who="ann"):
    return Statement(MONDAY + timedelta(hours=hour), who, LabelKind.WITHDRAWN, None)


YES, NO, UNCLEAR = Answer.POSITIVE, Answer.NEGATIVE, Answer.CANNOT_TELL


@pytest.mark.parametrize(
    ("statements", "counted"),
    [
        ([given(0, NO)], [1, []]),
        ([given(0, NO), given(2, YES)], [1, [7200]]),
        ([given(0, NO), given(2, YES), given(3, NO)], [1, []]),
        ([given(0, NO), given(1, NO), given(4, YES)], [1, [14400]]),
        ([given(0, NO), withdrawn(1)], [1, [3600]]),
        ([given(0, NO), given(1, YES, "bob")], [1, []]),
        ([given(0, NO), given(1, YES, "head")], [1, [3600]]),
        ([given(0, UNCLEAR), given(1, NO)], [1, []]),
    ],
)
def test_the_answer_that_counts_as_evidence_is_followed(careful, statements, counted):
    from dataclasses import replace  # noqa: PLC0415

    labels = careful.read(read_labels, careful.round(2))
    item = slips(careful, 2, 1.0)[0]
    own = replace(labels, said={item: statements}, adjudicator="head")

    assert count_corrections(own) == {"flagged 0": counted}


def test_the_age_is_that_of_all_but_a_twentieth_and_rare_changes_are_not_waited_for():
    ages = [60 * n for n in range(1, 41)]

    assert expected_corrections([{"flagged 0": [400, ages]}])["flagged 0"].age == 38 * DAY / 1440
    assert expected_corrections([{"flagged 0": [101, [60]]}]) == {}
    assert expected_corrections([{"flagged 0": [101, [60]]}, {"flagged 0": [0, [60]]}]) != {}
    assert expected_corrections([{}]) == {}
