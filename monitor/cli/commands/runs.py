"""Commands that run rounds: run-once, backfill, serve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.api import opened
from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    MonitorOption,
    chosen_monitors,
    flag,
    minute,
    option,
    parse_time,
)
from monitor.cli.views.printing import echo, echo_error, echo_json, with_progress
from monitor.domain.errors import InputRefused, MonitorError, SourceRefused
from monitor.domain.state import RoundState
from monitor.presentation.numbers import plural

if TYPE_CHECKING:
    from monitor.domain.round import Round
    from monitor.rounds.context import MonitorContext
    from monitor.service.loop import Pass
    from monitor.storage.rounds.round_store import RoundVersion
    from monitor.wiring import Application


def run_once(
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    slot: Annotated[
        str | None,
        option("TIME", "Run the round of this slot: due, skipped, or abandoned undrawn."),
    ] = None,
    metrics_file: Annotated[
        Path | None, option("PATH", "Write metrics for the node exporter.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Do everything that is due, then exit; use it from cron.

    Draws samples, reads labels, estimates, alerts, and logs to MLflow. It is safe to run it again,
    or at the same time elsewhere. Exit code 0 all well (a firing alert too), 65 input
    refused (a round that waits for better predictions too; with --slot only the round of it), 75
    something waits for a later run, 78 fix the config.
    """
    from monitor.domain.extras import needs_extra

    if metrics_file is not None:
        with needs_extra("serve", "--metrics-file"):
            import prometheus_client  # noqa: F401  before anything is done

    from monitor.cli.views.passes import echo_pass, marks, moves, pass_json
    from monitor.service.change_detection import ChangeDetector
    from monitor.service.loop import one_pass

    with opened(config, delivers=True) as application:
        monitors = chosen_monitors(application, monitor)
        previous: dict[str, dict[int, RoundVersion]] = {}

        def remember(context: MonitorContext) -> None:
            previous.setdefault(context.settings.name, marks(application, context))

        # States are read before anything moves them, so that what moved can be shown afterwards.
        if slot is not None:
            for context in monitors:
                remember(context)
            _open_slot(monitors, slot)
        idle = ChangeDetector(
            application.database, application.clock, application.config_fingerprints()
        )
        result = one_pass(application, monitors, idle=idle, before_check=remember)
        moved = {
            name: moves(application, name, previous[name]) if name in previous else []
            for name in (context.settings.name for context in monitors)
        }
        _load_mlflow_before_it_is_due(application, moved, result)
        if json:
            echo_json(pass_json(result, moved))
        else:
            new = {name for name, marks_before in previous.items() if not marks_before}
            echo_pass(application, monitors, result, moved, new)
        if metrics_file is not None:
            _write_metrics(metrics_file, application, monitors, result)
        code = result.exit_code if slot is None else _slot_exit_code(application, result, slot)
    raise typer.Exit(code)


def backfill(
    start: Annotated[str, option("DATE", "Start of the first window.", "--from")],
    end: Annotated[str | None, option("DATE", "The last slot. Default: now.", "--to")] = None,
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    json: JsonOption = False,
) -> None:
    """Run past windows, oldest first, for a timeline on day one.

    Use it when labels exist already. If people label, rounds open and wait for them, as they do for
    labels that have not matured. Slots with a round stay as they are. Alerts go to the log and to
    MLflow, but not to hooks: a later scheduled round tells hooks of the alerts that it confirms.
    """
    from monitor.cli.views.passes import echo_failures, pass_json
    from monitor.rounds.run import backfill as backfill_rounds
    from monitor.rounds.run import backfill_slots
    from monitor.service.loop import Pass, deliver_all

    first, last = _span(start, end)
    rounds: dict[str, list[Round]] = {}
    errors: dict[str, MonitorError] = {}
    with opened(config, delivers=True) as application:
        for context in chosen_monitors(application, monitor):
            slots = backfill_slots(context, first, last)
            name, rounds[name] = context.settings.name, []
            # What is filled stays filled: a monitor that stops keeps no other from its windows.
            try:
                steps = with_progress(backfill_rounds(context, first, last), name, len(slots))
                for _, round_ in steps:
                    if round_ is not None:
                        rounds[name].append(round_)
            except MonitorError as error:
                errors[name] = error
            if not json:
                done = _backfill_sentences(context, slots, rounds[name])
                for sentence in chain(done, _skipped_sentence(context, slots[-1:])):
                    echo(sentence)
        result = Pass(errors, deliver_all(application))
        _load_mlflow_before_it_is_due(application, rounds, result)
        if json:
            echo_json(pass_json(result, rounds))
        else:
            echo_failures(result)
    raise typer.Exit(result.exit_code)


