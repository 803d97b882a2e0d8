"""The command that gives old rounds new versions: restate."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.api import opened
from monitor.cli.commands.results import only_monitor
from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    MonitorOption,
    account,
    argument,
    flag,
    option,
)
from monitor.cli.views.printing import echo, echo_json
from monitor.domain.errors import EXIT_INPUT
from monitor.presentation.numbers import plural

if TYPE_CHECKING:
    from monitor.domain.model import Collected, Task
    from monitor.rounds.estimation.restated import RestatedRound
    from monitor.rounds.restating import RestateOutcome

_LONGEST_NAME = 100
_LONGEST_REASON = 300


def restate(
    reason: Annotated[str, option("TEXT", "Why, for all who read the numbers.")],
    numbers: Annotated[list[int] | None, argument("ROUND", "Numbers of the rounds.")] = None,
    config: ConfigOption = CONFIG,
    monitor: MonitorOption = None,
    since: Annotated[int | None, option("ROUND", "This round and all after it.", "--from")] = None,
    labels: Annotated[Path | None, option("FILE", "A file with corrected answers.")] = None,
    truth: Annotated[bool, flag("--truth", "Read the column of the truth again.")] = False,
    without: Annotated[str | None, option("NAME", "Take out what this annotator said.")] = None,
    by: Annotated[str | None, option("NAME", "Who asks; the user's name unless given.")] = None,
    dry_run: Annotated[
        bool, flag("--dry-run", "Show what would change, and change nothing.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Give old rounds new numbers after labels or the method changed.

    For closed rounds that take no late labels any more. They get a new version, and so do those
    that pool one; earlier versions stay readable, and all show who restated what, when and why.
    Alerts stay as they are: a restatement never fires, ends or revises one. Without a round and
    with --labels, --truth or --without it is for the rounds in which that changes an answer.
    Repeating it changes nothing. Exit code 65 if a row of FILE was refused.
    """
    from monitor.rounds.restating import RestateRequest
    from monitor.rounds.restating import restate as restated

    changes_labels = labels is not None or truth or without is not None
    _refuse_wrong(reason, names=bool(numbers) or since is not None, changes=changes_labels)
    with opened(config) as application:
        context = application.context(only_monitor(application, monitor))
        request = RestateRequest(
            by=((by or "").strip() or account() or "somebody")[:_LONGEST_NAME],
            why=reason.strip(),
            rounds=tuple(numbers or ()),
            since=since,
            read_file=None if labels is None else partial(_read_file, labels),
            truth=truth,
            without=without,
        )
        outcome = restated(context, request, dry_run=dry_run)
    if json:
        echo_json(_json(outcome, dry_run=dry_run))
    else:
        _echo(outcome, dry_run=dry_run)
    raise typer.Exit(EXIT_INPUT if outcome.refused else 0)


def _read_file(path: Path, tasks: Mapping[str, Task]) -> Collected:
    from monitor.labeling.label_files import read_labels

    available = "it is of no round that is to be restated"
    return read_labels(path, tasks, unknown_hint=available, follow=True)


def _refuse_wrong(reason: str, *, names: bool, changes: bool) -> None:
    if not reason.strip():
        message = "say in a few words why; everybody who reads the numbers sees it"
        raise typer.BadParameter(message, param_hint="--reason")
    if len(reason) > _LONGEST_REASON:
        message = f"{len(reason)} characters; {_LONGEST_REASON} are enough, MLflow shows them"
        raise typer.BadParameter(message, param_hint="--reason")
    if not (names or changes):
        message = (
            "name rounds, or the first of them with --from; only with --labels, --truth or "
            "--without are they found by the answers that change"
        )
        raise typer.BadParameter(message, param_hint="ROUND")


def _json(outcome: RestateOutcome, *, dry_run: bool) -> dict[str, Any]:
    return {
        "restated": [
            {
                "round": one.round.number,
                "version": one.version,
                "own": one.own,
                "labels_changed": one.labels,
                "before": [row.model_dump() for row in one.before],
                "after": [row.model_dump() for row in one.after],
            }
            for one in outcome.restated
        ],
        "refused": [{"where": r.where, "reason": r.reason} for r in outcome.refused],
        "dry_run": dry_run,
    }


def _echo(outcome: RestateOutcome, *, dry_run: bool) -> None:
    for refusal in outcome.refused:
        echo(f"refused: {refusal}", indent="  ")
    if not outcome.restated:
        echo("nothing to restate: every number comes out as it is")
        return
    for restated in outcome.restated:
        echo(_line(restated), indent="  ")
    if dry_run:
        echo("nothing was changed; without --dry-run it is")
    else:
        echo("alerts stay as they are; pr-monitor run-once brings the new numbers to MLflow")


def _line(restated: RestatedRound) -> str:
    from monitor.presentation.restatements import best_text

    labels = f" ({plural(restated.labels, 'answer')} changed)" if restated.labels else ""
    why = labels if restated.own else " (pools a restated one)"
    changes = [
        f"{metric} {best_text(restated.before, metric)} -> {best_text(restated.after, metric)}"
        for metric in ("precision", "recall")
    ]
    return f"round {restated.round.number}, version {restated.version}{why}: {'; '.join(changes)}"
