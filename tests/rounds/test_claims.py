"""A claim lives as long as its step, and no longer."""

import time
from threading import Event

import pytest
from sqlalchemy import select, update
from structlog.testing import capture_logs

from monitor.domain.errors import StoreUnavailable
from monitor.rounds import claims, run
from monitor.rounds.claims import renewed
from monitor.storage.database import clock_ms
from monitor.storage.rounds import round_claims
from monitor.storage.tables import rounds
from tests.rounds.scene import Scene, settings
from tests.storage.rows import add_round, claimed

OFTEN = 0.02


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(claims, "EVERY", OFTEN)


@pytest.fixture
def round_id(database):
    return add_round(database)


def left(database):
    """Milliseconds that the claim still has, by the database's clock."""
    with database.read() as connection:
        return connection.execute(select(rounds.c.claimed_until - clock_ms())).scalar()


def nearly_run_out(database):
    with database.write() as connection:
        connection.execute(update(rounds).values(claimed_until=clock_ms() + 60_000))


def eventually(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(OFTEN)


def is_long(database):
    return (left(database) or 0) > round_claims.CLAIM_MS / 2


@pytest.mark.parametrize("taken_over", [True, False])
def test_a_claim_that_was_given_back_is_not_taken_again_and_one_that_was_taken_over_is_left_there(
    database, round_id, taken_over
):
    claim = claimed(database, round_id)
    with database.write() as connection:
        round_claims.release_round(connection, claim)
    if taken_over:
        claimed(database, round_id)
        nearly_run_out(database)

    with database.write() as connection:
        held = round_claims.renew_round(connection, claim)

    assert not held
    assert not is_long(database)
    assert (left(database) is None) is not taken_over


def test_a_store_that_is_away_for_a_beat_is_asked_again(database, round_id, monkeypatch):
    claim = claimed(database, round_id)
    nearly_run_out(database)
    beats = [StoreUnavailable("away"), None]
    renew = round_claims.renew_round

    def at_times(connection, of):
        if beats and (error := beats.pop(0)):
            raise error
        return renew(connection, of)

    monkeypatch.setattr(round_claims, "renew_round", at_times)

    with capture_logs() as logs, renewed(database, claim):
        eventually(lambda: is_long(database))

    assert [line["event"] for line in logs] == ["claim not renewed"]


def test_a_process_that_ends_renews_nothing(database, round_id, monkeypatch):
    asked = Event()
    monkeypatch.setattr(claims, "_stopping", asked)
    claims.let_claims_run_out()
    claim = claimed(database, round_id)
    nearly_run_out(database)

    claims._beat(database, claim, Event())

    assert not is_long(database)


def test_the_claim_of_a_long_scan_is_kept(database, monkeypatch):
    scene = Scene(database, settings())
    scene.week(1)
    scan = scene.source.scan

    def slow(*arguments):
        nearly_run_out(database)
        eventually(lambda: is_long(database))
        return scan(*arguments)

    monkeypatch.setattr(scene.source, "scan", slow)

    run.run(scene.context)

    assert scene.round(1).state == "labeling"
