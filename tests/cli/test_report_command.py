"""`pr-monitor report`: which round it writes, and where."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest


def written(place, name):
    text = (place.folder / name).read_text()
    return " ".join(re.sub("<[^>]*>", " ", text.partition("<body>")[2]).split())


def test_it_writes_the_newest_round_that_has_a_report(closed):
    ended = closed.run("report")

    assert (ended.code, ended.out) == (0, "mail-round-1.html: mail, round 1, version 1\n")
    assert "mail, round 1" in written(closed, "mail-round-1.html")
    assert (closed.folder / "mail-round-1.html").read_text().startswith("<!doctype html>")


def test_it_writes_where_it_is_told_and_says_so_for_programs(closed):
    ended = closed.run("report", 1, "-m", "mail", "--version", 1, "--out", "a.html", "--json")

    assert json.loads(ended.out) == {"monitor": "mail", "round": 1, "version": 1, "file": "a.html"}
    assert (closed.folder / "a.html").is_file()


def test_the_report_has_the_density_of_each_metric_and_the_plan_of_the_next_round(closed):
    closed.run("report")

    text = written(closed, "mail-round-1.html")
    assert "Precision: how likely each value is" in text
    assert "Recall: how likely each value is" in text
    assert re.search(r"It is due \d{4}-\d\d-\d\d \d\d:\d\d UTC, asks for 40 labels", text)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["7"], "mail has no round 7; its rounds are 1 to 1"),
        (["1", "--version", "3"], "round 1 of mail has no version 3; the newest is 1"),
    ],
)
def test_a_round_or_version_that_is_not_there_is_refused(closed, words, why):
    ended = closed.run("report", *words)

    assert (ended.code, ended.err) == (65, f"pr-monitor: {why}\n")


def test_before_any_round_has_closed_it_says_so(asked):
    assert asked.run("report").err == (
        "pr-monitor: no round of mail has a report yet: none has closed\n"
    )
    assert asked.run("report", 1).err == (
        "pr-monitor: round 1 of mail has no report yet: it is labeling\n"
    )


def test_a_round_that_was_given_up_has_a_report_that_says_why(place):
    place.config("{kind: files, deadline: 1h}")
    place.run_at(place.slot, "run-once")
    place.run_at(place.slot + timedelta(hours=2), "run-once")

    ended = place.run("report")

    assert ended.out == "mail-round-1.html: mail, round 1, version 1\n"
    text = written(place, "mail-round-1.html")
    assert text.startswith("STALE mail, round 1 There is no estimate of this round: ")
    assert "Until a later round has an estimate, nothing watches mail." in text
