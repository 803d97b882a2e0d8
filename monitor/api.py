"""What the functions of `monitor` do, and the commands of their names.

Each loads what it needs when it is called: an estimate needs neither the config nor a database.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import InputRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pandas as pd

    from monitor.config.model import Config
    from monitor.evaluation.result import Evaluation
    from monitor.results.estimates import Estimates
    from monitor.results.label_plan import LabelPlan
    from monitor.results.other_predictions import OtherColumns
    from monitor.results.round_comparison import RoundComparison
    from monitor.results.round_history import RoundHistory
    from monitor.rounds.forecast.plan_window import AssumedJudge, PlanForecast
    from monitor.wiring import Application

MARGIN = 0.05  # Margin of both metrics where nobody says what is wanted
FEWEST = 2  # Labels of a plan, and items of a window: one of each class
SIZE = 100_000  # Items of a window that is only assumed


def estimate(**matrix: Any) -> Estimates:
    """Estimate from one labeled matrix (`monitor.estimate`)."""
    from monitor.presentation.reasons import worded
    from monitor.results.estimates import Estimates
    from monitor.stats.estimation.posterior import estimate_matrix

    for name, value in matrix.items():
        if name != "level" and not isinstance(value, Integral):
            message = f"{name} is {value!r}; it counts items, so it is a whole number"
            raise InputRefused(message)
    try:
        estimates = estimate_matrix(**matrix)
    except ValueError as error:
        raise InputRefused(str(error)) from error
    return Estimates(estimates=[worded(estimate) for estimate in estimates])


def evaluate(frame: pd.DataFrame, **provided: Any) -> Evaluation:
    """Evaluate labeled items (`monitor.evaluate`), and warn where their balance looks chosen."""
    import warnings

    from monitor.evaluation.result import evaluate_frame

    result = evaluate_frame(frame, **provided)
    for warning in result.warnings:
        warnings.warn(warning, stacklevel=3)  # where the caller stands
    return result


def history(monitor: str | None, config: Path | str) -> RoundHistory:
    """Read a monitor's estimates of all rounds (`monitor.history`)."""
    from monitor.config.load import load_config
    from monitor.domain.ports import utc_now
    from monitor.results.round_history import read_history
    from monitor.storage import schema
    from monitor.storage.database import Database

    loaded = load_config(config)
    settings = loaded.monitor(only_monitor(loaded, monitor))
    database = Database(loaded.store_url)
    try:
        schema.check(database)
        return read_history(database, settings.name, settings.limits, utc_now())
    finally:
        database.close()


def compare(
    number: int,
    monitor: str | None,
    config: Path | str,
    *,
    threshold: float | None,
    file: Path | None,
    columns: OtherColumns,
) -> RoundComparison:
    """Compare a round's window with another threshold or classifier (`monitor.compare`)."""
    from monitor.results.round_comparison import compare_round

    _refuse_text({"number": number, "threshold": threshold})
    _refuse_comparison(threshold, file, columns)
    with opened(config) as application:
        own = application.config.monitor(only_monitor(application.config, monitor))
        columns = columns._replace(id=columns.id or own.source.item_format.id)
        context = application.context(own.name)
        return compare_round(context, number, threshold=threshold, file=file, columns=columns)


def _refuse_comparison(threshold: float | None, file: Path | None, columns: OtherColumns) -> None:
    named = [name for name, column in columns._asdict().items() if column is not None]
    if threshold is None and file is None:
        message = "nothing to compare with; give a threshold, or predictions: a file"
    elif file is None and named:
        message = f"{' and '.join(named)} names a column of predictions, a file; give that too"
    elif columns.predicted is not None and (columns.score is not None or threshold is not None):
        message = "predicted decides which items are flagged; leave out score and threshold"
    else:
        return
    raise InputRefused(message)


