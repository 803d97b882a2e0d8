"""How long a server asks to be left alone, however it says so."""

from datetime import UTC, datetime, timedelta

import pytest

from monitor.domain.retry_after import LONGEST, retry_after

NOW = datetime(2025, 3, 3, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("0", 0),
        (" 120 ", 120),
        ("Mon, 03 Mar 2025 06:05:00 GMT", 300),
        ("Mon, 03 Mar 2025 07:05:00 +0100", 300),
        ("Mon, 03 Mar 2025 05:00:00 GMT", 0),
    ],
)
def test_seconds_and_dates_are_understood(text, asked):
    assert retry_after({"retry-after": text}, NOW) == timedelta(seconds=asked)


@pytest.mark.parametrize("text", ["999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_what_no_server_means_is_cut_to_a_day(text):
    assert retry_after({"retry-after": text}, NOW) == LONGEST


@pytest.mark.parametrize("text", ["", "soon", "-5", "1.5", "9" * 400, "٣", "99 Foo 99999"])
def test_what_is_neither_says_nothing(text):
    assert retry_after({"retry-after": text}, NOW) is None
    assert retry_after({}, NOW) is None
