"""The command that says what labels buy, before any is asked for: plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    FlaggedRateOption,
    JsonOption,
    MonitorArgument,
    PrecisionOption,
    RecallOption,
    SizeOption,
    option,
)
from monitor.cli.views.printing import echo, echo_document, echo_json


def plan(
    monitor: MonitorArgument = None,
    config: ConfigOption = CONFIG,
    precision: PrecisionOption = None,
    recall: RecallOption = None,
    flagged_rate: FlaggedRateOption = None,
    size: SizeOption = None,
    margin: Annotated[float | None, option("SHARE", "Half-width wanted of both intervals.")] = None,
    precision_margin: Annotated[float | None, option("SHARE", "Half-width for precision.")] = None,
    recall_margin: Annotated[float | None, option("SHARE", "Half-width for recall.")] = None,
    labels: Annotated[int | None, option("COUNT", "Labels that there are.", min=2)] = None,
    flagged_cost: Annotated[
        float | None, option("COST", "Of a label of a flagged item, else 1.")
    ] = None,
    passed_cost: Annotated[
        float | None, option("COST", "Of a label of a passed item, else 1.")
    ] = None,
    judge_tpr: Annotated[
        float | None, option("SHARE", "Of the positives, to which an assumed judge says yes.")
    ] = None,
    judge_fpr: Annotated[
        float | None, option("SHARE", "Of the negatives, to which that judge says yes.")
    ] = None,
    judge_pilot: Annotated[
        Path | None,
        option(
            "FILE",
            "In place of these: items with the columns verdict and label, and predicted if known.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, option("FILE", "Write an SVG picture of the widths there.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print how many labels a round needs, and what they buy.

    For a monitor of the config, from its predictions and what earlier rounds, a reference or the
    scores say of them; or, with --precision, --recall and --flagged-rate, from these values alone,
    without config or data. Asks for the config's margin and labels unless others are given.
    """
    import monitor as functions

    _refuse_plot(plot)
    result = functions.plan(
        monitor,
        config=config,
        precision=precision,
        recall=recall,
        flagged_rate=flagged_rate,
        size=size,
        margin=margin,
        precision_margin=precision_margin,
        recall_margin=recall_margin,
        labels=labels,
        flagged_cost=flagged_cost,
        passed_cost=passed_cost,
        judge_tpr=judge_tpr,
        judge_fpr=judge_fpr,
        judge_pilot=judge_pilot,
    )
    picture = None if plot is None else result.plot().save(plot)
    if json:
        echo_json(result.to_dict())
        return
    echo_document(result.document())
    if picture is not None:
        echo()
        echo(f"wrote {picture}")


def _refuse_plot(plot: Path | None) -> None:
    if plot is not None and plot.suffix.lower() != ".svg":
        message = f"{plot} is no SVG file; end its name with .svg"
        raise typer.BadParameter(message, param_hint="--plot")
