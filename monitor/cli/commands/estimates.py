"""The command that needs no store: estimate."""

from __future__ import annotations

from typing import Annotated

import typer

from monitor.cli.common import JsonOption
from monitor.cli.views.printing import echo_document, echo_json


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
        echo_json(result.to_dict())
    else:
        echo_document(result.document())
