"""What `monitor.estimate`, `evaluate`, `plan` and `history` do, and commands of these names.

Each loads what it needs when it is called: an estimate needs neither the config nor a database.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import InputRefused

if TYPE_CHECKING:
    import pandas as pd

    from monitor.config.model import Config
    from monitor.evaluation.result import Evaluation
    from monitor.rounds.forecast.plan_window import PlanForecast

MARGIN = 0.05  # Margin of both metrics where nobody says what is wanted


def estimate(**matrix: Any) -> dict[str, list[dict[str, Any]]]:
    """Estimate from one labeled matrix (`monitor.estimate`)."""
    from monitor.presentation.reasons import worded
    from monitor.stats.estimation.quick import estimate_matrix

    try:
        estimates = estimate_matrix(**matrix)
    except ValueError as error:
        raise InputRefused(str(error)) from error
    return {"estimates": [worded(estimate) for estimate in estimates]}


def evaluate(frame: pd.DataFrame, **provided: Any) -> Evaluation:
    """Evaluate labeled items (`monitor.evaluate`), and warn where their balance looks chosen."""
    import warnings

    from monitor.evaluation.frame import evaluate_frame

    result = evaluate_frame(frame, **provided)
    for warning in result.warnings:
        warnings.warn(warning, stacklevel=3)  # where the caller stands
    return result


def history(monitor: str, config: Path | str) -> pd.DataFrame:
    """Read a monitor's estimates as a table (`monitor.history`)."""
    import pandas as pd

    from monitor.config.load import load_config
    from monitor.storage import schema
    from monitor.storage.database import Database
    from monitor.storage.results import estimate_store

    loaded = load_config(config)
    name = loaded.monitor(monitor).name
    database = Database(loaded.store_url)
    try:
        schema.check(database)
        with database.read() as connection:
            rows = estimate_store.latest_estimates(connection, name)
    finally:
        database.close()
    return pd.DataFrame(rows)


def planned(
    monitor: str | None,
    *,
    config: Path | str,
    assumed: Mapping[str, float | None],
    size: int,
    margins: Mapping[str, float] | None,
    max_labels: int | None,
    costs: tuple[float, float],
) -> PlanForecast:
    """Plan for assumed values if any is given, else for a monitor of the config."""
    provided = {name: value for name, value in assumed.items() if value is not None}
    try:
        if provided:
            _refuse_half(monitor, assumed)
            return _of_values(provided, size, margins, max_labels, costs)
        return _of_monitor(monitor, config, margins, max_labels)
    except ValueError as error:
        raise InputRefused(str(error)) from error


def _of_values(
    provided: Mapping[str, float],
    size: int,
    margins: Mapping[str, float] | None,
    max_labels: int | None,
    costs: tuple[float, float],
) -> PlanForecast:
    from monitor.rounds.forecast.plan_window import forecast_plan, two_strata
    from monitor.stats.design.planning import Prospect

    prospect = Prospect.assumed(
        precision=provided["precision"],
        recall=provided["recall"],
        flagged_rate=provided["flagged_rate"],
        size=size,
        flagged_cost=costs[0],
        passed_cost=costs[1],
    )
    if not margins and max_labels is None:
        margins = {"precision": MARGIN, "recall": MARGIN}
    return forecast_plan(two_strata(prospect), margins=margins, max_labels=max_labels)


def _of_monitor(
    monitor: str | None,
    config: Path | str,
    margins: Mapping[str, float] | None,
    max_labels: int | None,
) -> PlanForecast:
    from monitor.config.load import load_config
    from monitor.rounds.forecast.plan_window import forecast_monitor
    from monitor.storage import schema
    from monitor.wiring import build

    loaded = load_config(config)
    name = _only(loaded, monitor)
    application = build(loaded)
    try:
        schema.ready(application.database)
        return forecast_monitor(application.context(name), margins=margins, max_labels=max_labels)
    finally:
        application.database.close()


def _only(config: Config, monitor: str | None) -> str:
    if monitor is not None:
        return config.monitor(monitor).name
    if len(config.monitors) == 1:
        return config.monitors[0].name
    names = ", ".join(monitor.name for monitor in config.monitors)
    message = f"the config has several monitors, name one of them: {names}"
    raise InputRefused(message)


def _refuse_half(monitor: str | None, assumed: Mapping[str, float | None]) -> None:
    missing = [_option(name) for name, value in assumed.items() if value is None]
    if missing:
        there = ", ".join(_option(name) for name, value in assumed.items() if value is not None)
        message = f"{there} is not enough to plan from; give {' and '.join(missing)} too"
        raise InputRefused(message)
    if monitor is not None:
        message = (
            f"plan either for the monitor {monitor} or for assumed values; leave out the name, "
            "or --precision, --recall and --flagged-rate"
        )
        raise InputRefused(message)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
