"""Commands for labels in files: export, import."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    MonitorOption,
    open_plant,
    say,
    say_json,
)

if TYPE_CHECKING:
    from monitor.domain.model import Collected, Task
    from monitor.rounds.parts import Parts
    from monitor.wiring import Plant


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    labels = typer.Typer(help="Hand out items to label as a file, and take answers in.")
    labels.command("export")(export)
    labels.command("import")(import_)
    app.add_typer(labels, name="labels")


def export(
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write (.csv or .jsonl).")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write the items of open rounds that wait for an answer, blind and shuffled."""
    from monitor.labeling.label_files import write_tasks
    from monitor.rounds.collect import unanswered

    plant = open_plant(config)
    tasks = [task for parts in _asking_people(plant, monitor) for task in unanswered(parts)]
    if json:
        say_json({"tasks": [{"task": task.key, **task.shown} for task in tasks]})
    elif out is None:
        write_tasks(sys.stdout, tasks, "csv")
    else:
        write_tasks(out, tasks, "jsonl" if out.suffix == ".jsonl" else "csv")
        say(f"{len(tasks)} items written to {out}; fill the column label with 1, 0 or cannot tell")


def import_(
    file: Annotated[Path, typer.Argument(help="The filled file (.csv or .jsonl).")],
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    json: JsonOption = False,
) -> None:
    """Take in a filled file; every row is taken or refused with its number and the reason.

    Importing the same file again changes nothing. Exit code 65 if a row was refused; the
    others are taken all the same.
    """
    from monitor.labeling.label_files import read_labels
    from monitor.rounds.collect import accepting

    plant = open_plant(config)
    parts_of: dict[str, Parts] = {}
    tasks: dict[str, Task] = {}
    for parts in _asking_people(plant, monitor):
        mine = accepting(parts)
        tasks |= mine
        parts_of |= dict.fromkeys(mine, parts)
    collected = read_labels(file, tasks, known="it is of no round that takes labels now")
    new = _store(collected, parts_of)
    if json:
        say_json(_result(collected, new))
    else:
        for refusal in collected.refused:
            say(f"refused: {refusal}")
        same = len(collected.events) - new
        say(f"{new} new answers, {same} known already, {len(collected.refused)} rows refused")
        if new:
            say("run-once takes them into the estimates")
    raise typer.Exit(65 if collected.refused else 0)


def _store(collected: Collected, parts_of: dict[str, Parts]) -> int:
    from monitor.domain.model import Collected as Part
    from monitor.rounds.collect import store_labels

    new = 0
    for parts in {id(parts): parts for parts in parts_of.values()}.values():
        mine = tuple(e for e in collected.events if parts_of[e.task_key] is parts)
        new += store_labels(parts, Part(events=mine))
    return new


def _asking_people(plant: Plant, monitor: str | None) -> list[Parts]:
    from monitor.domain.errors import InputRefused

    chosen = plant.monitors if monitor is None else (plant.parts(monitor),)
    asking = [parts for parts in chosen if parts.labeler.asks_people]
    if not asking:
        message = "no monitor here is labeled by people; its labels come from a column"
        raise InputRefused(message)
    return asking


def _result(collected: Collected, new: int) -> dict[str, Any]:
    return {
        "new": new,
        "known": len(collected.events) - new,
        "refused": [{"where": r.where, "reason": r.reason} for r in collected.refused],
    }
