"""What is known of the strata before and after each round, from one pass over a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.rounds.estimation.pooled_labels import labels_to_pool
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import JointPosterior
from monitor.stats.history.change_point import pooling_steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monitor.domain.model import Stratum
    from monitor.domain.settings import Pooling
    from monitor.rounds.estimation.pooled_labels import PooledLabels
    from monitor.rounds.estimation.tally import Tally
    from monitor.stats.history.change_point import PoolingStep

CLASSES = {"flagged": True, "passed": False}


@dataclass(frozen=True, slots=True)
class HistoryState:
    """What is known before the labels of a round (None: nothing), and with them.

    ``now`` are those labels as they were taken in, and ``steps`` has, by predicted class, how; the
    round is the ``place``-th of its history, from 1.
    """

    before: JointPosterior | None
    after: JointPosterior
    steps: Mapping[str, PoolingStep]
    place: int
    now: PooledLabels


def history_states(
    rounds: Sequence[Tally],
    reference: Mapping[str, tuple[int, int]] | None,
    settings: Pooling,
    *,
    cells: bool = False,
    since: int = 0,
) -> list[HistoryState]:
    """Pooling a history round by round; one `HistoryState` for each.

    Parameters
    ----------
    rounds
        The rounds of a history in slot order, one or more, all with the same strata.
    reference
        Positive and labeled per stratum from before launch, or None.
    settings
        How they are pooled.
    cells
        Whether strata are score cells; earlier rounds are then counted anew for the sizes of each
        round, which takes a pass for each.
    since
        How many of the first rounds are left out of what is returned.
    """
    if not cells:
        return _one_pass(rounds, reference, settings, cells=False)[since:]
    return [
        _one_pass(rounds[:place], reference, settings, cells=True)[-1]
        for place in range(since + 1, len(rounds) + 1)
    ]


def _one_pass(
    rounds: Sequence[Tally],
    reference: Mapping[str, tuple[int, int]] | None,
    settings: Pooling,
    *,
    cells: bool,
) -> list[HistoryState]:
    """Give the states of all rounds, for the sizes of the last one."""
    sizes = rounds[-1].counts.size
    before_launch = [] if reference is None else [reference_counts(rounds[0].frame, reference)]
    counted = labels_to_pool(
        [*before_launch, *(tally.counts for tally in rounds)], sizes, cells=cells
    )
    known, labels = counted[: len(before_launch)], counted[len(before_launch) :]
    before = known[0].posterior() if known else None
    taken = {name: _steps(labels, known, settings, flagged=up) for name, up in CLASSES.items()}
    states: list[HistoryState] = []
    for place, steps in enumerate(zip(*taken.values(), strict=True), start=1):
        after = JointPosterior(*(step.mixture for step in steps))
        by_class = dict(zip(taken, steps, strict=True))
        states.append(HistoryState(before, after, by_class, place, labels[place - 1]))
        before = after
    return states


def pooled_before(
    earlier: Sequence[Tally],
    strata: Sequence[Stratum],
    reference: Mapping[str, tuple[int, int]] | None,
    settings: Pooling,
) -> JointPosterior | None:
    """Pool what is known of bands before a round is labeled; None where nothing is."""
    if earlier:
        return history_states(earlier, reference, settings)[-1].after
    if reference is None:
        return None
    counted = reference_counts(strata, reference)
    return labels_to_pool([counted], counted.size, cells=False)[0].posterior()


def reference_counts(strata: Sequence[Stratum], reference: Mapping[str, tuple[int, int]]) -> Counts:
    """Count what was labeled before launch, for these strata."""
    pairs = [reference.get(stratum.name, (0, 0)) for stratum in strata]
    return Counts.of_arrays(
        size=[labeled for _, labeled in pairs],
        labeled=[labeled for _, labeled in pairs],
        positive=[positive for positive, _ in pairs],
        is_flagged=[stratum.flagged for stratum in strata],
    )


def _steps(
    rounds: Sequence[PooledLabels],
    reference: Sequence[PooledLabels],
    settings: Pooling,
    *,
    flagged: bool,
) -> tuple[PoolingStep, ...]:
    return pooling_steps(
        [labels.of_class(flagged=flagged) for labels in rounds],
        reference=reference[0].of_class(flagged=flagged) if reference else None,
        hazard=settings.hazard,
        restart=settings.restart,
    )
