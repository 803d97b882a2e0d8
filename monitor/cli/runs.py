"""Commands that make rounds go on: run-once, backfill, serve."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    MonitorOption,
    minute,
    open_plant,
    parse_time,
    say,
    say_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from typing import Any

    from monitor.rounds.parts import Parts
    from monitor.service import Pass
    from monitor.storage.round_store import Round
    from monitor.wiring import Plant


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command("run-once")(run_once)
    app.command("backfill")(backfill)
    app.command("serve")(serve)


def run_once(
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    slot: Annotated[
        str | None,
        typer.Option("--slot", help="Run the round of this slot, due or skipped.", metavar="TIME"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Do all that is due: draw, take in labels, estimate, alert, tell MLflow. For cron.

    Running it again, or at the same time elsewhere, is safe. Exit code 0 all well (a firing
    alert too), 65 input refused, 75 something waits for a later run, 78 fix the config.
    """
    from monitor.service import one_pass

    plant = open_plant(config)
    monitors = _chosen(plant, monitor)
    if slot is not None:
        _open_asked(monitors, slot)
    before = {parts.settings.name: _states(plant, parts) for parts in monitors}
    result = one_pass(plant, monitors)
    moved = {name: _moves(plant, name, states) for name, states in before.items()}
    if json:
        say_json(_pass_json(result, moved))
    else:
        _say_pass(result, moved)
    plant.database.close()
    raise typer.Exit(result.exit_code)


def backfill(
    start: Annotated[str, typer.Option("--from", help="First window to look at.", metavar="DATE")],
    end: Annotated[
        str | None, typer.Option("--to", help="Last slot, else the present.", metavar="DATE")
    ] = None,
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    json: JsonOption = False,
) -> None:
    """Run past windows, oldest first, with labels that are there: a timeline on day one.

    Slots that have a round already are left as they are. Alerts go to the log and to MLflow,
    not to hooks: nobody is woken for the past.
    """
    from monitor.rounds.effects import deliver
    from monitor.rounds.steps import backfill_slots

    plant = open_plant(config)
    first, last = parse_time(start), None if end is None else parse_time(end)
    found: dict[str, list[Round]] = {}
    for parts in _chosen(plant, monitor):
        slots = backfill_slots(parts, first, last)
        ended = _backfilled(parts, first, last, len(slots), quiet=json)
        found[parts.settings.name] = list(ended)
    delivered = deliver(plant.database, plant.handlers, plant.clock)
    if json:
        say_json({name: [_round_json(r) for r in rounds] for name, rounds in found.items()})
    else:
        for name, rounds in found.items():
            say(_backfill_sentence(name, rounds))
        for sink, error in delivered.failed.items():
            say(f"{sink}: {error}")
    plant.database.close()
    raise typer.Exit(75 if delivered.failed else 0)


def serve(config: ConfigOption = CONFIG) -> None:
    """Run as a service until SIGTERM: what run-once does, every minute, for every monitor."""
    from monitor.service import serve as run

    run(open_plant(config))


def _chosen(plant: Plant, monitor: str | None) -> Sequence[Parts]:
    return plant.monitors if monitor is None else (plant.parts(monitor),)


def _open_asked(monitors: Sequence[Parts], slot: str) -> None:
    from monitor.domain.errors import InputRefused
    from monitor.domain.slots import newest_slot
    from monitor.rounds.steps import open_slot

    asked = parse_time(slot)
    for parts in monitors:
        schedule = parts.settings.round.schedule
        if asked > parts.clock():
            message = f"--slot {slot} is not due yet; its window has not ended"
            raise InputRefused(message)
        nearest = newest_slot(schedule, asked)
        if nearest != asked:
            message = (
                f"--slot {slot} is no slot of {parts.settings.name} ({schedule.cron!r} in "
                f"{schedule.time_zone}); the one before it is {nearest.isoformat()}"
            )
            raise InputRefused(message)
        open_slot(parts, asked, backfill=False)


def _states(plant: Plant, parts: Parts) -> dict[datetime, tuple[str, int]]:
    from monitor.storage import round_store

    with plant.database.read() as connection:
        rounds = round_store.find_rounds(connection, parts.settings.name)
    return {each.slot: (each.state, each.version) for each in rounds}


def _moves(plant: Plant, name: str, before: dict[datetime, tuple[str, int]]) -> list[Round]:
    from monitor.storage import round_store

    with plant.database.read() as connection:
        rounds = round_store.find_rounds(connection, name)
    return [each for each in rounds if before.get(each.slot) != (each.state, each.version)]


def _pass_json(result: Pass, moved: dict[str, list[Round]]) -> dict[str, Any]:
    return {
        "monitors": {name: [_round_json(r) for r in rounds] for name, rounds in moved.items()},
        "errors": {name: str(error) for name, error in result.errors.items()},
        "delivered": result.delivered.done,
        "waiting": result.delivered.failed,
    }


def _round_json(found: Round) -> dict[str, Any]:
    return {
        "round": found.number,
        "slot": found.slot,
        "state": found.state,
        "version": found.version,
        "partial": found.partial,
        "reason": found.reason,
    }


def _say_pass(result: Pass, moved: dict[str, list[Round]]) -> None:
    for name, rounds in moved.items():
        if not rounds and name not in result.errors:
            say(f"{name}: nothing due")
        for each in rounds:
            say(f"{name}: {_round_sentence(each)}")
    for name, error in result.errors.items():
        print(f"{name}: {error}", file=sys.stderr)  # noqa: T201
    for sink, why in result.delivered.failed.items():
        print(f"{sink}: {why}; it is tried again later", file=sys.stderr)  # noqa: T201


def _round_sentence(found: Round) -> str:
    due = f"round {found.number} (due {minute(found.slot)})"
    version = f", version {found.version}" if found.version > 1 else ""
    reason = f": {found.reason}" if found.reason else ""
    waits = f", labels wanted by {minute(found.deadline)}" if found.state == "labeling" else ""
    return f"{due} is {found.state}{version}{waits}{reason}"


def _backfilled(
    parts: Parts, first: datetime, last: datetime | None, total: int, *, quiet: bool
) -> Iterator[Round]:
    from rich.console import Console
    from rich.progress import Progress

    from monitor.rounds.steps import backfill as rounds_of

    console = Console(stderr=True, quiet=quiet)
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(parts.settings.name, total=total)
        for _slot, found in rounds_of(parts, first, last):
            progress.advance(task)
            if found is not None:
                yield found


def _backfill_sentence(name: str, rounds: Sequence[Round]) -> str:
    if not rounds:
        return f"{name}: no window to fill; rounds that ended before stay as they are"
    states = [str(each.state) for each in rounds]
    counted = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    return f"{name}: {len(rounds)} rounds from {minute(rounds[0].slot)}: {counted}"
