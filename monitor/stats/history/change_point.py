r"""Carrying earlier rounds forward: a Beta run-length mixture for one predicted class.

Bayesian online change point detection (Adams & MacKay 2007, arXiv:0710.3742, Algorithm 1) with Beta
rates. Instead of starting from nothing after a change, a component restarts near the history's
mean, worth at most ``restart`` of its rarer answer. All strata of the class share one run length,
and a change moves the odds of all of them by one factor, of which a few are tried (``SHIFTS``):
a classifier that gets worse mostly does so in every band. A restart at the old mean alone
learns a large drop band by band, and with few labels a band it learns too slowly.

A pooled posterior that people see keeps a share of its weight for the newest round alone besides:
that is ``robust_mixture``.

Nothing here is state: the mixture is recomputed from the stored counts each time, so late or
corrected labels only mean calling :func:`pool` again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from monitor.stats.core.beta_mixture import BetaMixture
from monitor.stats.history.run_length import USUAL, RunLength, advance, begin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats, Ints
    from monitor.stats.history.run_length import Run

    ClassCounts: TypeAlias = tuple[ArrayLike, ArrayLike]
    """Positive and labeled of each stratum of one class, shape ``(H,)`` each."""


@dataclass(frozen=True, slots=True, eq=False)
class PoolingStep:
    """Distribution of the class's rates after one round.

    The pooled posterior has one component per round at which the last change may have been, and
    ``started`` is the round at which each began, 1 for the first one given and 0 for "unchanged
    since the reference"; shape ``(J,)``.
    """

    mixture: BetaMixture
    started: Ints

    def most_likely_start(self) -> int:
        """Round at which the class most probably changed last; 0 if it did not.

        Examples
        --------
        >>> pooling_steps([([80], [100]), ([79], [100]), ([40], [100])])[-1].most_likely_start()
        3
        """
        weight = np.bincount(self.started, weights=self.mixture.weight)
        return int(weight.argmax())


def pool(
    rounds: Sequence[ClassCounts],
    *,
    reference: ClassCounts | None = None,
    settings: RunLength = USUAL,
) -> BetaMixture:
    """Posterior of a class's rates given its reference and all its rounds.

    The last of :func:`pooling_steps`, where the recursion is written down; with no rounds, the
    reference alone. At most ``run_length.MOST_COMPONENTS`` components over H strata.

    Parameters
    ----------
    rounds
        Positive and labeled per stratum, shapes ``(H,)``, one pair per round in slot order.
        Skipped and abandoned rounds are left out.
    reference
        The same from before launch, per stratum, or None. Four counts are a reference only for a
        class with one stratum: spread evenly over score bands they mislead.
    settings
        What is thought of changes before any label is seen.

    Raises
    ------
    ValueError
        If there is neither a round nor a reference, if rounds disagree on the strata, or if not
        ``0 <= positive <= labeled``.

    Examples
    --------
    >>> steady = [([81], [100]), ([79], [100]), ([80], [100])]
    >>> print(pool(steady).mean().round(3))
    [0.799]
    >>> print(pool([*steady, ([40], [100])]).mean().round(3))  # a drop: the past counts little
    [0.415]
    """
    steps = pooling_steps(rounds, reference=reference, settings=settings)
    if steps:
        return steps[-1].mixture
    if reference is None:
        message = "nothing to pool: give at least one round or a reference"
        raise ValueError(message)
    return mixture_of(begin(*_checked(reference, "reference")))


def pooling_steps(
    rounds: Sequence[ClassCounts],
    *,
    reference: ClassCounts | None = None,
    settings: RunLength = USUAL,
    since: int = 0,
) -> tuple[PoolingStep, ...]:
    r"""Pool round by round: one step per round given.

    With :math:`a_0 = 1/(2H)` and :math:`A_{th}, B_{th}` the prior plus all positives and
    negatives before round t, component 0 starts at :math:`(A_1, B_1)`. In round t one component
    enters for each shift :math:`\delta` of weight :math:`u_\delta`, at the shifted mean
    :math:`m_h` and worth at most c of its rarer answer:

    .. math:: \operatorname{logit} m_h = \operatorname{logit}\frac{A_{th}}{A_{th}+B_{th}} + \delta,
        \quad (s_h m_h, s_h (1-m_h)),
        \quad s_h = \min\Big\{A_{th}+B_{th}, \frac{c}{\min(m_h, 1-m_h)}\Big\}.

    Every old log weight gains :math:`\ln(1-\mathrm{hazard})`, the new ones enter with
    :math:`\ln(\mathrm{hazard}\,u_\delta/\sum u)`, each gains
    :math:`\sum_h \ln B(a+y, b+n-y) - \ln B(a, b)`, the weights are normalised and
    :math:`(a, b) \leftarrow (a+y, b+n-y)`. A stratum without labels
    adds nothing. Before the first label there is nothing to have changed from, so without a
    reference the first round has component 0 only. A round without any label in the class takes
    no step: it repeats the step before it.

    Parameters and errors are as in :func:`pool`; ``since`` is how many of the first steps are
    left out of what is returned.

    Examples
    --------
    >>> unshifted = RunLength(shifts=((0.0, 1.0),))
    >>> steps = pooling_steps([([80], [100]), ([40], [100])], settings=unshifted)
    >>> print(steps[-1].started, steps[-1].mixture.weight.round(4))
    [0 2] [1.000e-04 9.999e-01]
    """
    labels = [_checked(pair, f"round {t}") for t, pair in enumerate(rounds, start=1)]
    if not labels:
        return ()
    strata = labels[0][0].size
    nothing = np.zeros(strata)
    run = begin(*((nothing, nothing) if reference is None else _checked(reference, "reference")))
    steps: list[PoolingStep] = []
    for t, (positive, labeled) in enumerate(labels, start=1):
        if positive.size != run.history_alpha.size:
            message = (
                f"round {t} has {positive.size} strata where {run.history_alpha.size} were "
                "expected; other strata are another history"
            )
            raise ValueError(message)
        # Without labels no step: each one lets a change enter, which nothing could weigh against.
        if labeled.any():
            run = advance(run, positive, labeled, t, settings)
        if t > since:
            steps.append(PoolingStep(mixture_of(run), run.started))
    return tuple(steps)


def mixture_of(run: Run, i: int | EllipsisType = ...) -> BetaMixture:
    """Make a mixture of a run: of the i-th of its histories, where it is about several."""
    return BetaMixture(weight=run.weight[i], alpha=run.alpha[i], beta=run.beta[i])


def _checked(pair: ClassCounts, where: str) -> tuple[Floats, Floats]:
    """Positive and labeled as float arrays ``(H,)``; ``where`` names the pair in errors."""
    positive, labeled = (np.asarray(part, dtype=np.float64) for part in pair)
    if positive.ndim != 1 or positive.shape != labeled.shape or positive.size == 0:
        message = (
            f"{where}: positive {positive.shape} and labeled {labeled.shape} must both have the "
            "shape (H,), one entry per stratum"
        )
        raise ValueError(message)
    if not np.all((positive >= 0) & (positive <= labeled) & np.isfinite(labeled)):
        message = (
            f"{where}: needs 0 <= positive <= labeled in every stratum, got "
            f"positive={positive.tolist()}, labeled={labeled.tolist()}"
        )
        raise ValueError(message)
    return positive, labeled


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
    """Pool each history and return its last step, as :func:`pooling_steps` gives it.

    Where strata are score cells, each round pools all earlier ones counted for its own sizes, so no
    round can go on from what another one pooled. All of them go through the rounds together
    instead: the recursion of ``run_length`` takes as many histories at a time, and a step of it
    costs little more for dozens than for one. All have the same number of strata; their numbers of
    rounds may differ.
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
