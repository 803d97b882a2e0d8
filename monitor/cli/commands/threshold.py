"""The command that proposes a threshold with a guarantee: threshold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.commands.results import only_monitor
from monitor.cli.common import (
    CONFIG,
    ConfigOption,
    JsonOption,
    MonitorArgument,
    opened,
    share_option,
)
from monitor.cli.views.printing import echo_document, echo_json
from monitor.domain.errors import InputRefused

if TYPE_CHECKING:
    from monitor.rounds.forecast.threshold import Goal, Proposal


def _number(name: str, what: str, unit: str) -> object:
    return typer.Option(name, help=what, metavar=unit)


def threshold(
    monitor: MonitorArgument = None,
    config: ConfigOption = CONFIG,
    precision: Annotated[
        float | None, share_option("--precision", "Propose the lowest that keeps it.")
    ] = None,
    recall: Annotated[
        float | None, share_option("--recall", "Propose the highest that keeps it.")
    ] = None,
    cost_fp: Annotated[
        float | None, _number("--cost-fp", "Cost of a false positive.", "COST")
    ] = None,
    cost_fn: Annotated[
        float | None, _number("--cost-fn", "Cost of a false negative.", "COST")
    ] = None,
    capacity: Annotated[
        float | None, _number("--capacity", "Flag at most so many a day.", "COUNT")
    ] = None,
    confidence: Annotated[
        float, share_option("--confidence", "Probability that the guarantee is kept.")
    ] = 0.95,
    number: Annotated[
        int | None, _number("--round", "A closed round, else the newest.", "ROUND")
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds", help="Closed rounds to pool, up to that one [1].", metavar="COUNT", min=1
        ),
    ] = None,
    labels: Annotated[
        Path | None, _number("--labels", "A file of labels, in place of rounds.", "FILE")
    ] = None,
    score: Annotated[str | None, _number("--score", "Column of scores [score].", "COLUMN")] = None,
    label: Annotated[
        str | None, _number("--label", "Column of labels, 1 or 0 [label].", "COLUMN")
    ] = None,
    in_use: Annotated[
        float | None, _number("--threshold", "In use now: lowest flagged score.", "SCORE")
    ] = None,
    flagged_size: Annotated[
        int | None, _number("--flagged-size", "All flagged items, labeled or not.", "COUNT")
    ] = None,
    passed_size: Annotated[
        int | None, _number("--passed-size", "All passed items, labeled or not.", "COUNT")
    ] = None,
    weight: Annotated[
        str | None, _number("--weight", "Column of items that a label counts for.", "COLUMN")
    ] = None,
    prevalence: Annotated[
        float | None, share_option("--prevalence", "Positives, if drawn by actual class.")
    ] = None,
    random: Annotated[
        bool, typer.Option("--random", help="The labels are a plain random sample.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Propose a threshold with a guarantee for precision or recall.

    Give one goal: --precision, --recall, both costs, or --capacity. The command tests the edges of
    the score strata, in an order that no label decides; it may propose to keep the present one.
    Rounds are pooled within one history: one model version, one threshold. With --labels, give a
    file and how its labels were drawn, as for monitor.evaluate; quantiles of its scores are tested.
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
        "score": score,
        "label": label,
        "threshold": in_use,
        "flagged-size": flagged_size,
        "passed-size": passed_size,
        "weight": weight,
        "prevalence": prevalence,
        "random": random or None,
    }
    of_rounds = {"MONITOR": monitor, "--round": number, "--rounds": rounds}
    if labels is None:
        _refuse_options(
            {f"--{name}": value for name, value in of_file.items()},
            "is of a labeled file; give --labels too",
        )
        proposal = _of_rounds(monitor, config, number, rounds or 1, goal)
    else:
        _refuse_options(of_rounds, "is of a monitor's rounds, and --labels a file; leave out one")
        proposal = _of_file(labels, goal, of_file)
    if json:
        echo_json(proposal_json(proposal))
    else:
        echo_document(proposal_document(proposal))


def _refuse_options(options: dict[str, Any], why: str) -> None:
    for name, value in options.items():
        if value is not None:
            message = f"{name} {value} {why}"
            raise InputRefused(message)


def _of_file(path: Path, goal: Goal, options: dict[str, Any]) -> Proposal:
    from monitor.evaluation.designs import EvaluationSample
    from monitor.evaluation.rows import Column, column_of, read_rows, read_table
    from monitor.evaluation.threshold import propose_from_labels

    frame = read_table(path, "the labeled file")

    def column(option: str) -> Column:
        name = options[option] or option
        return Column(f"column {name!r}", column_of(frame, name, f"--{option}"))

    if options["threshold"] is None:
        message = "--labels needs --threshold, the score from which on items are flagged now"
        raise InputRefused(message)
    if (options["score"] or "score") == (options["label"] or "label"):
        message = "--score and --label name the same column; the score is what the classifier gave"
        raise InputRefused(message)
    sizes = {name: options[f"{name}-size"] for name in ("flagged", "passed")}
    if len([size for size in sizes.values() if size is None]) == 1:
        message = "--flagged-size and --passed-size go together: give both"
        raise InputRefused(message)
    rows = read_rows(
        column("label"),
        score=column("score"),
        threshold=options["threshold"],
        weight=None if options["weight"] is None else column("weight"),
    )
    drawn = EvaluationSample(
        random=bool(options["random"]),
        has_weights=options["weight"] is not None,
        sizes=None if sizes["flagged"] is None else sizes,
        prevalence=options["prevalence"],
    )
    return propose_from_labels(rows, drawn, goal)


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
