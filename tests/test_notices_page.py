"""What docs/operations.md shows is what people see."""

from __future__ import annotations

from tests.pages import generator, page

PAGE = page("operations")


def test_the_examples_of_notices_are_current():
    current = generator("generate_notices")["page"]

    assert current(PAGE) == PAGE, "run python docs/generate_notices.py"


def test_an_alert_says_what_how_sure_what_changed_and_what_to_do():
    alert = PAGE.split("### An alert", 1)[1].split("### A stale round", 1)[0]

    for part in (
        "precision is under its limit 0.7",
        "% interval ",
        "At most one false alarm per 52 rounds is promised",
        "prevalence 7.4 % -> 1.2 % explains",
        "What to do: pr-monitor show",
        "In MLflow:",
    ):
        assert part in alert.replace("\n          ", " ").replace("\n      ", " "), part


def test_every_fence_is_closed():
    assert PAGE.count("```") % 2 == 0
