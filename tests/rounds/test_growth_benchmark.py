"""The benchmark of growth measures rounds that are what they stand for."""

from __future__ import annotations

from benchmarks.growth import Stage
from monitor.storage.database import Database
from monitor.storage.rounds import round_store
from monitor.storage.schema import ready


def test_a_correction_of_the_first_round_gives_played_and_copied_rounds_a_new_version(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/monitor.db")
    ready(database)
    stage = Stage(database)
    for number in (1, 2):
        stage.play(number)
    stage.copy(4)
    stage.play(5)
    before = rounds_of(database)

    stage.correct(4)

    assert before == [(number, "closed", 1) for number in range(1, 6)]
    assert rounds_of(database) == [(number, "closed", 2) for number in range(1, 6)]
    database.close()


def rounds_of(database):
    with database.read() as connection:
        rounds = round_store.find_rounds(connection, "mail")
    return [(round_.number, round_.state, round_.version) for round_ in rounds]
