"""Commands that look ahead: plan, simulate, threshold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.api import opened
from monitor.cli.commands.labeled_sets import (
    FlaggedSizeOption,
    InUseOption,
    PassedSizeOption,
    PrevalenceOption,
    RandomOption,
    WeightOption,
    refuse_options,
    sample_by,
)
from monitor.cli.commands.results import only_monitor
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
    parse_pairs,
)
from monitor.cli.views.printing import echo_answer, with_progress
from monitor.domain.errors import InputRefused

if TYPE_CHECKING:
    from monitor.domain.settings import Limits
    from monitor.rounds.context import MonitorContext
    from monitor.rounds.forecast.simulate import Drift
    from monitor.rounds.forecast.threshold import Goal, Proposal


def plan(
    monitor: MonitorArgument = None,
    config: ConfigOption = CONFIG,
    precision: PrecisionOption = None,
    recall: RecallOption = None,
    flagged_rate: FlaggedRateOption = None,
    size: SizeOption = None,
    margin: Annotated[float | None, option("SHARE", "Half-width for both intervals.")] = None,
    precision_margin: Annotated[float | None, option("SHARE", "Half-width for precision.")] = None,
    recall_margin: Annotated[float | None, option("SHARE", "Half-width for recall.")] = None,
    labels: Annotated[int | None, option("COUNT", "Number of labels available.", min=2)] = None,
    judge_tpr: Annotated[
        float | None,
        option("SHARE", "Share of positives with the verdict yes of an assumed judge."),
    ] = None,
    judge_fpr: Annotated[
        float | None, option("SHARE", "Share of negatives with the verdict yes of that judge.")
    ] = None,
    judge_pilot: Annotated[
        Path | None,
        option(
            "FILE",
            "Use a file instead, with the columns verdict, label and, if known, predicted.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print how many labels a round needs, and the margins they give.

    For a monitor of the config, plans from its predictions and from earlier rounds, a reference or
    the scores. With --precision, --recall and --flagged-rate, plans from these values alone,
    without config or data. Margins and labels default to the config.
    """
    import monitor as functions

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
        judge_tpr=judge_tpr,
        judge_fpr=judge_fpr,
        judge_pilot=judge_pilot,
    )
    echo_answer(result, result.document(), json=json)


def simulate(
    monitor: MonitorArgument = None,
    config: ConfigOption = CONFIG,
    drop: Annotated[
        list[str] | None, option("METRIC=CHANGE", "A metric and its change: precision=-0.10.")
    ] = None,
    prevalence: Annotated[str | None, option("TIMES", "Factor on the prevalence: x2.")] = None,
    limit: Annotated[
        list[str] | None, option("METRIC=LIMIT", "Replace a limit of the config: precision=0.80.")
    ] = None,
    rounds: Annotated[int, option("COUNT", "Number of rounds.", min=1, max=520)] = 52,
    precision: PrecisionOption = None,
    recall: RecallOption = None,
    flagged_rate: FlaggedRateOption = None,
    size: SizeOption = None,
    paths: Annotated[
        int, option("COUNT", "Number of simulated histories.", min=100, max=100_000)
    ] = 2000,
    seed: Annotated[int, option("NUMBER", "Seed of the simulated labels.", min=0)] = 0,
    json: JsonOption = False,
) -> None:
    """Simulate a drift: time to detection, and false alarms.

    Uses the limits, promise and labels of the config. The classifier is as in closed rounds, or
    else in the reference, on the newest window; --precision, --recall, --flagged-rate and --size
    replace both. A drop multiplies the wrong answers of a class by one factor; a change of
    prevalence keeps recall and changes precision.
    """
    from monitor.cli.views.simulate_page import forecast_document, forecast_json
    from monitor.rounds.forecast.simulate import expected_round, simulate_alerts

    drift = _drift(drop or [], prevalence)
    assumed = _assumed(precision, recall, flagged_rate, size)
    with opened(config) as application:
        context = application.context(only_monitor(application, monitor))
        name = context.settings.name
        limits = _limits(context, limit or [])
        forecast = simulate_alerts(
            expected_round(context, assumed),
            limits.watched(),
            drift,
            every=limits.every_of_classifier(),
            rounds=rounds,
            paths=paths,
            seed=seed,
            track=lambda stages: with_progress(stages, name, len(stages)),
        )
    document = forecast_document(name, forecast, drift)
    echo_answer(forecast_json(name, forecast), document, json=json)


