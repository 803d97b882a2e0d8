"""Commands about what the store keeps: backup, forget, db restored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.api import opened
from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    MonitorOption,
    argument,
    flag,
    minute,
)
from monitor.cli.views.printing import echo_answer, echo_error
from monitor.domain.errors import InputRefused, MonitorError, gravest
from monitor.presentation.numbers import plural

if TYPE_CHECKING:
    from monitor.domain.report import AlertRow
    from monitor.domain.round import Round
    from monitor.rounds.context import MonitorContext
    from monitor.rounds.labels.collect import ForgottenItem
    from monitor.rounds.restore import RestoredRounds
    from monitor.wiring import Application

OUT_OF_REACH = (
    "the predictions themselves, from which a round not drawn yet may still draw it",
    "files that pr-monitor labels export wrote, and copies that people keep outside of the folder",
    "backups of the store, until they are older than you keep them",
)
"""Locations that may still have a deleted text."""


def backup(
    path: Annotated[Path, argument("PATH", "The file to write.")],
    config: ConfigOption = CONFIG,
    replace: Annotated[bool, flag("--replace", "Replace an existing file.")] = False,
    json: JsonOption = False,
) -> None:
    """Copy a SQLite store while it is in use.

    The copy is consistent and verified, and appears complete or not at all. To restore it, stop the
    service and the job that calls run-once, move the store away with its -wal and -shm files, and
    put the copy in its place. Then run pr-monitor db upgrade and pr-monitor db restored, which
    repeats what came after the copy.
    """
    from monitor.storage import sqlite_file

    with opened(config, make_store=False) as application:
        size = sqlite_file.back_up(application.database, path, replace=replace)
    sentence = f"{application.database.shown} copied to {path} ({size / 2**20:.1f} MB), checked"
    echo_answer({"path": str(path), "bytes": size}, sentence, json=json)


def forget(
    item: Annotated[str, argument("ITEM_ID", "Id of the item.")],
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    json: JsonOption = False,
) -> None:
    """Delete what people were shown of one item, for good.

    Deletes it in every round: from the store, from task files and completed copies, with their
    notes, and from MLflow's review view. Feedback on MLflow's traces is deleted at the next
    delivery. Labels, counts and estimates stay, and each round records the deletion, without the
    text. Runs in MLflow and hooks never had the text.
    """
    from monitor.storage import sqlite_file

    with opened(config, monitor=monitor, make_store=False) as application:
        freed = _forgotten(application, item, monitor)
        # SQLite's write-ahead log may still hold the text that was deleted from the tables.
        wiped = sqlite_file.wipe_log(application.database)
    removed = sorted({forgotten.monitor for forgotten in freed if not forgotten.reached})
    out_of_reach = [
        *(f"label files of {name}, a monitor that the config no longer has" for name in removed),
        *([] if wiped else [_BUSY]),
        *OUT_OF_REACH,
    ]
    values = {"item": item, "rounds": freed, "out_of_reach": out_of_reach}
    echo_answer(values, _forgotten_document(item, freed, out_of_reach), json=json)


_BUSY = "the store's log, which somebody is reading; run this again, or restart the service"


def _forgotten(application: Application, item: str, monitor: str | None) -> list[ForgottenItem]:
    from monitor.rounds.labels.collect import forget_item
    from monitor.storage.samples.payload_store import rounds_with_item

    with application.database.read() as connection:
        rounds = rounds_with_item(connection, item, monitor)
    if not rounds:
        where = "" if monitor is None else f" of {monitor}"
        message = (
            f"no round{where} holds an item {item!r}; ids stand in the predictions, in the column "
            "that source.columns.id names"
        )
        raise InputRefused(message)
    contexts = {context.settings.name: context for context in application.monitors}
    return [
        forget_item(
            application.database,
            round_,
            item,
            []
            if context is None
            else [one.labeler for one in context.labelers_of(round_.settings)],
            application.clock,
            source=None if context is None else context.of_round(round_.settings).source,
        )
        for round_ in rounds
        for context in (contexts.get(round_.monitor),)
    ]


def _forgotten_document(
    item: str, freed: Sequence[ForgottenItem], out_of_reach: Sequence[str]
) -> Iterator[str]:
    for forgotten in freed:
        what = "deleted" if forgotten.deleted else "was deleted before"
        files = f", and taken out of {', '.join(forgotten.places)}" if forgotten.places else ""
        yield f"{forgotten.monitor} round {forgotten.round}: {what}{files}"
    yield (
        f"what people saw of item {item!r} is gone from {plural(len(freed), 'round')}; labels stay"
    )
    yield "out of reach, so look there yourself:"
    yield from (f"- {location}" for location in out_of_reach)


@dataclass
class Done:
    """What was found of one monitor, or why nothing could be."""

    monitor: str
    rounds: RestoredRounds | None = None
    problem: MonitorError | None = None


def restored(config: ConfigOption = CONFIG, json: JsonOption = False) -> None:
    """Record what is missing from a store restored from a backup.

    Run it after db upgrade, before you start anything else. It reads the runs of this store's
    rounds from MLflow. Rounds that only MLflow has are recorded as lost, with a link, and are not
    repeated; their runs get the tag monitor.restored. New versions of other rounds start above
    those in MLflow. Alerts that the store no longer has are reported as ended. It is safe to
    repeat, and changes nothing if nothing was lost.
    """
    with opened(config, make_store=False) as application:
        done = [_restored(context) for context in application.monitors]
    lines = [f"{each.monitor}: {line}" for each in done for line in _restored_lines(each.rounds)]
    echo_answer({"monitors": [_restored_json(each) for each in done]}, lines, json=json)
    problems = [(each.monitor, each.problem) for each in done if each.problem is not None]
    for monitor, problem in problems:
        echo_error(f"{monitor}: {problem}")
    if problems:
        echo_error("run this again once that is fixed; it goes on from where it was")
    raise typer.Exit(gravest(problem.exit_code for _, problem in problems))


def _restored(context: MonitorContext) -> Done:
    from monitor.rounds.restore import reconcile

    done = Done(context.settings.name)
    if context.runs is None:
        message = f"{context.settings.name} was built without MLflow"
        raise AssertionError(message)
    # Without MLflow's answer nobody knows what is missing: this monitor waits, others go on.
    try:
        done.rounds = reconcile(context, context.runs)
    except MonitorError as error:
        done.problem = error
    return done


def _restored_lines(rounds: RestoredRounds | None) -> Iterator[str]:
    if rounds is None:
        return
    for round_ in rounds.lost:
        yield f"round {round_.number} (due {minute(round_.slot)} UTC) is {round_.reason}"
    for round_, shown in rounds.behind:
        yield (
            f"round {round_.number} (due {minute(round_.slot)} UTC) is {round_.state}; MLflow "
            f"shows version {shown}, so its next version is {shown + 1}"
        )
    yield from _alert_lines(rounds.alerts)
    if not (rounds.lost or rounds.behind or rounds.alerts or rounds.alerts is None):
        yield "MLflow shows nothing that the store does not know"


def _alert_lines(alerts: tuple[AlertRow, ...] | None) -> Iterator[str]:
    if alerts is None:
        yield (
            "which alerts were open cannot be read from MLflow, since the newest report.json is "
            "missing there: look into MLflow and end in your hooks what is no longer known"
        )
        return
    for alert in alerts:
        yield (
            f"the alert {alert.id[:8]} on {alert.metric} of round {alert.fired_in_round} was open "
            "and is no longer known: people are notified that it ends"
        )


def _restored_json(done: Done) -> dict[str, Any]:
    from monitor.rounds.restore import RestoredRounds

    rounds = done.rounds or RestoredRounds(alerts=None)
    return {
        "monitor": done.monitor,
        "problem": None if done.problem is None else str(done.problem),
        "lost": [_json_of(each) for each in rounds.lost],
        "behind": [_json_of(each) | {"shown_version": shown} for each, shown in rounds.behind],
        "alerts_forgotten": rounds.alerts,
    }


def _json_of(round_: Round) -> dict[str, Any]:
    names = ("number", "slot", "state", "version", "reason")
    return {name: getattr(round_, name) for name in names}
