"""Rounds that close after newer ones of their history, with a drop among them."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from tests.cli.workplace import COLUMN, PEOPLE, read, save
from tests.hooks.receivers import Receiver

DAYS = 14
LIMITS = "    limits: {precision: 0.5, false_alarm_every: 5}\n    labeling"
HOOK = "    hooks: [ops]\n    labeling"
TO_OPS = '\nhooks:\n  ops: {kind: webhook, url: "${OPS}", secret: "${KEY}", allow_private: true}\n'
PER_DAY = 300


@pytest.fixture
def webhook(monkeypatch):
    """A receiver that keeps what it gets."""
    with Receiver() as receiver:
        monkeypatch.setenv("OPS", receiver.url)
        monkeypatch.setenv("KEY", "not-a-secret" * 3)
        yield receiver


def predict(place, *, days, dropped):
    """Write predictions of so many days; on those dropped, 1 flagged item in 10 is positive."""
    first, last = (day * PER_DAY for day in dropped)
    wrong = f"i % 10 = 0 and i % 100 > 0 and i >= {first} and i < {last}"
    truth = f"case when {wrong} then 0 when i % 10 = 0 then 1 else i % 20 = 1 end::int"
    shown = f"'subject ' || i || case when {truth} = 1 then ' is travel' else '' end"
    place.predictions(days=days, rows=PER_DAY * days, is_travel=truth, subject=shown)


def configure(place, labeling):
    place.config(labeling, limits=("    labeling", LIMITS), hooks=("    labeling", HOOK))
    path = place.folder / "config.yaml"
    path.write_text(path.read_text() + TO_OPS)


def backfill(place, days):
    start = place.slot - timedelta(days=days)
    return place.run("backfill", "--from", f"{start:%Y-%m-%dT%H:%M}")


def states(place):
    rounds = json.loads(place.run("rounds", "--json").out)["rounds"]
    return [round_["state"] for round_ in rounds]


def told(*ended):
    """Count the lines of the log sink that say an alert fires."""
    return sum(each.err.count("notice=alert.firing") for each in ended)


def answer(place, day):
    """Label what is out of one slot, as its text says, and let the program look twice."""
    [tasks] = (place.folder / "labels").glob(f"mail-{day:%Y-%m-%dT%H%M}.csv")
    answered = [
        row | {"label": "10"["is travel" not in row["subject"]], "annotator": "ada"}
        for row in read(tasks)
    ]
    save(tasks.parent / "filled" / tasks.name, answered)
    return [place.run("run-once") for _ in range(2)]


@pytest.mark.slow
def test_a_drop_that_is_backfilled_behind_closed_rounds_is_told_once_in_the_log(bare, webhook):
    predict(bare, days=DAYS + 1, dropped=(0, 5))
    configure(bare, COLUMN)

    newest = backfill(bare, days=4)
    all_of_them = backfill(bare, days=DAYS)
    again = bare.run("run-once")

    assert told(newest) == 0
    assert told(newest, all_of_them, again) == 1
    assert states(bare) == ["closed"] * DAYS
    assert webhook.got == []


def test_a_drop_in_the_second_round_is_told_when_it_closes_after_the_third(bare, webhook):
    predict(bare, days=4, dropped=(1.9, 3.0))
    configure(bare, PEOPLE)
    days = [bare.slot - timedelta(days=ago) for ago in (2, 1, 0)]
    for day in days:
        bare.run("run-once", "--slot", f"{day:%Y-%m-%dT%H:%M}")

    ended = [answer(bare, days[number - 1]) for number in (1, 3, 2)]

    assert states(bare) == ["closed"] * 3
    assert [told(*each) for each in ended] == [0, 0, 1]
    posted = [json.loads(body) for _, _, body in webhook.got]
    fired = [each["data"] for each in posted if each["type"] == "alert.firing"]
    assert [each["round"] for each in fired] == [2]
