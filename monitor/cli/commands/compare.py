"""The command that asks "what if": another threshold, another classifier, the same labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    MonitorOption,
    OfARound,
    column_option,
)
from monitor.cli.views.printing import echo_document, echo_json


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("compare", cls=OfARound)(compare)


def compare(
    number: Annotated[int, typer.Argument(help="Number of the round.", metavar="ROUND")],
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", "-t", help="Flag scores from here on.", metavar="SCORE"),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            "--predictions", "-p", help="Predictions of another classifier.", metavar="FILE"
        ),
    ] = None,
    id_column: Annotated[str | None, column_option("--id", "Its column of ids.")] = None,
    score: Annotated[
        str | None, column_option("--score", "Its column of scores; score if not given.")
    ] = None,
    predicted: Annotated[
        str | None, column_option("--predicted", "Its column of predicted classes, 1 or 0.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Ask what another threshold or classifier would do.

    The labels that are there decide: precision, recall and F1 of the round's window for both, and
    the difference between them, which is known better than either. With --threshold alone the
    classifier's own scores are used; with --predictions the scores of a Parquet or
    CSV file that has every labeled item, flagged by --predicted, or from --threshold on (the
    monitor's own if not given).
    """
    import monitor as functions
    from monitor.cli.logs import set_up_logs

    set_up_logs()
    result = functions.compare(
        number,
        monitor=monitor,
        config=config,
        threshold=threshold,
        predictions=predictions,
        id=id_column,
        score=score,
        predicted=predicted,
    )
    if json:
        echo_json(result.to_dict())
    else:
        echo_document(result.document())