def serve(
    config: ConfigOption = CONFIG,
    json: Annotated[bool, flag("--json", "Write log lines as JSON.")] = False,
) -> None:
    """Do everything that is due, every minute, until SIGTERM.

    Does what run-once does, for every monitor, as one long-running process, and logs to standard
    error. SIGHUP reloads the config. With `web` in the config it serves /health, /ready and
    /metrics. With `pages` people can label in a browser and see the state of the monitors; the log
    has the link.
    """
    from monitor.cli.logs import set_up_logs
    from monitor.domain.extras import needs_extra

    with needs_extra("serve", "pr-monitor serve"):
        import apscheduler  # noqa: F401  before a round begins, and before there are threads
        import prometheus_client.core  # noqa: F401

        from monitor.service.loop import serve as run

    with opened(config, delivers=True) as application:
        set_up_logs(service=True, json=json)
        run(application, path=config)


def _write_metrics(
    path: Path, application: Application, monitors: Sequence[MonitorContext], result: Pass
) -> None:
    """Write the metrics of a pass; after a failed one the time of the last good pass stays."""
    from monitor.service.web.metrics import Own, exposition, last_success, write_textfile

    names = [context.settings.name for context in monitors]
    well = names == application.names and not result.errors
    now = application.clock()
    previous = last_success(path)
    if previous is not None and previous > now:  # written while a clock was ahead
        previous = None
    own = Own(
        last_success=now if well else previous,
        failing={name: name in result.errors for name in names},
    )
    write_textfile(path, exposition(application.database, application.names, own, now))


def _span(start: str, end: str | None) -> tuple[datetime, datetime | None]:
    first = parse_time(start, "--from")
    last = None if end is None else parse_time(end, "--to")
    if last is not None and last < first:
        message = f"{end} is before --from {start}"
        raise typer.BadParameter(message, param_hint="--to")
    return first, last


def _open_slot(monitors: Sequence[MonitorContext], slot: str) -> None:
    """Open a slot of every monitor, after checking that it is a due slot of all."""
    from monitor.rounds.opening.due import open_slot, why_it_stays

    due = parse_time(slot, "--slot")
    # All monitors are asked first: a slot that one of them refuses is then opened for none.
    for context in monitors:
        _refuse_no_slot(context, slot, due)
    for context in monitors:
        if open_slot(context, due, backfill=False) is None:
            name = context.settings.name
            echo_error(f"{name}: the round due {minute(due)} UTC {why_it_stays(context, due)}")


def _refuse_no_slot(context: MonitorContext, slot: str, due: datetime) -> None:
    from monitor.domain.slots import newest_slot, slots_after

    name, schedule, now = context.settings.name, context.settings.round.schedule, context.clock()
    if due > now:
        newest = minute(newest_slot(schedule, now))
        message = f"--slot {slot} is not due yet; the newest slot of {name} that is due: {newest}"
        raise InputRefused(message)
    before = newest_slot(schedule, due)
    if before != due and _round_at(context, due) is None:
        after = next(slots_after(schedule, due))
        message = (
            f"--slot {slot} is not a slot of {name} ({schedule.cron!r} in {schedule.time_zone}); "
            f"the nearest are {minute(before)} and {minute(after)} UTC"
        )
        raise InputRefused(message)


