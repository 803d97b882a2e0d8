"""The command that needs no store: estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import JsonOption
from monitor.cli.views.printing import say, say_json, say_table

if TYPE_CHECKING:
    from collections.abc import Sequence


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("estimate")(estimate)


def estimate(
    tp: Annotated[int, typer.Option(help="Labeled positive among the flagged.", metavar="COUNT")],
    fp: Annotated[int, typer.Option(help="Labeled negative among the flagged.", metavar="COUNT")],
    fn: Annotated[int, typer.Option(help="Labeled positive among the passed.", metavar="COUNT")],
    tn: Annotated[int, typer.Option(help="Labeled negative among the passed.", metavar="COUNT")],
    flagged_size: Annotated[
        int, typer.Option(help="All predicted positives, labeled or not.", metavar="COUNT")
    ],
    passed_size: Annotated[
        int, typer.Option(help="All predicted negatives, labeled or not.", metavar="COUNT")
    ],
    level: Annotated[
        float, typer.Option(help="Probability inside each interval.", metavar="SHARE")
    ] = 0.95,
    json: JsonOption = False,
) -> None:
    """Estimate from one labeled matrix; needs no config.

    Flagged are the predicted positives, passed the predicted negatives, and each class is sampled
    on its own. The rate is the classifier's; the window's value is that of these very items.
    """
    import monitor

    found = monitor.estimate(
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        flagged_size=flagged_size,
        passed_size=passed_size,
        level=level,
    )
    if json:
        say_json(found)
    else:
        _say_estimates(found["estimates"])


def _say_estimates(found: Sequence[dict[str, Any]]) -> None:
    from monitor.domain.report import EstimateRow
    from monitor.presentation.estimates import caution_lines, reason_text
    from monitor.presentation.numbers import interval_text

    rows = [
        EstimateRow(**{name: each[name] for name in EstimateRow.model_fields if name in each})
        for each in found
    ]
    cells: dict[str, dict[str, str]] = {}
    reasons = []
    for row in rows:
        cells.setdefault(row.metric, {})[row.estimand] = interval_text(row)
        if row.point is None:
            reasons.append(f"{row.metric} ({row.estimand}): {reason_text(row)}")
    say_table(
        ["metric", "rate", "window"],
        [[metric, of["rate"], of["window"]] for metric, of in cells.items()],
    )
    cautions = caution_lines((each["metric"], each["caution"]) for each in found)
    if reasons or cautions:
        say()
    for sentence in (*reasons, *cautions):
        say(sentence, indent="  ")
