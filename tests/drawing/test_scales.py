"""Scales: where values fall and which are labeled."""

from datetime import UTC, datetime, timedelta

import pytest

from monitor.drawing.scales import Linear, Log, Time

MONDAY = datetime(2025, 3, 3, 6, tzinfo=UTC)


def labels(scale):
    return [tick.label for tick in scale.ticks() if tick.label]


def time_scale(start, span):
    return Time(start.timestamp(), (start + span).timestamp())


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0, 1, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.4, 1, ["0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0"]),
        (0.8, 1.0, ["0.80", "0.85", "0.90", "0.95", "1.00"]),
    ],
)
def test_a_linear_axis_is_labeled_at_round_values(low, high, wanted):
    assert labels(Linear(low, high)) == wanted


def test_equal_ratios_are_equally_far_apart_on_a_logarithmic_axis():
    scale = Log(0.001, 1)

    assert [scale.share(value) for value in (0.001, 0.01, 0.1, 1)] == pytest.approx(
        [0, 1 / 3, 2 / 3, 1]
    )
    assert [Log(1, 0.01).share(value) for value in (1, 0.1, 0.01)] == pytest.approx([0, 0.5, 1])
    assert scale.share(0) < -1


def test_a_logarithmic_axis_of_few_decades_is_labeled_between_them():
    assert labels(Log(0.01, 0.1)) == ["0.01", "0.02", "0.05", "0.1"]
    assert labels(Log(1e-5, 1)) == ["1e-05", "0.0001", "0.001", "0.01", "0.1", "1"]


@pytest.mark.parametrize(
    ("span", "wanted"),
    [
        (
            timedelta(hours=7),
            ["06:00", "07:00", "08:00", "09:00", "10:00", "11:00", "12:00", "13:00"],
        ),
        (
            timedelta(days=1, hours=12),
            ["06:00", "12:00", "18:00", "4 Mar", "06:00", "12:00", "18:00"],
        ),
        (timedelta(days=3), ["12:00", "4 Mar", "12:00", "5 Mar", "12:00", "6 Mar"]),
        (timedelta(weeks=4), ["10 Mar", "17 Mar", "24 Mar", "31 Mar"]),
        (timedelta(weeks=26), ["Apr", "May", "Jun", "Jul", "Aug", "Sep"]),
        (timedelta(days=800), ["Apr", "Jul", "Oct", "2026", "Apr", "Jul", "Oct", "2027", "Apr"]),
        (timedelta(days=3000), ["2026", "2027", "2028", "2029", "2030", "2031", "2032", "2033"]),
        (timedelta(days=9000), ["2030", "2035", "2040", "2045"]),
    ],
)
def test_times_are_labeled_at_round_ones(span, wanted):
    assert labels(time_scale(MONDAY, span)) == wanted


def test_what_the_labels_of_times_leave_out_is_said_once():
    assert time_scale(MONDAY, timedelta(days=2)).context() == "2025-03-05"
    assert time_scale(MONDAY, timedelta(weeks=50)).context() == "2026"


@pytest.mark.parametrize("scale", [Linear(0.5, 0.5), Log(0.5, 0.5), Time(0, 0)])
def test_an_axis_whose_ends_are_one_can_be_drawn(scale):
    assert scale.share(scale.low) == 0
    assert len(scale.ticks()) <= 1