def _drift(drops: Sequence[str], prevalence: str | None) -> Drift:
    from monitor.limitable import CLASSIFIER, limitable_of
    from monitor.rounds.forecast.simulate import Drift

    changes, metrics = parse_pairs(drops, "--drop", "precision=-0.10"), limitable_of(CLASSIFIER)
    for metric, change in changes.items():
        if not -1 < change < 1:
            message = (
                f"{metric}={change:g} is not a change of a share; write {metric}=-0.10 for ten "
                "points less"
            )
            raise typer.BadParameter(message, param_hint="--drop")
        if metric not in metrics:
            message = f"{metric!r} cannot be simulated; use one of {', '.join(metrics)}"
            raise typer.BadParameter(message, param_hint="--drop")
    times = 1.0 if prevalence is None else _times(prevalence)
    return Drift({metric: -change for metric, change in changes.items()}, times)


def _times(text: str) -> float:
    match = re.fullmatch(r"x?(\d*\.?\d+)", text)
    if match is None or float(match[1]) <= 0:
        message = f"{text!r} is not a multiple; write x2 for twice as common, x0.5 for half"
        raise typer.BadParameter(message, param_hint="--prevalence")
    return float(match[1])


def _assumed(
    precision: float | None, recall: float | None, flagged_rate: float | None, size: int | None
) -> dict[str, float] | None:
    shares = {"precision": precision, "recall": recall, "flagged_rate": flagged_rate}
    if all(value is None for value in (*shares.values(), size)):
        return None
    for name, share in shares.items():
        if share is None or not 0 < share < 1:
            message = "give --precision, --recall and --flagged-rate together, each between 0 and 1"
            raise typer.BadParameter(message, param_hint=f"--{name.replace('_', '-')}")
    if size is None:
        message = "how many items does a round's window hold? Give --size too"
        raise typer.BadParameter(message, param_hint="--size")
    return {name: share for name, share in shares.items() if share is not None} | {"size": size}


def _limits(context: MonitorContext, options: Sequence[str]) -> Limits:
    limits: Limits = context.settings.round.limits
    if options:
        every = limits.false_alarm_every
        limits = _parsed_limits(options).model_copy(update={"false_alarm_every": every})
    if not limits.watched():
        message = (
            f"{context.settings.name} has no limits on its classifier, so nothing would alert; set "
            "them in the config, or try some: --limit precision=0.80"
        )
        raise InputRefused(message)
    return limits


def _parsed_limits(options: Sequence[str]) -> Limits:
    from pydantic import ValidationError

    from monitor.domain.settings import Limits

    pairs = parse_pairs(options, "--limit", "precision=0.80")
    try:
        return Limits.model_validate(pairs)
    except ValidationError as error:
        first = error.errors()[0]
        ours = first.get("ctx", {}).get("error")  # what a check of ours raised
        message = first["msg"] if ours is None else str(ours)
        raise typer.BadParameter(message, param_hint="--limit") from error


