"""Several replicas on one store: each slot is one round, whoever is faster."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert

from monitor.domain.errors import TryLater
from monitor.domain.model import Answer, Collected, LabelEvent
from monitor.rounds import run, versions
from monitor.rounds.labels.endpoints import ask
from monitor.rounds.opening import due
from monitor.storage.labels import label_store
from monitor.storage.tables import monitors
from monitor.testing import MemoryLabeler
from tests.rounds.scene import MONDAY, WEEK, Scene, settings


class WhileAsked(MemoryLabeler):
    """A labeler during whose answer something else happens."""

    def __init__(self, meanwhile):
        super().__init__()
        self.meanwhile = meanwhile

    def collect(self, tasks, cursor):
        self.meanwhile()
        return super().collect(tasks, cursor)


def test_a_round_that_another_worker_draws_meanwhile_is_not_ended_before_its_labels_are_read(
    database,
):
    """As when `backfill` runs beside the service: its rounds are past their deadline at once."""
    scene = Scene(database, settings(deadline=timedelta(0)))
    scene.labeler.answers = scene.truth
    scene.draw(1, count=400)
    scene.week(2, count=400)

    def other_worker_draws():
        scene.now = MONDAY + WEEK
        due.open_due(scene.context)
        run.begin(scene.context, scene.round(2).id)

    hers = replace(scene.context, labeler=WhileAsked(other_worker_draws))
    run.run(hers)
    drawn = scene.round(2).state
    scene.run()

    assert (drawn, scene.round(2).state) == ("labeling", "closed")


class TellsAll(MemoryLabeler):
    """A labeler that tells all that stands, each answer with the time at which it was given.

    ``meanwhile`` happens once, after it looked and before what it saw is stored.
    """

    def __init__(self, dated, meanwhile=lambda: None):
        super().__init__()
        self.dated, self.meanwhile = dated, meanwhile

    def collect(self, tasks, cursor):
        dated = {key: self.dated[task.item_id] for key, task in tasks.items()}
        seen = [
            LabelEvent(key, "ada", *answer) for key, answer in dated.items() if answer is not None
        ]
        state = repr(sorted(dated.items()))
        self.meanwhile()
        if state == cursor:
            return Collected(cursor=cursor, was_read=False)
        return Collected(tuple(seen), cursor=state, complete=frozenset(tasks))


def test_answers_that_came_while_another_worker_read_are_not_undone_by_what_it_read(database):
    scene = Scene(database, settings())
    round_ = scene.draw(1, count=400)
    given, changed, *others = scene.items(1)
    older, newer = scene.now - timedelta(hours=2), scene.now - timedelta(hours=1)
    dated = dict.fromkeys([given, *others]) | {changed: (Answer.NEGATIVE, older)}
    then = dated | dict.fromkeys([given, changed], (Answer.POSITIVE, newer))

    def labels_by(labeler):
        ask(replace(scene.context, labeler=labeler), [round_])
        return scene.read(label_store.current_labels, round_.id)

    labels_by(TellsAll(dated))
    soon_gone = TellsAll(dated | {others[0]: (Answer.POSITIVE, older)})

    def another_reads():
        soon_gone.meanwhile = lambda: None
        soon_gone.dated = then
        labels_by(TellsAll(then))

    soon_gone.meanwhile = another_reads
    labels = labels_by(soon_gone)

    assert labels == dict.fromkeys([given, changed], Answer.POSITIVE)


def test_a_correction_that_another_worker_overtakes_makes_the_version_after_his(
    database, monkeypatch
):
    scene = Scene(database, settings())
    for number in (1, 2):
        scene.play(number, count=400)
    change_answers(scene, every=10)
    correct = versions.correct
    overtaken: list[Any] = []

    def overtake(context, found, claim):
        if not overtaken:
            overtaken.append(found)
            run.finish(scene.context, scene.round(1).id)
            change_answers(scene, every=7)
        correct(context, found, claim)

    monkeypatch.setattr(versions, "correct", overtake)

    run.finish(scene.context, scene.round(2).id)

    assert (overtaken[0].version, scene.round(2).version) == (1, 3)
    assert scene.round(2).estimated_revision == scene.round(2).label_revision


def change_answers(scene, every):
    """Let annotators change some of their answers in the closed rounds 1 and 2."""
    scene.turn(*sorted(scene.labeler.answers)[::every])
    for number in (1, 2):
        scene.collect(number)


class WhileSent(WhileAsked):
    """A labeler that tasks are being handed to when something else happens."""

    def collect(self, tasks, cursor):
        return MemoryLabeler.collect(self, tasks, cursor)

    def send(self, round_name, tasks):
        self.meanwhile()
        super().send(round_name, tasks)


def test_a_round_that_another_worker_hands_out_just_now_is_neither_asked_about_nor_ended(database):
    """Its folder may not be there yet, and nobody can have labeled it."""
    scene = Scene(database, settings(deadline=timedelta(0)))
    scene.week(1, count=400)
    scene.now = MONDAY
    asked: list[object] = []

    def she_passes():
        asking = replace(scene.context, labeler=WhileAsked(lambda: asked.append(1)))
        run.run(asking)
        asked.append(scene.round(1).state)

    labeler = WhileSent(she_passes)
    labeler.answers = scene.truth
    run.run(replace(scene.context, labeler=labeler))

    assert asked == ["labeling"]
    assert scene.round(1).state == "closed"


def test_a_deadline_waits_for_a_labeler_that_cannot_be_asked(database):
    scene = Scene(database, settings())
    scene.draw(1, count=400)
    scene.answer()
    scene.now += scene.settings.deadline
    scene.labeler.down = True

    with pytest.raises(TryLater, match="set to be down"):
        scene.run()
    before = scene.round(1).state
    scene.labeler.down = False
    scene.run()

    assert (before, scene.round(1).state) == ("labeling", "closed")
    assert not scene.round(1).partial


def test_a_read_sees_one_state_of_the_store_while_others_write_and_cannot_write_itself(database):
    with database.read() as reading:
        before = names(reading)
        with database.write() as writing:
            writing.execute(insert(monitors).values(name="mail", created_at=MONDAY))
        during = names(reading)
    with pytest.raises(Exception, match=r"read-?only"), database.read() as reading:
        reading.execute(insert(monitors).values(name="spam", created_at=MONDAY))
    with database.read() as reading:
        after = names(reading)

    assert (before, during, after) == ([], [], ["mail"])


def names(connection):
    return list(connection.execute(monitors.select()).scalars(1))


def test_a_connection_that_was_used_to_read_writes_again(database):
    for number in range(3):
        with database.read() as reading:
            assert len(names(reading)) == number
            level = level_of(reading)
        with database.write() as writing:
            writing.execute(insert(monitors).values(name=f"mail-{number}", created_at=MONDAY))
            assert level_of(writing) in {"serializable", "read committed"}
        assert level in {"serializable", "repeatable read"}

    assert database.engine.pool.checkedin() == 1


def level_of(connection):
    if connection.dialect.name == "sqlite":
        return "serializable"
    return connection.exec_driver_sql("show transaction_isolation").scalar()
