"""A step that ends its process, as for want of memory, keeps nothing else from going on."""

from datetime import timedelta
from typing import Any, cast

import pytest
from sqlalchemy import func, select, update
from structlog.testing import capture_logs

from monitor.service import loop
from monitor.storage.tables import rounds
from monitor.wiring import Application
from tests.rounds.scene import MONDAY, WEEK, Log, Scene, settings, week_of_rows


class Death(BaseException):
    """What a process that is killed would not live to see."""


class Deadly:
    """A source that ends whoever reads the window of its first slot."""

    def __init__(self, source):
        self.source = source

    def scan(self, window, *arguments):
        if window.end == MONDAY:
            raise Death
        return self.source.scan(window, *arguments)

    def show(self, *arguments):
        return self.source.show(*arguments)


@pytest.fixture
def mail(database):
    scene = Scene(database, settings(), name="mail")
    scene.source = cast("Any", Deadly(scene.source))
    return scene


def a_life(act, scene):
    """Let a process begin, and leave its claim behind if it dies; true if it did."""
    try:
        with capture_logs():
            act()
    except Death:
        oldest = select(func.coalesce(func.max(rounds.c.claimed_until), 0)).scalar_subquery()
        with scene.database.write() as connection:
            id_of_it = scene.round(1).id
            connection.execute(
                update(rounds)
                .where(rounds.c.id == id_of_it)
                .values(claimed_by="gone", claimed_until=oldest + 1)
            )
        return True
    return False


def test_other_rounds_of_the_monitor_go_on(mail):
    memory = mail.source.source
    memory.rows, mail.truth = week_of_rows(MONDAY)

    deaths = [a_life(mail.run, mail)]
    mail.now += WEEK
    deaths.append(a_life(mail.run, mail))
    drawn = mail.round(2).state
    mail.answer()
    deaths.append(a_life(mail.run, mail))

    assert deaths == [True] * 3
    assert (drawn, mail.round(2).state) == ("labeling", "closed")
    assert mail.round(1).state == "open"


def test_what_a_round_waits_for_is_told(mail):
    for _ in range(3):
        a_life(mail.run, mail)

    told = "the last worker ended while it drew the sample, perhaps killed or out of memory"
    assert mail.round(1).reason == told
    assert len(mail.rows("select id from round_events where reason = :told", told=told)) == 1


def test_other_monitors_go_on_and_their_notices_go_out(mail):
    spam = Scene(mail.database, settings(grace=timedelta(0)), name="spam")
    log = Log()
    application = Application(
        config=cast("Any", None),
        database=mail.database,
        monitors=(mail.context, spam.context),
        handlers={"log": log, "mlflow": Log()},
        clock=lambda: mail.now,
        link=lambda _: None,
    )

    def run_once():
        loop.one_pass(application, application.monitors)

    deaths = [a_life(run_once, mail) for _ in range(2)]

    assert deaths == [True, True]
    assert spam.round(1).state == "abandoned"  # it has no predictions
    assert log.got == [("spam", "round.abandoned")]


def test_a_round_that_was_left_once_goes_on_as_any_other(mail):
    a_life(mail.run, mail)
    mail.source = mail.source.source
    mail.week(1)

    assert not a_life(mail.run, mail)
    assert (mail.round(1).state, mail.round(1).reason) == ("labeling", None)