def _load_mlflow_before_it_is_due(
    application: Application, moved: dict[str, list[Round]], result: Pass
) -> None:
    """Import MLflow when a monitor draws its first rounds, weeks before their results go there."""
    from monitor.domain.errors import DeliveryFailed
    from monitor.domain.model import MLFLOW, EffectKind
    from monitor.storage.outbox.effect_admin import last_done
    from monitor.wiring import mlflow_handler

    drawn = [
        name for name, of in moved.items() if any(one.state is RoundState.LABELING for one in of)
    ]
    with application.database.read() as connection:
        is_new = any(last_done(connection, name, EffectKind.ROUND_RUN) is None for name in drawn)
    if not is_new or MLFLOW in result.delivered.failed:
        return
    try:
        mlflow_handler(application.config).load()
    except DeliveryFailed as error:
        result.delivered.note(MLFLOW, error)


def _slot_exit_code(application: Application, result: Pass, slot: str) -> int:
    """Return the exit code of a slot's round: another that waits for predictions is no failure."""
    errors = dict(result.errors)
    for name, error in result.errors.items():
        round_ = _round_at(application.context(name), parse_time(slot, "--slot"))
        if isinstance(error, SourceRefused) and round_ and round_.state is not RoundState.OPEN:
            del errors[name]
    return replace(result, errors=errors).exit_code


def _round_at(context: MonitorContext, slot: datetime) -> Round | None:
    from monitor.storage.rounds import round_store

    with context.database.read() as connection:
        monitor_id = round_store.find_monitor(connection, context.settings.name)
        return None if monitor_id is None else round_store.round_at(connection, monitor_id, slot)


def _skipped_sentence(context: MonitorContext, last: Sequence[datetime]) -> Iterator[str]:
    """Describe the windows between the last slot of a backfill and the newest, if any is empty."""
    from monitor.domain.slots import newest_slot, window_of
    from monitor.rounds.run import backfill_slots
    from monitor.storage.rounds import round_store

    if not last:
        return
    schedule = context.settings.round.schedule
    # Predictions may end before the newest window, which run-once opens all the same.
    newest = newest_slot(schedule, context.clock())
    slots = {*backfill_slots(context, window_of(schedule, last[0]).end)} - {newest}
    with context.database.read() as connection:
        monitor_id = round_store.find_monitor(connection, context.settings.name)
        if monitor_id is not None:
            slots -= round_store.slots_with_rounds(connection, monitor_id, last[0])
    if slots:
        start = window_of(schedule, min(slots)).start
        yield (
            f"{context.settings.name}: run-once opens only the newest window and skips "
            f"{plural(len(slots), 'window')} due from {minute(min(slots))} UTC on: pr-monitor "
            f"backfill --from {start:%Y-%m-%dT%H:%MZ} -m {context.settings.name} fills all"
        )


def _backfill_sentences(
    context: MonitorContext, slots: Sequence[datetime], rounds: Sequence[Round]
) -> Iterator[str]:
    from monitor.cli.views.passes import people_sentence

    name = context.settings.name
    if not rounds:
        why = "rounds that ended before stay as they are"
        why = why if slots else "none that has ended holds predictions and begins then"
        yield f"{name}: no window to fill; {why}"
        return
    waiting = [round_ for round_ in rounds if round_.state is RoundState.LABELING]
    done = "opened" if waiting else "filled"
    counts = Counter(round_.state for round_ in rounds)
    states = ", ".join(f"{count} {state}" for state, count in counts.items())
    yield (
        f"{name}: {len(rounds)} of {len(slots)} windows {done}, due {minute(rounds[0].slot)} to "
        f"{minute(rounds[-1].slot)} UTC: {states}"
    )
    if waiting and (sentence := people_sentence(context, waiting)):
        yield f"{name}: {sentence}"
