"""Number formats: how they look, and that there is one of each."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

import monitor
from monitor.presentation.numbers import (
    bound_sign,
    bound_text,
    interval_text,
    number_text,
    percent_text,
    span_text,
)
from monitor.stats.core.counts import Interval

PACKAGE = Path(monitor.__file__).parent
INTERVAL = re.compile(r"\[\{[^}]+:\+?\.\d?\w+\}, \{[^}]+:\+?\.\d?\w+\}\]")
SIDE = re.compile(r"side\.replace\(|\['side'\]\.replace\(")
MINUTE = re.compile(r":%Y-%m-%d %H:%M\}")
ALONE = {"api.py"}
"""The doctest of `monitor.estimate` shows its numbers."""


def test_a_number_in_a_sentence_has_two_digits_and_its_ends():
    assert number_text(Interval(0.8634, 0.8034, 0.9088)) == "0.86 (0.80 to 0.91)"
    assert number_text(None) == "not estimable"


@pytest.mark.parametrize(
    ("side", "words", "sign"),
    [("at_least", "at least 0.8", "≥ 0.8"), ("at_most", "at most 0.8", "≤ 0.8")],
)
def test_a_bound_is_said_in_words_and_in_signs(side, words, sign):
    assert (bound_text(side, 0.8), bound_sign(side, 0.8)) == (words, sign)


@pytest.mark.parametrize(
    ("format_", "alone"),
    [
        (INTERVAL, ALONE | {"presentation/numbers.py"}),
        (SIDE, {"stats/detection/half_space.py"}),
        (MINUTE, {"presentation/numbers.py", "domain/model.py"}),
    ],
)
def test_no_other_module_writes_intervals_limits_or_times_its_own_way(format_, alone):
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if format_.search(path.read_text())
    }

    assert found == alone


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.9996, 3, "99.96 %"),
        (0.99996, 2, "99.996 %"),
        (1 - 1e-12, 3, "100 %"),  # the place of a tick, computed
        (0.00012, 2, "0.012 %"),
    ],
)
def test_a_share_is_all_only_if_nothing_is_missing(share, digits, text):
    assert percent_text(share, digits) == text


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (119, "119 min"),
        (120, "2 h"),
        (596, "9.9 h"),
        (599, "10 h"),
        (-5, "-5 min"),
    ],
)
def test_a_span_has_one_unit_of_which_there_are_two_or_more(minutes, text):
    assert span_text(timedelta(minutes=minutes)) == text


def test_a_recall_of_a_few_in_a_million_is_not_written_as_nothing():
    rare = Interval(5e-6, 1.2e-6, 1.4e-5)

    assert str(rare) == interval_text(rare) == "0.000005 [0.0000012, 0.000014]"
    assert number_text(rare) == "0.000005 (0.0000012 to 0.000014)"
    assert interval_text(Interval(0.0004, 0.0, 0.012)) == "0.000 [0.000, 0.012]"
    assert interval_text(Interval(0.0, 0.0, 0.0)) == "0.000 [0.000, 0.000]"
