"""Commands about labels: those in files, export and import, and corrected ones, restate."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

import typer

from monitor.api import opened
from monitor.cli.commands.results import only_monitor
from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    MonitorOption,
    argument,
    chosen_monitors,
    flag,
    named_person,
    option,
    refuse_text,
    writing,
)
from monitor.cli.views.printing import echo, echo_answer, echo_json
from monitor.domain.errors import EXIT_INPUT, InputRefused
from monitor.presentation.labels import DECLINED_COST
from monitor.presentation.numbers import plural
from monitor.results.result import dump

if TYPE_CHECKING:
    from monitor.domain.model import Collected, LabelEvent, Refusal, Task
    from monitor.labeling.label_files import Format
    from monitor.rounds.context import MonitorContext
    from monitor.rounds.restating import RestatedRound, RestateOutcome
    from monitor.wiring import Application

ENDINGS = (".csv", ".xlsx", ".jsonl")
TOOLS = ("prodigy", "doccano", "argilla")
"""Labeling tools that have rows of their own on the lines of a ``.jsonl`` file."""


def export(
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    out: Annotated[
        Path | None, option("FILE", "File to write: .csv, .xlsx or .jsonl.", "--out", "-o")
    ] = None,
    tool: Annotated[
        str | None,
        option("TOOL", f"Labeling tool that reads the .jsonl: {', '.join(TOOLS)}.", "--for"),
    ] = None,
    second: Annotated[bool, flag("--second", "Write second copies, for another person.")] = False,
    disputed: Annotated[
        bool, flag("--disputed", "Write items that people labeled differently, to decide.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Write the unanswered items, blind and shuffled.

    Writes CSV to standard output unless --out names a file. Fill the column label with 1, 0 or
    cannot tell, and pass the file to pr-monitor labels import; exports of a tool of --for work
    unchanged. With labeling.overlap a second person labels some items, from --second; nobody may
    label both copies. --disputed writes the items on which people differ; the answer of
    labeling.adjudicator decides.
    """
    from monitor.domain.shown import plain_texts
    from monitor.labeling.label_files import write_tasks
    from monitor.rounds.labels import collect

    if second and disputed:
        message = "cannot be given together with --second"
        raise typer.BadParameter(message, param_hint="--disputed")
    if out is not None:
        _refuse_name(out)
    format = _format(out, tool)
    with opened(config) as application:
        several = [
            (
                context,
                collect.disputed(context)
                if disputed
                else collect.unanswered(context, 2 if second else 1),
            )
            for context in _asking_people(application, monitor)
        ]
    tasks, question = _questions(several)
    if out is not None and tasks:
        with writing(out):
            write_tasks(out, tasks, format, question=question)
    if out is None and not json:
        write_tasks(sys.stdout, tasks, format, question=question)
        return
    if json:
        listed = [{"task": task.key, **plain_texts(task.shown)} for task in tasks]
        echo_json({"question": question, "tasks": listed})
    else:
        echo(_written_text(out, len(tasks), tool))


def _format(out: Path | None, tool: str | None) -> Format:
    ending = ".csv" if out is None else out.suffix
    if tool is None:
        return cast("Format", ending.removeprefix("."))
    if tool not in TOOLS:
        message = f"{tool!r} is not known; expected one of {', '.join(TOOLS)}"
        raise typer.BadParameter(message, param_hint="--for")
    if out is not None and ending != ".jsonl":
        message = f"{tool} reads .jsonl, and {str(out)!r} does not end in it"
        raise typer.BadParameter(message, param_hint="--out")
    return cast("Format", tool)


def _questions(
    several: Sequence[tuple[MonitorContext, list[Task]]],
) -> tuple[list[Task], str | None]:
    """List the tasks of all monitors, and the question that is asked of each.

    If monitors ask different questions, every task shows its own.
    """
    from monitor.rounds.labels.collect import questions_of

    questioned: list[tuple[str | None, Task]] = []
    for context, tasks in several:
        questions = questions_of(context)
        questioned += [(questions.get(task.key), task) for task in tasks]
    different = {question for question, _ in questioned}
    if len(different) <= 1:
        return [task for _, task in questioned], next(iter(different), None)
    with_its_own = [
        replace(task, shown={"question asked": question or "", **task.shown})
        for question, task in questioned
    ]
    return with_its_own, None


