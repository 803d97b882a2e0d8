"""The command that proposes a threshold with a guarantee: threshold."""

from __future__ import annotations

from typing import Annotated

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


def _number(name: str, what: str, unit: str) -> object:
    return typer.Option(name, help=what, metavar=unit)


def threshold(
    monitor: MonitorArgument = None,
    config: ConfigOption = CONFIG,
    precision: Annotated[
        float | None, share_option("--precision", "The lowest that surely keeps it.")
    ] = None,
    recall: Annotated[
        float | None, share_option("--recall", "The highest that surely keeps it.")
    ] = None,
    cost_fp: Annotated[float | None, _number("--cost-fp", "Of a false positive.", "COST")] = None,
    cost_fn: Annotated[float | None, _number("--cost-fn", "Of a missed positive.", "COST")] = None,
    capacity: Annotated[
        float | None, _number("--capacity", "Flag at most so many a day.", "COUNT")
    ] = None,
    confidence: Annotated[
        float, share_option("--confidence", "Probability that the guarantee is kept.")
    ] = 0.95,
    number: Annotated[
        int | None, _number("--round", "A closed round; the newest if not given.", "ROUND")
    ] = None,
    rounds: Annotated[
        int,
        typer.Option("--rounds", help="So many, up to that one.", metavar="COUNT", min=1),
    ] = 1,
    json: JsonOption = False,
) -> None:
    """Propose a threshold that surely keeps precision or recall.

    Give one goal: --precision, --recall, both costs, or --capacity. Tested are the edges of the
    score strata that labels were drawn from, in an order that no label decides; the answer may be
    to keep the present one. Rounds are pooled within one history: one model version, one threshold.
    """
    from monitor.results.threshold_proposal import goal_of, proposal_document, proposal_json
    from monitor.rounds.forecast.threshold import propose
    from monitor.rounds.round_page import find_round
    from monitor.storage.rounds import round_store

    goal = goal_of(
        precision=precision,
        recall=recall,
        cost_fp=cost_fp,
        cost_fn=cost_fn,
        capacity=capacity,
        confidence=confidence,
    )
    with opened(config) as application:
        name = only_monitor(application, monitor)
        with application.database.read() as connection:
            if number is not None:
                round_ = find_round(connection, name, number)
            else:
                newest = round_store.newest_closed(connection, name, application.clock())
                if newest is None:
                    message = f"{name} has no closed round yet, so no labels to go by"
                    raise InputRefused(message)
                round_ = newest
            proposal = propose(connection, round_, rounds, goal)
    if json:
        echo_json(proposal_json(proposal))
    else:
        echo_document(proposal_document(proposal))
