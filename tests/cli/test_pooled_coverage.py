"""`pr-monitor show` says what intervals with earlier rounds are, and what they held."""

from __future__ import annotations

from sqlalchemy import select, update

from monitor.presentation.estimates import POOLED_INTERVALS
from monitor.storage.database import Database
from monitor.storage.tables import reports


def said(place):
    text = " ".join(place.run("show", 1).out.split())
    return text[text.index(POOLED_INTERVALS) :].split("  ")[0] if POOLED_INTERVALS in text else ""


def test_show_says_how_often_pooled_intervals_held_the_truth(closed):
    assert "of simulated rounds after changes of 3 to 15 points either way" in said(closed)


def test_show_claims_no_coverage_of_a_round_of_before_that_pooled_another_way(closed):
    database = Database(f"sqlite:///{closed.folder}/monitor.db")
    with database.write() as connection:
        payload = connection.execute(select(reports.c.payload)).scalar_one()
        del payload["pooled_coverage"]
        connection.execute(update(reports).values(payload=payload))
    database.close()

    assert said(closed)
    assert "simulated" not in said(closed)


def test_show_says_nothing_of_them_where_there_are_none(asked):
    assert said(asked) == ""
