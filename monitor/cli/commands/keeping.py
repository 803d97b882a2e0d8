"""Commands about what the store keeps: backup, forget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from monitor.api import opened
from monitor.cli.common import CONFIG, ConfigOption, JsonOption, MonitorOption, argument, flag
from monitor.cli.views.printing import echo, echo_answer, echo_json
from monitor.domain.errors import InputRefused
from monitor.presentation.numbers import plural

if TYPE_CHECKING:
    from monitor.domain.ports import Labeler
    from monitor.rounds.retention import ForgottenItem
    from monitor.storage.rounds.round_store import Round
    from monitor.wiring import Application

OUT_OF_REACH = (
    "the predictions themselves, from which a round not drawn yet may still draw it",
    "files that pr-monitor labels export wrote, and copies that people keep outside of the folder",
    "backups of the store, until they are older than you keep them",
)
"""Where a deleted text may still stand."""


def backup(
    path: Annotated[Path, argument("PATH", "The file to write.")],
    config: ConfigOption = CONFIG,
    replace: Annotated[bool, flag("--replace", "Replace the file if it is there.")] = False,
    json: JsonOption = False,
) -> None:
    """Copy a SQLite store while it is in use.

    The copy holds the store as it was at one moment, is checked, and appears whole or not at all.
    To restore it, stop the service and the job that calls run-once, move the store away with its
    -wal and -shm files, put the copy in its place, and run: pr-monitor db upgrade, then: pr-monitor
    db restored, which does again what came after the copy.
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

    In every round: from the store, from the files with its tasks and from filled copies, with
    notes written there, and from MLflow's review view. Its labels stay, and so do all counts and
    estimates; each round keeps that it was done, without the text. Runs in MLflow and hooks never
    had the text.
    """
    from monitor.storage import sqlite_file

    with opened(config, make_store=False) as application:
        if monitor is not None:
            application.config.monitor(monitor)
        freed = _forgotten(application, item, monitor)
        # SQLite's write-ahead log may still hold the text that was deleted from the tables.
        wiped = sqlite_file.wipe_log(application.database)
    removed = sorted({forgotten.monitor for forgotten in freed if not forgotten.reached})
    out_of_reach = [
        *(f"label files of {name}, a monitor that the config no longer has" for name in removed),
        *([] if wiped else [_BUSY]),
        *OUT_OF_REACH,
    ]
    if json:
        echo_json(
            {
                "item": item,
                "rounds": [asdict(forgotten) for forgotten in freed],
                "out_of_reach": out_of_reach,
            }
        )
    else:
        _echo_forgotten(item, freed, out_of_reach)


_BUSY = "the store's log, which somebody is reading; run this again, or restart the service"


def _forgotten(application: Application, item: str, monitor: str | None) -> list[ForgottenItem]:
    from monitor.rounds.retention import forget_item
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
    return [
        forget_item(
            application.database, round_, item, _labelers(application, round_), application.clock
        )
        for round_ in rounds
    ]


def _labelers(application: Application, round_: Round) -> Sequence[Labeler]:
    contexts = [
        context for context in application.monitors if context.settings.name == round_.monitor
    ]
    assigned = contexts[0].labelers_of(round_.settings) if contexts else ()
    return [one.labeler for one in assigned]


def _echo_forgotten(item: str, freed: Sequence[ForgottenItem], out_of_reach: Sequence[str]) -> None:
    for forgotten in freed:
        what = "deleted" if forgotten.deleted else "was deleted before"
        files = f", and taken out of {', '.join(forgotten.places)}" if forgotten.places else ""
        echo(f"{forgotten.monitor} round {forgotten.round}: {what}{files}", indent="  ")
    echo(
        f"what people saw of item {item!r} is gone from {plural(len(freed), 'round')}; labels stay"
    )
    echo("out of reach, so look there yourself:")
    for location in out_of_reach:
        echo(f"- {location}", indent="  ")
