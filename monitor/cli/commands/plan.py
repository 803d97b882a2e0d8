"""The command that says what labels buy, before any is asked for: plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from monitor.cli.views.printing import echo, echo_json

if TYPE_CHECKING:
    from monitor.rounds.forecast.plan_window import PlanForecast

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
    float, typer.Option("--flagged-cost", help="Of a label of a flagged item.", metavar="COST")
]
PassedCostOption = Annotated[
    float, typer.Option("--passed-cost", help="Of a label of a passed item.", metavar="COST")
]
PlotOption = Annotated[
    Path | None,
    typer.Option("--plot", help="Write an SVG picture of the widths there.", metavar="FILE"),
]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("plan")(plan)


def plan(
    monitor: MonitorArgument = None,
    config: ConfigOption = CONFIG,
    precision: PrecisionOption = None,
    recall: RecallOption = None,
    flagged_rate: FlaggedRateOption = None,
    size: Annotated[int, ASSUMED_SIZE] = 100_000,
    margin: MarginOption = None,
    precision_margin: PrecisionMarginOption = None,
    recall_margin: RecallMarginOption = None,
    labels: LabelsOption = None,
    flagged_cost: FlaggedCostOption = 1.0,
    passed_cost: PassedCostOption = 1.0,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Print how many labels a round needs, and what they buy.

    For a monitor of the config, from its predictions and what earlier rounds, a reference or the
    scores say of them; or, with --precision, --recall and --flagged-rate, from these values alone,
    without config or data. Asks for the config's margin and labels unless others are given.
    """
    from monitor.api import planned

    _refuse_plot(plot)
    both = {"precision": precision_margin or margin, "recall": recall_margin or margin}
    forecast = planned(
        monitor,
        config=config,
        assumed={"precision": precision, "recall": recall, "flagged_rate": flagged_rate},
        size=size,
        margins={name: half for name, half in both.items() if half is not None},
        max_labels=labels,
        costs=(flagged_cost, passed_cost),
    )
    if plot is not None:
        _write_plot(forecast, plot)
    if json:
        echo_json(forecast.as_json())
    else:
        _echo(forecast, plot)


def _echo(forecast: PlanForecast, plot: Path | None) -> None:
    from monitor.cli.views.plan_page import echo_plan

    echo_plan(forecast)
    if plot is not None:
        echo()
        echo(f"wrote {plot}")


def _refuse_plot(plot: Path | None) -> None:
    if plot is not None and plot.suffix.lower() != ".svg":
        message = f"{plot} is no SVG file; end its name with .svg"
        raise typer.BadParameter(message, param_hint="--plot")


def _write_plot(forecast: PlanForecast, plot: Path) -> None:
    from monitor.cli.views.plan_page import widths_svg
    from monitor.domain.errors import InputRefused

    try:
        picture = widths_svg(forecast)
    except ValueError as error:
        message = f"there is nothing to plot: {error}"
        raise InputRefused(message) from error
    plot.write_bytes(picture)