def _written_text(out: Path | None, tasks: int, tool: str | None) -> str:
    if not tasks:
        return f"no item waits for an answer; {out} is not written"
    fill = f"fill the column label with 1, 0 or cannot tell; {DECLINED_COST}"
    if tool is not None:
        fill = f"load them into {tool}"
    return f"{plural(tasks, 'item')} written to {out}; {fill}"


def import_(
    file: Annotated[Path, argument("FILE", "The completed file: .csv, .xlsx or .jsonl.")],
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    json: JsonOption = False,
) -> None:
    """Import a completed file, row by row.

    Accepts each row, or refuses it with its number and the reason. A new answer of the same
    annotator for an item replaces the old one; importing the same file again changes nothing. Exit
    code 65 if a row was refused; the other rows are imported.
    """
    from monitor.labeling.label_files import read_labels
    from monitor.rounds.labels.collect import accepting

    with opened(config) as application:
        parts_of: dict[str, MonitorContext] = {}
        tasks: dict[str, Task] = {}
        for context in _asking_people(application, monitor):
            accepted = accepting(context)
            tasks |= accepted
            parts_of |= dict.fromkeys(accepted, context)
        available = "it belongs to no round that takes labels now"
        now = application.clock()
        collected = read_labels(file, tasks, unknown_hint=available, follow=True, now=now)
        taken = _store(collected, parts_of)
    values = {
        "new": taken.new,
        "changed": taken.changed,
        "older": taken.older,
        "known": taken.repeated,
        "refused": [{"where": r.where, "reason": r.reason} for r in taken.refused],
    }
    echo_answer(values, _taken_document(taken), json=json)
    raise typer.Exit(EXIT_INPUT if taken.refused else 0)


def _refuse_name(out: Path) -> None:
    """Refuse files of another kind, and files that people may have filled."""
    if out.suffix not in ENDINGS:
        message = f"{str(out)!r} does not end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise typer.BadParameter(message, param_hint="--out")
    if out.exists():
        message = (
            f"{out} is there already and may hold answers; import it with pr-monitor labels "
            "import, or name another file"
        )
        raise InputRefused(message)


class _Taken(NamedTuple):
    """How many answers are new, changed or ``repeated``, and the rows that were refused.

    ``older`` answers change nothing, since the same person has a later answer.
    """

    new: int
    changed: int
    older: int
    repeated: int
    refused: list[Refusal]


def _store(collected: Collected, parts_of: dict[str, MonitorContext]) -> _Taken:
    from monitor.domain.model import Collected as Part
    from monitor.labeling.files import FilesLabeler
    from monitor.rounds.labels.collect import store_together
    from monitor.rounds.labels.endpoints import without_same_person
    from monitor.storage.labels.label_notes import ChangedAnswers, count_changes

    several: list[tuple[MonitorContext, Collected]] = []
    label_events: list[LabelEvent] = []
    refused = list(collected.refused)
    for context in {id(context): context for context in parts_of.values()}.values():
        monitor_events = tuple(e for e in collected.events if parts_of[e.task_key] is context)
        taken = without_same_person(context, Part(events=monitor_events))
        several.append((context, taken))
        label_events += taken.events
        refused += taken.refused
    changes = ChangedAnswers()
    if several:
        with several[0][0].database.read() as connection:
            changes = count_changes(connection, label_events)
    added = store_together(several, labeler=FilesLabeler.name)
    new = max(0, added - changes.changed - changes.older)
    repeated = len(label_events) - new - changes.changed - changes.older
    return _Taken(new, changes.changed, changes.older, repeated, refused)


def _asking_people(application: Application, monitor: str | None) -> list[MonitorContext]:
    from monitor.rounds.labels.collect import asks_people

    chosen = chosen_monitors(application, monitor)
    asking = [context for context in chosen if asks_people(context)]
    if not asking:
        names = ", ".join(context.settings.name for context in chosen)
        message = f"no person labels {names}: its labels come from a column (labeling.kind: column)"
        raise InputRefused(message)
    return asking


