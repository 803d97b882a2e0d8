"""An abandoned round that nobody labeled is done again on request, and collides with nothing."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from monitor.domain.model import Answer, LabelEvent
from monitor.domain.sample_settings import Bands, Sample
from monitor.labeling.files import FilesLabeler, FilesSettings
from monitor.rounds import versions
from monitor.rounds.opening import due
from monitor.rounds.opening.due import why_it_stays
from monitor.storage.labels import label_store
from monitor.storage.results import concern_store
from monitor.storage.rounds import round_claims, round_transitions
from tests.csv_files import read_rows, write_rows
from tests.rounds.played import played
from tests.rounds.scene import MONDAY, Scene, settings

AT_ONCE = {"grace": timedelta(0), "hooks": ("ops",)}
SETTINGS = settings(**AT_ONCE)


def nobody_answers(scene):
    """Draw a round, which is abandoned since no answer comes by its deadline."""
    scene.draw(1)
    scene.run(later=timedelta(days=5))
    assert scene.round(1).state == "abandoned"
    return scene


@played
def unlabeled(database):
    return nobody_answers(Scene(database, SETTINGS))


def redo(scene):
    """Do the first round again, as `run-once --slot` does."""
    due.open_slot(scene.context, MONDAY, backfill=False)
    scene.run()
    return scene.round(1)


def keys(scene):
    """Keys of all effects, by the sink and in the order of delivery."""
    return [row["key"] for row in scene.rows('select "key" from effects order by id')]


def test_a_round_without_predictions_is_drawn_and_closed_in_the_same_run_once_there_are_some(scene):
    scene.run(1)
    seed = scene.round(1).seed
    scene.week(1)
    backfilled = due.open_slot(scene.context, MONDAY, backfill=True)

    again = redo(scene)

    assert backfilled is None
    assert (again.state, again.seed, again.number) == ("labeling", seed, 1)
    assert again.deadline == MONDAY + timedelta(days=5)
    moves = scene.rows("select before, after from round_events order by id")
    assert [(row["before"], row["after"]) for row in moves] == [
        (None, "open"),
        ("open", "abandoned"),
        ("abandoned", "open"),
        ("open", "labeling"),
    ]

    scene.label()

    found = scene.round(1)
    assert (found.state, found.version, found.first_version) == ("closed", 2, 2)
    told = scene.reports()
    assert [(each["version"], each["state"]) for each in told] == [(1, "abandoned"), (2, "closed")]
    assert len({each["round_key"] for each in told}) == 1
    assert len(keys(scene)) == len(set(keys(scene)))


def test_its_evidence_is_frozen_and_read_by_its_first_version(database):
    asked = settings(**AT_ONCE, limits={"precision": 0.9, "false_alarm_every": 2})
    scene = Scene(database, asked)
    scene.run(1)
    scene.week(1, precision=0.3)
    redo(scene)
    scene.label()
    scene.play(2, precision=0.3)

    orders = scene.rows('select version, "order" from evidence order by round_id, version')
    assert [(row["version"], row["order"]) for row in orders] == [(2, 1), (1, 2)]


def test_what_needs_a_look_the_second_time_is_told_under_the_name_of_its_run(scene):
    scene.run(1)
    scene.week(1, share=0.0)

    redo(scene)

    told = {each["event"]: each["round_key"] for each in scene.notices("ops")}
    assert told["round.attention"] == told["round.abandoned"] == scene.reports()[0]["round_key"]


def test_abandoned_a_second_time_it_is_told_a_second_time(scene):
    scene.run(1)
    redo(scene)
    redo(scene)

    told = [key for key in keys(scene) if key.endswith("/ops")]
    assert len(told) == len(set(told)) == 3
    assert [report["version"] for report in scene.reports()] == [1, 2, 3]
    assert scene.round(1).first_version == 3


def test_what_was_drawn_before_is_withdrawn_and_todays_settings_are_taken(unlabeled):
    unlabeled.write(
        concern_store.add_concern, unlabeled.round(1).id, "few_rows", "few", unlabeled.now
    )
    unlabeled.settings = settings(**AT_ONCE, labels=40)

    again = redo(unlabeled)

    assert again.settings.sample.max_labels == 40
    counted = {
        table: unlabeled.rows(f"select count(*) as n from {table}")[0]["n"]
        for table in ("items", "tasks", "payloads", "concerns")
    }
    assert counted == {"items": 40, "tasks": 40, "payloads": 40, "concerns": 0}
    assert list(unlabeled.labeler.sent) == ["mail-2025-03-03T0600-v2"]


def test_a_round_with_a_label_stays_and_says_why(unlabeled):
    first = unlabeled.rows("select item_id from tasks order by item_id")[0]["item_id"]
    _label(unlabeled, first, Answer.CANNOT_TELL)

    again = redo(unlabeled)

    assert again.state == "abandoned"
    assert why_it_stays(unlabeled.context, MONDAY) == (
        "was abandoned, and 1 item has an answer that was taken; it stays as it is, since a "
        "new draw would discard the answers"
    )


def _label(scene, item, answer):
    [row] = scene.rows('select "key" from tasks where item_id = :item', item=item)
    scene.write(label_store.add_events, "memory", [LabelEvent(row["key"], "ada", answer)],
                           scene.now)  # fmt: skip


def test_what_a_slow_worker_puts_away_is_not_what_is_out_now(unlabeled):
    old = unlabeled.round(1)
    again = redo(unlabeled)
    unlabeled.write(label_store.forget_payloads, old.id, first_version=old.first_version)

    [shown] = unlabeled.rows("select count(*) as n from payloads")
    assert (again.state, shown["n"]) == ("labeling", 200)


# Label files


@pytest.fixture
def folder(database, tmp_path):
    scene: Any = Scene(database, SETTINGS)
    scene.labeler = FilesLabeler(FilesSettings(), tmp_path)
    return nobody_answers(scene)


def test_tasks_get_a_file_of_their_own_and_answers_in_the_old_one_count_though_it_shows_nothing(
    folder,
):
    labels = folder.labeler.folder
    rows = read_rows(labels / "mail-2025-03-03T0600.csv")
    answers = folder.rows('select "key", item_id from tasks')
    truth = {row["key"]: folder.truth[row["item_id"]] for row in answers}
    write_rows(
        labels / "filled" / "late.csv",
        [{**row, "label": str(truth[row["task"]]), "annotator": "ada"} for row in rows],
    )

    redo(folder)

    old, new = (read_rows(labels / f"mail-2025-03-03T0600{part}.csv") for part in ("", "-v2"))
    assert len(old) == len(new) == 200
    assert {row["text"] for row in old} == {""}
    assert all(row["text"].startswith("item ") for row in new)
    same = {row["key"] for row in folder.rows('select "key" from tasks')} & set(truth)
    assert len(same) > 150  # one seed, so mostly the same items
    taken = folder.rows("select external_id from label_events")
    assert {row["external_id"] for row in taken} == {f"{key}/ada" for key in same}


# In the store: what of it goes, and who is too late for it


@played
def ended(database):
    """A round that ended while it had labels."""
    sample = Sample(max_labels=200, bands=Bands(flagged=2, passed=4))
    scene = Scene(database, settings(sample=sample))
    scene.draw(1, share=0.2)
    claim = scene.write(round_claims.claim_round, scene.round(1).id)
    assert claim is not None
    versions.abandon(scene.context, scene.round(1), claim, "as a test wants it")
    scene.write(round_claims.release_round, claim)
    return scene


@pytest.fixture
def abandoned(ended):
    return ended.round(1)


def reopen(scene, round_):
    return scene.write(
        round_transitions.reopen_abandoned,
        round_,
        settings=scene.settings,
        now=scene.now,
        reason="by hand",
    )


def an_answer_came(scene, abandoned):
    [task] = scene.rows("select item_id from tasks limit 1")
    _label(scene, task["item_id"], Answer.POSITIVE)
    return abandoned


def another_worker_opened_it(scene, abandoned):
    reopen(scene, abandoned)
    scene.run()
    return abandoned


def it_was_abandoned_again(_, abandoned):
    return replace(abandoned, first_version=abandoned.first_version - 1)


@pytest.mark.parametrize(
    "meanwhile", [an_answer_came, another_worker_opened_it, it_was_abandoned_again]
)
def test_a_round_that_is_not_as_it_was_read_any_more_is_left_as_it_is(ended, abandoned, meanwhile):
    read = meanwhile(ended, abandoned)
    before = ended.round(1)

    reopened = reopen(ended, read)

    assert not reopened
    assert ended.round(1) == before
