"""Pooling histories anew from their first round: many at once, and only how each ends.

Where strata are score cells, each round pools all earlier ones counted for its own sizes, so no
round can go on from what another one pooled. All of them go through the rounds together instead:
the recursion of ``run_length`` takes as many histories at a time, and a step of it costs little
more for dozens than for one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from monitor.stats.history.change_point import PoolingStep, mixture_of
from monitor.stats.history.run_length import RunLength, advance, begin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Floats
    from monitor.stats.core.beta_mixture import BetaMixture
    from monitor.stats.history.run_length import Run


AT_ONCE = 64
"""Histories that advance together: more need more memory and save nothing."""


class ClassHistory(NamedTuple):
    """Labels of one predicted class: of its T rounds, and of the reference.

    ``positive`` and ``labeled`` have the shape ``(T, H)``, T being 1 or more, those
    for the reference ``(H,)``: zeros without one.
    """

    positive: Floats
    labeled: Floats
    reference_positive: Floats
    reference_labeled: Floats

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return len(self.labeled)

    def pattern(self, rounds: int) -> list[bool]:
        """Whether the reference and each of the first rounds has a label."""
        counted = [self.reference_labeled, *self.labeled[:rounds]]
        return [bool(labeled.any()) for labeled in counted]


@dataclass(frozen=True, slots=True, eq=False)
class LastStep:
    """Distribution of a class's rates before its last round, without its labels, and with them."""

    before: BetaMixture
    step: PoolingStep


def last_steps(histories: Sequence[ClassHistory], settings: RunLength) -> list[LastStep]:
    """Pool each history and return its last step, as ``change_point.pooling_steps`` gives it.

    All have the same number of strata; their numbers of rounds may differ.
    """
    steps: dict[int, LastStep] = {}
    waiting = sorted(range(len(histories)), key=lambda i: histories[i].rounds)
    while waiting:
        base = histories[waiting[-1]]
        # A round without labels takes no step; those who take the same steps go together.
        together = [i for i in waiting if _is_like(histories[i], base)][-AT_ONCE:]
        ends = _pooled([histories[i] for i in reversed(together)], settings)
        steps |= zip(reversed(together), ends, strict=True)
        waiting = [i for i in waiting if i not in steps]
    return [steps[i] for i in range(len(histories))]


def _is_like(history: ClassHistory, base: ClassHistory) -> bool:
    return history.pattern(history.rounds) == base.pattern(history.rounds)


def _pooled(histories: Sequence[ClassHistory], settings: RunLength) -> list[LastStep]:
    """Pool histories of one pattern, the longest first."""
    longest = histories[0]
    run = begin(
        np.stack([each.reference_positive for each in histories]),
        np.stack([each.reference_labeled for each in histories]),
    )
    positive, labeled = _by_round(histories)
    ended: list[LastStep] = []
    for t in range(1, longest.rounds + 1):
        going = len(histories) - len(ended)
        run = before = _first(run, going)
        if longest.labeled[t - 1].any():
            run = advance(run, positive[t - 1, :going], labeled[t - 1, :going], t, settings)
        for i in reversed(range(going)):
            if histories[i].rounds > t:
                break
            now = PoolingStep(mixture_of(run, i), run.started[i])
            ended.append(LastStep(mixture_of(before, i), now))
    return ended[::-1]


def _by_round(histories: Sequence[ClassHistory]) -> tuple[Floats, Floats]:
    """Positive and labeled of each round and history, shape ``(T, histories, H)``; then zeros."""
    rounds, strata = histories[0].labeled.shape
    both = np.zeros((2, rounds, len(histories), strata))
    for i, each in enumerate(histories):
        both[:, : each.rounds, i] = each.positive, each.labeled
    return both[0], both[1]


def _first(run: Run, count: int) -> Run:
    """Keep the first of the histories that a run is about."""
    if len(run.log_weight) == count:
        return run
    return replace(
        run,
        log_weight=run.log_weight[:count],
        alpha=run.alpha[:count],
        beta=run.beta[:count],
        started=run.started[:count],
        history_alpha=run.history_alpha[:count],
        history_beta=run.history_beta[:count],
    )
