"""Commands that show what is known: status, rounds, show, alerts, estimate."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    MonitorOption,
    minute,
    open_plant,
    say,
    say_json,
    say_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from monitor.domain.report import EstimateRow
    from monitor.rounds.overview import Overview
    from monitor.storage.alert_store import Alert
    from monitor.storage.round_store import Round
    from monitor.wiring import Plant


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command("status")(status)
    app.command("rounds")(rounds)
    app.command("show")(show)
    app.command("estimate")(estimate)
    alerts_app = typer.Typer(help="List alerts, or end one by hand.", no_args_is_help=False)
    alerts_app.callback(invoke_without_command=True)(alerts)
    alerts_app.command("resolve")(resolve)
    app.add_typer(alerts_app, name="alerts")


def status(
    config: ConfigOption = CONFIG, monitor: MonitorOption = None, json: JsonOption = False
) -> None:
    """Show how each monitor stands, what it waits for and what waits for delivery."""
    from monitor.rounds.overview import overview

    plant = open_plant(config)
    chosen = plant.monitors if monitor is None else (plant.parts(monitor),)
    found = [overview(plant.database, parts.settings, plant.clock()) for parts in chosen]
    if json:
        say_json({"monitors": [_overview_json(each) for each in found]})
        return
    for place, each in enumerate(found):
        if place:
            say("")
        _say_overview(each)


def rounds(
    config: ConfigOption = CONFIG, monitor: MonitorOption = None, json: JsonOption = False
) -> None:
    """List rounds with precision and recall, this round alone and with earlier rounds."""
    from monitor.storage import round_store

    plant = open_plant(config)
    if monitor is not None:
        plant.config.monitor(monitor)
    with plant.database.read() as connection:
        found = round_store.find_rounds(connection, monitor)
        rows = [(each, _estimates(connection, each)) for each in found]
    if json:
        say_json({"rounds": [_round_json(each, estimates) for each, estimates in rows]})
        return
    if not rows:
        say("no rounds yet; pr-monitor run-once opens the one that is due")
        return
    head = ["monitor", "round", "due (UTC)", "state"]
    head += ["precision", "carried", "recall", "carried"]
    say_table(head, [_round_row(each, estimates) for each, estimates in rows], right="1")


def show(
    number: Annotated[int, typer.Argument(help="Number of the round.", metavar="ROUND")],
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    version: Annotated[
        int | None, typer.Option("--version", help="An earlier version of it.", min=1)
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show one round: its counts, its estimates, its evidence and what happened to it."""
    from monitor.cli.round_page import round_page, say_round

    plant = open_plant(config)
    page = round_page(plant, _only(plant, monitor), number, version)
    if json:
        say_json(page)
    else:
        say_round(page)


def alerts(
    context: typer.Context,
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    json: JsonOption = False,
) -> None:
    """List alerts, open ones first."""
    if context.invoked_subcommand is not None:
        return
    from monitor.storage import alert_store

    plant = open_plant(config)
    with plant.database.read() as connection:
        found = alert_store.find_alerts(connection, monitor=monitor)
    found.sort(key=lambda alert: alert.state != "firing")
    if json:
        say_json({"alerts": [asdict(alert) for alert in found]})
        return
    if not found:
        say("no alerts")
        return
    head = [
        "id",
        "monitor",
        "limit",
        "state",
        "fired in round",
        "since (UTC)",
        "ended (UTC)",
        "why",
    ]
    say_table(head, [_alert_row(alert) for alert in found], right="4")


def resolve(
    alert: Annotated[str, typer.Argument(help="Id of the alert, or its beginning.")],
    reason: Annotated[str, typer.Option("--reason", help="Why it ends.")],
    config: ConfigOption = CONFIG,
    json: JsonOption = False,
) -> None:
    """End an open alert by hand; evidence starts anew with the next round."""
    from monitor.domain.alerting import AlertState
    from monitor.domain.errors import InputRefused
    from monitor.storage import alert_store

    plant = open_plant(config)
    with plant.database.write() as connection:
        firing = alert_store.find_alerts(connection, state=AlertState.FIRING)
        chosen = [each for each in firing if each.id.startswith(alert)]
        if len(chosen) != 1:
            ids = ", ".join(each.id for each in firing) or "none"
            message = f"{alert!r} is not the beginning of exactly one open alert's id; open: {ids}"
            raise InputRefused(message)
        alert_store.end(
            connection, chosen[0].id, AlertState.RESOLVED, why=reason, now=plant.clock()
        )
    if json:
        say_json({"resolved": chosen[0].id})
    else:
        say(f"resolved {chosen[0].id}: {chosen[0].monitor}, {chosen[0].metric}")