def plan(
    monitor: str | None,
    *,
    config: Path | str,
    assumed: Mapping[str, float | None],
    size: int | None,
    margins: Mapping[str, float | None],
    labels: int | None,
    costs: Mapping[str, float | None],
    judge: Mapping[str, float | None],
    pilot: pd.DataFrame | Path | str | None,
) -> LabelPlan:
    """Plan for assumed values if any is given, else for a monitor (`monitor.plan`)."""
    from monitor.results.label_plan import LabelPlan

    provided = {name: value for name, value in assumed.items() if value is not None}
    requested = {name: half for name, half in margins.items() if half is not None}
    prices = {name: cost for name, cost in costs.items() if cost is not None}
    halves = {f"{name}_margin": half for name, half in margins.items()}
    _refuse_text({**assumed, **halves, **costs, **judge})
    opinion = _assumed_judge(**judge, pilot=pilot)
    _refuse_few(labels=labels, size=size)
    try:
        if provided:
            _refuse_half(monitor, assumed)
            items = SIZE if size is None else size
            return LabelPlan(_of_values({**provided, **prices}, items, requested, labels, opinion))
        if extra := [*(["size"] if size is not None else []), *prices]:
            message = (
                f"{' and '.join(extra)} belongs to assumed values, and a monitor has its own; give "
                "precision, recall and flagged_rate too, or leave it out"
            )
            raise InputRefused(message)
        return LabelPlan(_of_monitor(monitor, config, requested, labels, opinion))
    except ValueError as error:
        raise InputRefused(str(error)) from error


def _assumed_judge(
    judge_tpr: float | None,
    judge_fpr: float | None,
    pilot: pd.DataFrame | Path | str | None,
) -> AssumedJudge | None:
    from monitor.rounds.forecast.plan_window import AssumedJudge

    if judge_tpr is None and judge_fpr is None:
        if pilot is None:
            return None
        from monitor.evaluation.pilot import read_pilot

        return read_pilot(pilot)
    if judge_tpr is None or judge_fpr is None:
        message = "judge_tpr and judge_fpr go together: give both"
        raise InputRefused(message)
    if pilot is not None:
        message = "judge_pilot tells the judge's rates; leave out judge_tpr and judge_fpr"
        raise InputRefused(message)
    return AssumedJudge((judge_tpr, judge_tpr), (judge_fpr, judge_fpr))


def _refuse_text(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if value is not None and not (isinstance(value, Real) and math.isfinite(value)):
            message = f"{name} is {value!r}; it is a finite number"
            raise InputRefused(message)


def _refuse_few(**counts: Any) -> None:
    for name, count in counts.items():
        if count is not None and (not isinstance(count, Integral) or count < FEWEST):
            message = f"{name} is {count!r}; it is a whole number, {FEWEST} or more"
            raise InputRefused(message)


def _of_values(
    provided: Mapping[str, float],
    size: int,
    margins: Mapping[str, float] | None,
    max_labels: int | None,
    judge: AssumedJudge | None,
) -> PlanForecast:
    from monitor.rounds.forecast.plan_window import forecast_plan, two_strata
    from monitor.stats.design.prospect import Prospect

    prospect = Prospect.assumed(**provided, size=size)
    if not margins and max_labels is None:
        margins = {"precision": MARGIN, "recall": MARGIN}
    return forecast_plan(two_strata(prospect), margins=margins, max_labels=max_labels, judge=judge)


def _of_monitor(
    monitor: str | None,
    config: Path | str,
    margins: Mapping[str, float] | None,
    max_labels: int | None,
    judge: AssumedJudge | None,
) -> PlanForecast:
    from monitor.rounds.forecast.plan_window import forecast_monitor

    with opened(config) as application:
        context = application.context(only_monitor(application.config, monitor))
        return forecast_monitor(context, margins=margins, max_labels=max_labels, judge=judge)


@contextmanager
def opened(config: Path | str, *, make_store: bool = True) -> Iterator[Application]:
    """Read the config and open its store, making the tables of a new one.

    Raises
    ------
    ConfigRefused
        If the config, or the store's schema, is not right.
    """
    from monitor.config.load import load_config
    from monitor.storage import schema
    from monitor.wiring import build

    application = build(load_config(config))
    try:
        if make_store:
            schema.ready(application.database)
        else:
            schema.check(application.database)
        yield application
    finally:
        application.database.close()


def only_monitor(config: Config, monitor: str | None) -> str:
    """Name the monitor that is meant: the one named, or the only one there is."""
    if monitor is not None:
        return config.monitor(monitor).name
    if len(config.monitors) == 1:
        return config.monitors[0].name
    names = ", ".join(monitor.name for monitor in config.monitors)
    message = f"the config has several monitors, name one of them: {names}"
    raise InputRefused(message)


def _refuse_half(monitor: str | None, assumed: Mapping[str, float | None]) -> None:
    missing = [name for name, value in assumed.items() if value is None]
    if missing:
        there = ", ".join(name for name, value in assumed.items() if value is not None)
        message = f"{there} is not enough to plan from; give {' and '.join(missing)} too"
        raise InputRefused(message)
    if monitor is not None:
        message = (
            f"plan either for the monitor {monitor} or for assumed values; leave out the name, "
            "or precision, recall and flagged_rate"
        )
        raise InputRefused(message)
