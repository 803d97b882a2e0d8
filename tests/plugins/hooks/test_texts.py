"""Nothing that a stranger may write into a text steers what shows it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.domain.visible import LONGEST, clean
from monitor.plugins.hooks.apprise import BREAK, disarmed, title
from tests.hooks.receivers import notice


@given(st.text(max_size=200))
def test_a_clean_text_is_one_line_of_characters_that_show(text):
    found = clean(text)

    assert all(char == " " or unicodedata.category(char)[0] not in "CZ" for char in found)
    assert clean(found) == found


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\ntwo\r\nthree\tfour", "one two three four"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a\u2028b\u00a0c", "a b c"),
        ("naïve – 日本 🙂", "naïve – 日本 🙂"),  # noqa: RUF001
    ],
)
def test_what_does_not_show_is_made_visible(text, shown):
    assert clean(text) == shown


def test_a_long_text_is_cut():
    assert clean("x" * (LONGEST + 1)) == "x" * (LONGEST - 3) + "..."
    assert clean("x" * LONGEST) == "x" * LONGEST


def test_calls_tags_and_links_in_disguise_are_broken():
    calls = ["@everyone", "@here", "<!channel>", "<@U123>", "<#C1>"]

    for text in [*calls, "<script>", "</b>", "[a](http://x)"]:
        found = disarmed(f"see {text} now")

        assert text not in found
        assert found.replace(BREAK, "") == f"see {text} now"


def test_ordinary_sentences_stay_as_they_are():
    text = "mail: recall is under 0.5 (0.4 to 0.6) < 1 > 0 & a_b*c [x] at 06:00 @ night"

    assert disarmed(text) == text


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "ALERT: mail-travel, precision"),
        ({"event": "alert.resolved"}, "resolved: mail-travel, precision"),
        ({"event": "round.abandoned", "metric": None}, "no estimate: mail-travel"),
        ({"event": "round.attention", "metric": None}, "needs a look: mail-travel"),
        (
            {"event": "delivery.dead", "metric": None, "sink": "ops"},
            "not delivered: mail-travel, ops",
        ),
        ({"event": "test", "metric": None, "monitor": "test"}, "TEST: test"),
        ({"event": "new.event\r\nx: y", "metric": None}, "new.event x: y: mail-travel"),
    ],
)
def test_the_title_says_state_monitor_and_metric(changes, told):
    assert title(notice(**changes)) == told
