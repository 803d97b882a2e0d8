from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.domain.errors import InputRefused
from monitor.domain.period import parse_period


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2024", "2024-01-01 to 2024-12-31"),
        ("2024-q1", "2024-01-01 to 2024-03-31"),
        ("2024-Q4", "2024-10-01 to 2024-12-31"),
        ("2024-02", "2024-02-01 to 2024-02-29"),
        ("2024-12-31", "2024-12-31 to 2024-12-31"),
        ("2024-Q4..2025-01", "2024-10-01 to 2025-01-31"),
        ("2024-05-06 .. 2024-05-07", "2024-05-06 to 2024-05-07"),
    ],
)
def test_a_period_has_all_days_that_its_name_says(text, days):
    assert str(parse_period(text)) == days


@pytest.mark.parametrize(
    "text",
    ["", "..", "2026-Q5", "2026-13", "2026-02-30", "26", "2026..", "9999", "0001", "Q3", "२०२६"],
)
def test_what_names_no_period_is_refused_with_the_forms(text):
    with pytest.raises(InputRefused, match=r"is not a period; write 2026, 2026-Q3, .*FROM\.\.TO"):
        parse_period(text)


def test_a_period_that_ends_before_it_begins_is_refused():
    with pytest.raises(InputRefused, match=r"'2026-02\.\.2026-01' ends before it begins"):
        parse_period("2026-02..2026-01")


def test_days_are_those_of_a_clock_that_changes_in_the_period():
    start, end = parse_period("2025-03-30").instants("Europe/Prague")

    assert start == datetime(2025, 3, 29, 23, tzinfo=UTC)
    assert end == datetime(2025, 3, 30, 22, tzinfo=UTC)


@given(st.integers(1000, 9000))
def test_the_quarters_of_a_year_are_the_year(year):
    quarters = [parse_period(f"{year}-Q{number}") for number in range(1, 5)]

    assert (quarters[0].first, quarters[-1].after) == parse_period(str(year))
    assert [one.after for one in quarters[:-1]] == [one.first for one in quarters[1:]]
