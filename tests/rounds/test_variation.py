"""What `monitor.history` says of variation between rounds."""

from datetime import UTC, datetime, timedelta

import pytest

from monitor.domain.settings import Limits
from monitor.results.variation import variation_sentences

FIRST = datetime(2026, 1, 5, tzinfo=UTC)
LIMITS = Limits.model_validate({"precision": 0.7})


def rows(points, *, half=0.04, every=timedelta(days=7)):
    return [
        {
            "slot": FIRST + number * every,
            "metric": "precision",
            "estimand": estimand,
            "basis": "round",
            "level": 0.95,
            "point": point if estimand == "rate" else 0.8,
            "low": point - half,
            "high": point + half,
        }
        for number, point in enumerate(points)
        for estimand in ("rate", "window")
    ]


def test_a_metric_that_varies_says_by_how_much_and_how_many_alerts_that_makes():
    moves, alerts = variation_sentences(rows([0.85, 0.65] * 6), LIMITS)

    assert moves.startswith("precision moves 6.9 times as much from round to round as its labels")
    assert "by ±0.14 beyond them, over 12 rounds" in moves
    assert "source.columns.group" in moves
    assert alerts.startswith("precision of about 0.75 with its limit at 0.7: this variation alone")
    number = float(alerts.split("about ")[2].split()[0])
    assert number > 2


def test_twice_as_many_rounds_make_about_twice_as_many_alerts():
    weekly, daily = (
        float(variation_sentences(rows([0.85, 0.65] * 6, every=each), LIMITS)[1].split()[-4])
        for each in (timedelta(days=14), timedelta(days=7))
    )

    assert daily == pytest.approx(2 * weekly, rel=0.2)


@pytest.mark.parametrize("points", [[0.8, 0.82] * 6, [0.85, 0.65]])
def test_nothing_is_said_where_sampling_explains_the_steps_or_rounds_are_few(points):
    assert variation_sentences(rows(points), LIMITS) == []


def test_far_from_its_limit_variation_makes_hardly_an_alert():
    _, alerts = variation_sentences(rows([0.95, 0.85] * 6), LIMITS)

    assert alerts.endswith("alone makes fewer than 0.1 alerts a year")


def test_a_metric_without_a_limit_is_described_without_alerts():
    sentences = variation_sentences(rows([0.85, 0.65] * 6), Limits())

    assert len(sentences) == 1
