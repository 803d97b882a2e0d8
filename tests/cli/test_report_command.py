"""`pr-monitor report`: which round it writes, and where."""

import re


def written(place, name):
    text = (place.folder / name).read_text()
    return " ".join(re.sub("<[^>]*>", " ", text.partition("<body>")[2]).split())


def test_it_writes_the_newest_round_that_has_a_report(closed):
    ended = closed.run("report")

    assert (ended.code, ended.out) == (0, "mail-round-1.html: mail, round 1, version 1\n")
    assert "mail, round 1" in written(closed, "mail-round-1.html")
    assert (closed.folder / "mail-round-1.html").read_text().startswith("<!doctype html>")


def test_before_any_round_has_closed_it_says_so(asked):
    assert asked.run("report").err == (
        "pr-monitor: no round of mail has a report yet: none has closed\n"
    )
    assert asked.run("report", 1).err == (
        "pr-monitor: round 1 of mail has no report yet: it is labeling\n"
    )
