"""The command that says what labels buy, before any is asked for: plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monitor.cli.common import (
    ASSUMED_SIZE,
    CONFIG,
    ConfigOption,
    FlaggedRateOption,
    JsonOption,
    MonitorArgument,
    PrecisionOption,
    RecallOption,
    share_option,
)
from monitor.cli.views.printing import echo, echo_document, echo_json

MarginOption = Annotated[
    float | None, share_option("--margin", "Half-width wanted of both intervals.")
]
PrecisionMarginOption = Annotated[
    float | None, share_option("--precision-margin", "Half-width for precision.")
]
RecallMarginOption = Annotated[
    float | None, share_option("--recall-margin", "Half-width for recall.")
]
LabelsOption = Annotated[
    int | None, typer.Option("--labels", help="Labels that there are.", metavar="COUNT", min=2)
]
FlaggedCostOption = Annotated[
    float | None,
    typer.Option("--flagged-cost", help="Of a label of a flagged item, else 1.", metavar="COST"),
]
PassedCostOption = Annotated[
    float | None,
    typer.Option("--passed-cost", help="Of a label of a passed item, else 1.", metavar="COST"),
]
JudgeTprOption = Annotated[
    float | None,
    share_option("--judge-tpr", "Of the positives, to which an assumed judge says yes."),
]
JudgeFprOption = Annotated[
    float | None,
    share_option("--judge-fpr", "Of the negatives, to which that judge says yes."),
]
JudgePilotOption = Annotated[
    Path | None,
    typer.Option(
        "--judge-pilot",
        help="In place of these: items with the columns verdict and label, and predicted if known.",
        metavar="FILE",
    ),
]
PlotOption = Annotated[
    Path | None,
    typer.Option("--plot", help="Write an SVG picture of the widths there.", metavar="FILE"),
]


def plan(
    monitor: MonitorArgument = None,
    config: ConfigOption = CONFIG,
    precision: PrecisionOption = None,
    recall: RecallOption = None,
    flagged_rate: FlaggedRateOption = None,
    size: Annotated[int | None, ASSUMED_SIZE] = None,
    margin: MarginOption = None,
    precision_margin: PrecisionMarginOption = None,
    recall_margin: RecallMarginOption = None,
    labels: LabelsOption = None,
    flagged_cost: FlaggedCostOption = None,
    passed_cost: PassedCostOption = None,
    judge_tpr: JudgeTprOption = None,
    judge_fpr: JudgeFprOption = None,
    judge_pilot: JudgePilotOption = None,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Print how many labels a round needs, and what they buy.

    For a monitor of the config, from its predictions and what earlier rounds, a reference or the
    scores say of them; or, with --precision, --recall and --flagged-rate, from these values alone,
    without config or data. Asks for the config's margin and labels unless others are given.
    """
    import monitor as functions
    from monitor.cli.logs import set_up_logs

    set_up_logs()
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
