"""Ending a round as soon as its margins hold (`sample.stop`); what is left of it is withdrawn."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from monitor.presentation.moves import stopped_text
from monitor.rounds.estimation.tally import Tally
from monitor.stats.estimation.posterior import estimates
from monitor.stats.estimation.stopping import looks, shows_both_answers
from monitor.storage import label_store, page_store, round_claims, round_moves, stop_store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monitor.domain.model import Task
    from monitor.domain.settings import RoundSettings
    from monitor.rounds.context import MonitorContext
    from monitor.storage.round_claims import Claim
    from monitor.storage.round_labels import DrawnItem, RoundLabels
    from monitor.storage.round_store import Round


def may_stop(round_: Round, labels: RoundLabels) -> bool:
    """Whether a round may end before all of its plan is answered.

    Not the first of a history, whose second wave follows its answers; nor one that is done again,
    whose plan is what it kept; nor one with limits (docs/method.md).
    """
    settings = round_.settings
    return (
        settings.sample.stop is not None
        and round_.stopped is None
        and settings.planned is None
        and not settings.limits.bounds
        and settings.overlap == 0
        and all(part.first_wave is None for part in labels.strata)
    )


def stop_if_enough(
    context: MonitorContext, round_: Round, labels: RoundLabels, claim: Claim
) -> bool:
    """End a round at its first look at which the margins hold; false where none has held yet.

    It then consists of its first tasks up to that look, and the others are withdrawn.
    """
    if not may_stop(round_, labels):
        return False
    with context.database.read() as connection:
        tasks = label_store.all_tasks(connection, [round_.id])
        order = page_store.read_page_tasks(connection, [round_.name])
    ordered = [tasks[task.key] for task in order if task.key in tasks]
    kept = enough(ordered, labels, round_)
    if kept is None:
        return False
    rest = [(task.key, task.item_id) for task in ordered[len(kept) :]]
    sizes = Counter(item.stratum for item in kept)
    now = context.clock()
    with context.database.write() as connection:
        round_claims.hold(connection, claim)
        page_store.lock(connection, [round_.name])
        stop_store.stop(
            connection,
            round_,
            kept={part.stratum.name: sizes[part.stratum.name] for part in labels.strata},
            planned=len(ordered),
            withdrawn=rest,
            now=now,
        )
        reason = stopped_text(len(kept), len(ordered))
        round_moves.note_event(connection, round_, reason, now)
    return True


def enough(
    ordered: Sequence[Task], labels: RoundLabels, round_: Round
) -> Sequence[DrawnItem] | None:
    """Find the items of the first look at which the margins hold; None where none has held yet.

    Parameters
    ----------
    ordered
        The tasks of the round as the page hands them out.
    labels, round_
        The round, and its labels as they stand.
    """
    by_id = {item.id: item for item in labels.items}
    items = [by_id[task.item_id] for task in ordered if task.item_id in by_id]
    if len(items) != len(labels.items) or not _in_order_of_draw(items, labels):
        return None
    answered = next(
        (place for place, item in enumerate(items) if item.id not in labels.current), len(items)
    )
    for look in looks(len(items)):
        if look > answered:
            return None
        if _margins_hold(items[:look], labels, round_.settings, round_.sobol_seed):
            return items[:look]
    return None


def _in_order_of_draw(items: Sequence[DrawnItem], labels: RoundLabels) -> bool:
    """Whether of each stratum those drawn first come first, so that any first part is a draw.

    Tasks that an older version put on the page do not.
    """
    return _by_stratum(items) == _by_stratum(labels.items)


def _by_stratum(items: Sequence[DrawnItem]) -> Mapping[str, list[str]]:
    ordered = sorted(items, key=attrgetter("stratum"))  # of a stratum, as they came
    return {
        name: [item.id for item in mine] for name, mine in groupby(ordered, attrgetter("stratum"))
    }


def _margins_hold(
    items: Sequence[DrawnItem], labels: RoundLabels, settings: RoundSettings, seed: int
) -> bool:
    """Whether the intervals of the window, by these items alone, are within the margins."""
    margins = settings.sample.margin.wanted()
    part = replace(labels, items=tuple(items))
    counts = Tally(tuple(part.counts())).counts
    if not shows_both_answers(counts.size, counts.labeled, counts.positive, counts.is_flagged):
        return False
    found = estimates(
        counts,
        metrics=tuple(margins),
        estimands=("window",),
        seed=seed,
        cells=settings.sample.cells is not None,
    )
    return all(
        row.low is not None
        and row.high is not None
        and row.high - row.low <= 2 * margins[row.metric]
        for row in found
    )
