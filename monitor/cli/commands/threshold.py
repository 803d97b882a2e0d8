"""The command that proposes a threshold with a guarantee: threshold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from monitor.api import opened
from monitor.cli.commands.results import only_monitor
from monitor.cli.common import CONFIG, ConfigOption, JsonOption, MonitorArgument, flag, option
from monitor.cli.views.printing import echo_document, echo_json
from monitor.domain.errors import InputRefused

if TYPE_CHECKING:
    from monitor.rounds.forecast.threshold import Goal, Proposal


def threshold(
    monitor: MonitorArgument = None,
    config: ConfigOption = CONFIG,
    precision: Annotated[float | None, option("SHARE", "Propose the lowest that keeps it.")] = None,
    recall: Annotated[float | None, option("SHARE", "Propose the highest that keeps it.")] = None,
    cost_fp: Annotated[float | None, option("COST", "Cost of a false positive.")] = None,
    cost_fn: Annotated[float | None, option("COST", "Cost of a false negative.")] = None,
    capacity: Annotated[float | None, option("COUNT", "Flag at most so many a day.")] = None,
    confidence: Annotated[float, option("SHARE", "Probability that the guarantee is kept.")] = 0.95,
    number: Annotated[
        int | None, option("ROUND", "A closed round, else the newest.", "--round")
    ] = None,
    rounds: Annotated[
        int | None, option("COUNT", "Closed rounds to pool, up to that one [1].", min=1)
    ] = None,
    labels: Annotated[Path | None, option("FILE", "A file of labels, in place of rounds.")] = None,
    in_use: Annotated[
        float | None, option("SCORE", "In use now: lowest flagged score.", "--threshold")
    ] = None,
    flagged_size: Annotated[
        int | None, option("COUNT", "All flagged items, labeled or not.")
    ] = None,
    passed_size: Annotated[int | None, option("COUNT", "All passed items, labeled or not.")] = None,
    weight: Annotated[
        str | None, option("COLUMN", "Column of items that a label counts for.")
    ] = None,
    prevalence: Annotated[
        float | None, option("SHARE", "Positives, if drawn by actual class.")
    ] = None,
    random: Annotated[bool, flag("--random", "The labels are a plain random sample.")] = False,
    json: JsonOption = False,
) -> None:
    """Propose a threshold with a guarantee for precision or recall.

    Give one goal: --precision, --recall, both costs, or --capacity. The command tests the edges of
    the score strata, in an order that no label decides; it may propose to keep the present one.
    Rounds are pooled within one history: one model version, one threshold. With --labels, give a
    file with columns score and label, and how its labels were drawn, as for monitor.evaluate;
    quantiles of its scores are tested.
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

    if options["threshold"] is None:
        message = "--labels needs --threshold, the score from which on items are flagged now"
        raise InputRefused(message)
    sizes = {name: options[f"{name}-size"] for name in ("flagged", "passed")}
    if len([size for size in sizes.values() if size is None]) == 1:
        message = "--flagged-size and --passed-size go together: give both"
        raise InputRefused(message)
    frame, weight = read_table(path, "the labeled file"), options["weight"]

    def column(name: str, option: str = "--labels") -> Column:
        return Column(f"column {name!r}", column_of(frame, name, option))

    rows = read_rows(
        column("label"),
        score=column("score"),
        threshold=options["threshold"],
        weight=None if weight is None else column(weight, "--weight"),
    )
    drawn = EvaluationSample(
        random=bool(options["random"]),
        has_weights=weight is not None,
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