def _taken_document(taken: _Taken) -> Iterator[str]:
    yield from (f"refused: {refusal}" for refusal in taken.refused)
    refused = plural(sum(refusal.rows for refusal in taken.refused), "row")
    changed = f"{taken.changed} changed, " if taken.changed else ""
    new = plural(taken.new, "new answer")
    yield f"{new}, {changed}{taken.repeated} known already, {refused} refused"
    if taken.older:
        yield (
            f"{plural(taken.older, 'answer')} older than what the same person answered later by "
            "labeled_at, which stays: correct labeled_at, or leave it empty, and import it again"
        )
    if taken.new or taken.changed:
        yield "pr-monitor run-once brings them into the estimates"


def restate(
    reason: Annotated[str, option("TEXT", "Reason, shown to all who read the numbers.")],
    numbers: Annotated[list[int] | None, argument("ROUND", "Numbers of the rounds.")] = None,
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    since: Annotated[int | None, option("ROUND", "This round and all after it.", "--from")] = None,
    labels: Annotated[Path | None, option("FILE", "A file with corrected answers.")] = None,
    truth: Annotated[bool, flag("--truth", "Read the truth column again.")] = False,
    without: Annotated[str | None, option("NAME", "Exclude the answers of this annotator.")] = None,
    by: Annotated[str | None, option("NAME", "Your name. Default: the user name.")] = None,
    dry_run: Annotated[bool, flag("--dry-run", "Show the changes without storing them.")] = False,
    json: JsonOption = False,
) -> None:
    """Give old rounds new numbers after labels or the method changed.

    For closed rounds. They get a new version, and so do rounds that pool them; earlier versions
    stay readable, and all show who restated what, when and why. A restatement never fires, ends or
    revises an alert. With --labels, --truth or --without, the default is the rounds in which an
    answer changes. Repeating the command changes nothing. Exit code 65 if a row of FILE or
    the new labels of a round were refused.
    """
    from monitor.rounds.restating import RestateRequest
    from monitor.rounds.restating import restate as restated

    changes_labels = labels is not None or truth or without is not None
    refuse_text(reason, "--reason", "all who read the numbers")
    if not (numbers or since is not None or changes_labels):
        message = (
            "name rounds, or the first of them with --from; only with --labels, --truth or "
            "--without are they found by the answers that change"
        )
        raise typer.BadParameter(message, param_hint="ROUND")
    with opened(config) as application:
        context = application.context(only_monitor(application, monitor))
        request = RestateRequest(
            by=named_person(by),
            why=reason.strip(),
            rounds=tuple(numbers or ()),
            since=since,
            read_file=None if labels is None else partial(_read_corrected, labels),
            truth=truth,
            without=without,
        )
        outcome = restated(context, request, dry_run=dry_run)
    refused = [{"where": each.where, "reason": each.reason} for each in outcome.refused]
    values = dump(outcome) | {"refused": refused}
    echo_answer(values, _restated_document(outcome), json=json)
    raise typer.Exit(EXIT_INPUT if outcome.refused else 0)


def _read_corrected(path: Path, tasks: Mapping[str, Task]) -> Collected:
    from monitor.labeling.label_files import read_labels

    available = "it belongs to no round that is being restated"
    return read_labels(path, tasks, unknown_hint=available, follow=True)


def _restated_document(outcome: RestateOutcome) -> Iterator[str]:
    yield from (f"refused: {refusal}" for refusal in outcome.refused)
    yield from map(_restated_line, outcome.restated)
    if not outcome.restated:
        yield "nothing to restate: every number comes out as it is"
    elif outcome.dry_run:
        yield "nothing was changed; without --dry-run it is"
    else:
        yield "alerts stay as they are; pr-monitor run-once brings the new numbers to MLflow"


def _restated_line(restated: RestatedRound) -> str:
    from monitor.presentation.restatements import best_text

    changed = restated.labels_changed
    labels = f" ({plural(changed, 'answer')} changed)" if changed else ""
    why = labels if restated.own else " (pools a restated one)"
    changes = [
        f"{metric} {best_text(restated.before, metric)} -> {best_text(restated.after, metric)}"
        for metric in ("precision", "recall")
    ]
    return f"round {restated.round}, version {restated.version}{why}: {'; '.join(changes)}"
