"""The command that needs no store: estimate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import JsonOption
from monitor.cli.views.printing import echo_block, echo_json, echo_table

if TYPE_CHECKING:
    from monitor.domain.report import EstimateRow


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
    on its own. The rate is the classifier's; the window's value describes these very items.
    """
    import monitor

    result = monitor.estimate(
        tp=tp, fp=fp, fn=fn, tn=tn, flagged_size=flagged_size, passed_size=passed_size, level=level
    )
    if json:
        echo_json(result)
    else:
        _echo_estimates(result["estimates"])


def _echo_estimates(estimates: Sequence[dict[str, Any]]) -> None:
    from monitor.presentation.estimates import caution_lines, reason_text

    rows = [_row(estimate) for estimate in estimates]
    echo_table(["metric", "rate", "window"], _cells(rows))
    remarks = [
        *(
            f"{row.metric} ({row.estimand}): {reason_text(row)}"
            for row in rows
            if row.point is None
        ),
        *caution_lines((estimate["metric"], estimate["caution"]) for estimate in estimates),
    ]
    echo_block(remarks)


def _row(estimate: dict[str, Any]) -> EstimateRow:
    from monitor.domain.report import EstimateRow

    return EstimateRow(
        **{name: estimate[name] for name in EstimateRow.model_fields if name in estimate}
    )


def _cells(rows: Iterable[EstimateRow]) -> list[list[str]]:
    """One line for each metric: the rate behind the window, and the window's own value."""
    from monitor.presentation.numbers import interval_text

    texts: dict[str, dict[str, str]] = {}
    for row in rows:
        texts.setdefault(row.metric, {})[row.estimand] = interval_text(row)
    return [[metric, of["rate"], of["window"]] for metric, of in texts.items()]