def threshold(
    monitor: MonitorArgument = None,
    config: ConfigOption = CONFIG,
    precision: Annotated[
        float | None, option("SHARE", "Propose the lowest threshold that keeps it.")
    ] = None,
    recall: Annotated[
        float | None, option("SHARE", "Propose the highest threshold that keeps it.")
    ] = None,
    cost_fp: Annotated[float | None, option("COST", "Cost of a false positive.")] = None,
    cost_fn: Annotated[float | None, option("COST", "Cost of a false negative.")] = None,
    capacity: Annotated[
        float | None, option("COUNT", "Flag at most this many items a day.")
    ] = None,
    confidence: Annotated[float, option("SHARE", "Probability that the guarantee holds.")] = 0.95,
    number: Annotated[
        int | None, option("ROUND", "A closed round. Default: the newest.", "--round")
    ] = None,
    rounds: Annotated[
        int | None, option("COUNT", "Number of closed rounds to pool, up to that one [1].", min=1)
    ] = None,
    labels: Annotated[
        Path | None, option("FILE", "Use a file with score and label (1 or 0) instead of rounds.")
    ] = None,
    in_use: InUseOption = None,
    flagged_size: FlaggedSizeOption = None,
    passed_size: PassedSizeOption = None,
    weight: WeightOption = None,
    prevalence: PrevalenceOption = None,
    random: RandomOption = False,
    json: JsonOption = False,
) -> None:
    """Propose a threshold with a guarantee for precision or recall.

    Give one goal: --precision, --recall, both costs, or --capacity. The command tests the edges of
    the score strata, in an order that does not depend on labels, and may propose to keep the
    current threshold. A threshold passes if its p is at most its "allowed p": all tests share
    1 - confidence, so a p under 0.05 may not be enough. The command pools rounds within one
    history: one model version, one threshold. With --labels, pass a file and how its labels were
    drawn, as for monitor.evaluate; the command then tests quantiles of the scores.
    """
    from monitor.results.threshold_proposal import goal_of, proposal_document, proposal_json

    goal = goal_of(
        precision=precision,
        recall=recall,
        cost_fp=cost_fp,
        cost_fn=cost_fn,
        capacity=capacity,
        confidence=confidence,
    )
    of_file = {
        "threshold": in_use,
        "flagged-size": flagged_size,
        "passed-size": passed_size,
        "weight": weight,
        "prevalence": prevalence,
        "random": random or None,
    }
    of_rounds = {"MONITOR": monitor, "--round": number, "--rounds": rounds}
    if labels is None:
        refuse_options(
            {f"--{name}": value for name, value in of_file.items()},
            "is of a labeled file; give --labels too",
        )
        proposal = _of_rounds(monitor, config, number, rounds or 1, goal)
    else:
        refuse_options(of_rounds, "is of a monitor's rounds, and --labels a file; leave out one")
        proposal = _of_file(labels, goal, of_file)
    echo_answer(proposal_json(proposal), proposal_document(proposal), json=json)


def _of_file(path: Path, goal: Goal, options: dict[str, Any]) -> Proposal:
    from monitor.evaluation.rows import Column, column_of, read_rows, read_table, values_of
    from monitor.evaluation.threshold import propose_from_labels

    if options["threshold"] is None:
        message = "--labels needs --threshold, the score from which on items are flagged now"
        raise InputRefused(message)
    frame = read_table(path, "the labeled file")
    label, score = (
        Column(f"column {name!r}", column_of(frame, name, "--labels", "needs"))
        for name in ("label", "score")
    )
    rows = read_rows(
        label,
        score=score,
        threshold=options["threshold"],
        weight=values_of(frame, options["weight"], "--weight"),
    )
    return propose_from_labels(rows, sample_by(options, "--labels"), goal)


def _of_rounds(
    monitor: str | None, config: Path, number: int | None, rounds: int, goal: Goal
) -> Proposal:
    from monitor.rounds.forecast.threshold import propose
    from monitor.rounds.round_page import find_round
    from monitor.storage.rounds import round_store

    with opened(config) as application:
        name = only_monitor(application, monitor)
        with application.database.read() as connection:
            if number is not None:
                return propose(connection, find_round(connection, name, number), rounds, goal)
            newest = round_store.newest_closed(connection, name, application.clock())
            if newest is None:
                message = f"{name} has no closed round yet, so no labels to go by"
                raise InputRefused(message)
            return propose(connection, newest, rounds, goal)
