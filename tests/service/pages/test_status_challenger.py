"""The status page of a round with a challenger."""

from __future__ import annotations

import pytest

from monitor.cli.views.round_page import echo_round
from monitor.domain.challenger import Challenger
from monitor.rounds.round_page import read_page
from tests.faults.few_points import few_points
from tests.rounds.test_challengers import challenged, play
from tests.service.pages.test_status import cells, shown, words

HOSTILE = "</p><script>alert(1)</script>\u202egnp"


@pytest.fixture(autouse=True)
def _coarse():
    with few_points(2**9):
        yield


def test_the_page_says_what_show_says(database, capsys):
    scene = challenged(database)
    play(scene, 1)
    play(scene, 2)
    with database.read() as connection:
        echo_round(read_page(connection, "mail", 2, None))
    printed = capsys.readouterr().out.splitlines()

    text = words(shown(scene, "/monitors/mail/rounds/2").page.text)

    start = next(i for i, line in enumerate(printed) if line == "Challenger v8")
    end = next(i for i, line in enumerate(printed) if "each interval holds" in line)
    lines = [line for line in printed[start : end + 1] if line.strip() and "---" not in line]
    missing = [part for line in lines for part in cells(line) if part not in text]
    assert len(lines) > 8
    assert missing == []
    assert "Challenger v8" in text


def test_a_name_is_text_and_nothing_else(database):
    scene = challenged(database, challenger=Challenger(name=HOSTILE, predicted="v8"))
    play(scene, 1)

    html = shown(scene, "/monitors/mail/rounds/1").response.text

    assert "<script>alert" not in html
    assert "\u202e" not in html
    assert "&lt;script&gt;" in html
