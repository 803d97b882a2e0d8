"""What is known of the strata before and after each round, from one pass over a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import JointPosterior
from monitor.stats.history.change_point import pool, pooling_steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from monitor.domain.model import Stratum
    from monitor.domain.settings import Pooling
    from monitor.rounds.estimation.tally import Tally
    from monitor.stats.history.change_point import PoolingStep

CLASSES = {"flagged": True, "passed": False}


@dataclass(frozen=True, slots=True)
class HistoryState:
    """What is known before the labels of a round (None: nothing), and with them.

    ``steps`` has, by predicted class, how the labels were taken in; the round is the ``place``-th
    of its history, from 1.
    """

    before: JointPosterior | None
    after: JointPosterior
    steps: Mapping[str, PoolingStep]
    place: int


def history_states(
    rounds: Sequence[Tally], reference: Mapping[str, tuple[int, int]] | None, settings: Pooling
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
    """
    before = pooled_before([], rounds[0].frame, reference, settings)
    counted = None if reference is None else reference_counts(rounds[0].frame, reference)
    taken = {name: _steps(rounds, counted, settings, flagged=up) for name, up in CLASSES.items()}
    states: list[HistoryState] = []
    for place, steps in enumerate(zip(*taken.values(), strict=True), start=1):
        after = JointPosterior(*(step.mixture for step in steps))
        states.append(HistoryState(before, after, dict(zip(taken, steps, strict=True)), place))
        before = after
    return states


def pooled_before(
    earlier: Sequence[Tally],
    strata: Sequence[Stratum],
    reference: Mapping[str, tuple[int, int]] | None,
    settings: Pooling,
) -> JointPosterior | None:
    """Pool what is known of the strata before a round is labeled; None where nothing is."""
    if earlier:
        return history_states(earlier, reference, settings)[-1].after
    if reference is None:
        return None
    counted = reference_counts(strata, reference)
    return JointPosterior(
        *(
            pool(
                [],
                reference=of_class(counted, flagged=up),
                hazard=settings.hazard,
                restart=settings.restart,
            )
            for up in CLASSES.values()
        )
    )


def reference_counts(strata: Sequence[Stratum], reference: Mapping[str, tuple[int, int]]) -> Counts:
    """Count what was labeled before launch, for these strata."""
    pairs = [reference.get(stratum.name, (0, 0)) for stratum in strata]
    return Counts.of_arrays(
        size=[labeled for _, labeled in pairs],
        labeled=[labeled for _, labeled in pairs],
        positive=[positive for positive, _ in pairs],
        is_flagged=[stratum.flagged for stratum in strata],
    )


def of_class(counts: Counts, *, flagged: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positive and labeled of the strata of one class."""
    chosen = counts.is_flagged == flagged
    return counts.positive[chosen], counts.labeled[chosen]


def _steps(
    rounds: Sequence[Tally], reference: Counts | None, settings: Pooling, *, flagged: bool
) -> tuple[PoolingStep, ...]:
    return pooling_steps(
        [of_class(tally.counts, flagged=flagged) for tally in rounds],
        reference=None if reference is None else of_class(reference, flagged=flagged),
        hazard=settings.hazard,
        restart=settings.restart,
    )