def estimate(
    tp: Annotated[int, typer.Option(help="Labeled positive among the flagged.")],
    fp: Annotated[int, typer.Option(help="Labeled negative among the flagged.")],
    fn: Annotated[int, typer.Option(help="Labeled positive among the passed.")],
    tn: Annotated[int, typer.Option(help="Labeled negative among the passed.")],
    flagged_size: Annotated[int, typer.Option(help="All predicted positives of the window.")],
    passed_size: Annotated[int, typer.Option(help="All predicted negatives of the window.")],
    level: Annotated[float, typer.Option(help="Probability inside each interval.")] = 0.95,
    json: JsonOption = False,
) -> None:
    """Estimate precision, recall and more from one labeled matrix; needs no database."""
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
        return
    say_table(
        ["metric", "estimand", "estimate"],
        [[e["metric"], e["estimand"], _dict_text(e)] for e in found["estimates"]],
    )


def _only(plant: Plant, monitor: str | None) -> str:
    if monitor is not None:
        return plant.config.monitor(monitor).name
    if len(plant.monitors) == 1:
        return plant.monitors[0].settings.name
    names = ", ".join(parts.settings.name for parts in plant.monitors)
    message = f"the config has several monitors; name one with --monitor: {names}"
    raise typer.BadParameter(message)


def _estimates(connection: Connection, found: Round) -> list[EstimateRow]:
    from monitor.rounds.overview import shown_estimates

    return shown_estimates(connection, found) if found.version else []


def _overview_json(found: Overview) -> dict[str, Any]:
    from monitor.rounds.overview import waiting_sentence

    return {
        **asdict(found),
        "estimates": [row.model_dump() for row in found.estimates],
        "waiting": [{**asdict(each), "sentence": waiting_sentence(each)} for each in found.waiting],
    }


def _say_overview(found: Overview) -> None:
    say(f"{found.monitor}: {found.status.upper()}")
    for line in (*_known(found), *_doing(found)):
        say(f"  {line}")
    say(f"  next round due {minute(found.next_slot)} UTC")


def _known(found: Overview) -> Iterator[str]:
    """Say what the last closed round found."""
    if found.last_round is not None:
        yield f"last estimate: round {found.last_round}, due {minute(found.last_slot)} UTC"
    for row in found.estimates:
        basis = "this round alone" if row.basis == "round" else "with earlier rounds"
        yield f"  {row.metric:<10} {basis:<20} {_text(row)}"
    for alert in found.alerts:
        side = alert.side.replace("_", " ")
        yield (
            f"alert: {alert.metric} {side} {alert.limit:g}, firing since round "
            f"{alert.fired_in_round} ({minute(alert.fired_at)} UTC)"
        )
    if found.status == "learning" and found.learning_rounds_left:
        yield f"learning: limits are proposed after {found.learning_rounds_left} more rounds"
    if found.proposed_limits:
        limits = ", ".join(f"{name}: {value:g}" for name, value in found.proposed_limits.items())
        yield f"proposed limits, to accept in the config: limits: {{{limits}}}"


def _doing(found: Overview) -> Iterator[str]:
    """Say what is open, what is wrong, and what waits."""
    from monitor.rounds.overview import waiting_sentence

    for each in found.open_rounds:
        yield (
            f"round {each.round} is {each.state}: {each.answered} of {each.wanted} answers, "
            f"deadline {minute(each.deadline)} UTC"
        )
    yield from (f"problem: {problem}" for problem in found.problems)
    yield from (f"note: {note}" for note in found.notes)
    yield from (waiting_sentence(waiting) for waiting in found.waiting)


def _round_json(found: Round, estimates: Sequence[EstimateRow]) -> dict[str, Any]:
    return {
        "monitor": found.monitor,
        "round": found.number,
        "slot": found.slot,
        "window": [found.window.start, found.window.end],
        "state": found.state,
        "version": found.version,
        "partial": found.partial,
        "reason": found.reason,
        "estimates": [row.model_dump() for row in estimates],
    }


def _round_row(found: Round, estimates: Sequence[EstimateRow]) -> list[str]:
    state = f"{found.state}, partial" if found.partial else str(found.state)
    texts = [_text(row, digits=2) for row in _ordered(estimates)] or ["-"] * 4
    return [found.monitor, str(found.number), minute(found.slot), state, *texts]


def _ordered(estimates: Sequence[EstimateRow]) -> list[EstimateRow]:
    order = {"precision": 0, "recall": 2}
    return sorted(estimates, key=lambda row: order[row.metric] + (row.basis == "carried"))


def _text(row: EstimateRow, digits: int = 3) -> str:
    return _interval_text(row.point, row.low, row.high, row.reason, digits)


def _dict_text(row: dict[str, Any]) -> str:
    return _interval_text(row["point"], row["low"], row["high"], row["reason"], 3)


def _interval_text(
    point: float | None, low: float | None, high: float | None, reason: str | None, digits: int
) -> str:
    if point is None or low is None or high is None or math.isnan(point):
        return f"not estimable: {reason}" if digits > 2 else "not estimable"  # noqa: PLR2004
    return f"{point:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _alert_row(alert: Alert) -> list[str]:
    return [
        alert.id[:8],
        alert.monitor,
        f"{alert.metric} {alert.side.replace('_', ' ')} {alert.limit:g}",
        str(alert.state),
        str(alert.fired_in_round),
        minute(alert.fired_at),
        minute(alert.ended_at),
        alert.ended_why or "",
    ]
