r"""Carrying earlier rounds forward: a Beta run-length mixture for one predicted class.

Bayesian online change point detection (Adams & MacKay 2007, arXiv:0710.3742, Algorithm 1) with Beta
rates. Instead of starting from nothing after a change, a component restarts near the history's
mean, worth at most ``restart`` of its rarer answer. All strata of the class share one run length,
and a change moves the odds of all of them by one factor, of which a few are tried (``SHIFTS``):
a classifier that gets worse mostly does so in every band. A restart at the old mean alone
learns a large drop band by band, and with few labels a band it learns too slowly.

Nothing here is state: the mixture is recomputed from the stored counts each time, so late or
corrected labels only mean calling :func:`carry` again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import special

from monitor.stats.mixture import BetaMixture, prior_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]
    ClassCounts: TypeAlias = tuple[ArrayLike, ArrayLike]
    """Positive and labeled of each stratum of one class, shape ``(H,)`` each."""


SHIFTS: tuple[tuple[float, float], ...] = (
    (-1.2, 1.0),
    (-0.5, 1.5),
    (0.0, 2.0),
    (0.5, 1.5),
    (1.2, 1.0),
)
"""How a change may move the log odds of a class's strata, each with its weight: by a factor of
about 1.6 or 3.3 either way, or not at all."""

UNSHIFTED: tuple[tuple[float, float], ...] = ((0.0, 1.0),)
"""Every change restarts at the history's own mean."""


@dataclass(frozen=True, slots=True, eq=False)
class CarryStep:
    r"""What is known of the class after one round.

    Parameters
    ----------
    mixture
        The carried posterior, one component per round at which the last change may have been.
    started
        Round at which each component began, 1 for the first one given and 0 for "unchanged since
        the reference"; shape ``(J,)``, in the order of ``mixture.weight``.
    log_predictive
        Log probability the earlier rounds gave to this round's answers in the order they came,
        :math:`\ln\sum_j w_j \prod_h B(a_{jh}+y_h, b_{jh}+n_h-y_h) / B(a_{jh}, b_{jh})`;
        0 for a round without labels.
    """

    mixture: BetaMixture
    started: NDArray[np.int64]
    log_predictive: float


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """Components ``(J,)`` and ``(J, H)`` before a round, and the pooled history ``(H,)``."""

    log_weight: Floats
    alpha: Floats
    beta: Floats
    started: NDArray[np.int64]
    history_alpha: Floats
    history_beta: Floats
    is_informed: bool  # a label was seen, so a change since then can be told


@dataclass(frozen=True, slots=True)
class _Settings:
    hazard: float
    restart: float
    shifts: tuple[tuple[float, float], ...]
    keep: int

    def __post_init__(self) -> None:
        if not 0 < self.hazard < 1:
            message = f"hazard must lie strictly between 0 and 1, got {self.hazard!r}"
            raise ValueError(message)
        if not (self.restart > 0 and math.isfinite(self.restart)):
            message = f"restart must be a positive count, got {self.restart!r}"
            raise ValueError(message)
        if not self.shifts or not all(
            math.isfinite(shift) and weight > 0 for shift, weight in self.shifts
        ):
            message = f"shifts are (finite log odds, positive weight), got {self.shifts!r}"
            raise ValueError(message)
        if self.keep < 1:
            message = f"keep must be at least 1 component, got {self.keep!r}"
            raise ValueError(message)


def carry(
    rounds: Sequence[ClassCounts],
    *,
    reference: ClassCounts | None = None,
    hazard: float = 0.5,
    restart: float = 3.0,
    shifts: Sequence[tuple[float, float]] = SHIFTS,
    keep: int = 50,
) -> BetaMixture:
    r"""Posterior of a class's rates given its reference and all its rounds.

    The last of :func:`carry_steps`, where the recursion is written down; with no rounds, the
    reference alone.

    Parameters
    ----------
    rounds
        Positive and labeled per stratum, shapes ``(H,)``, one pair per round in slot order.
        Skipped and abandoned rounds are left out.
    reference
        The same from before launch, per stratum, or None. Four counts are a reference only for a
        class with one stratum: spread evenly over score bands they mislead.
    hazard
        Prior probability that the rates changed just before a round, in (0, 1).
    restart
        What the history is worth after a change: the count of its rarer answer, per stratum.
    shifts
        What a change may add to the log odds of every stratum, each with its weight.
    keep
        Most components kept after a round; the lightest are dropped.

    Returns
    -------
    BetaMixture
        At most ``keep`` components over ``H`` strata.

    Raises
    ------
    ValueError
        If there is neither a round nor a reference, if rounds disagree on the strata, if not
        ``0 <= positive <= labeled``, or if a setting is out of range.

    Examples
    --------
    >>> steady = [([81], [100]), ([79], [100]), ([80], [100])]
    >>> print(carry(steady).mean().round(3))
    [0.799]
    >>> print(carry([*steady, ([40], [100])]).mean().round(3))  # a drop: the past counts little
    [0.415]
    """
    steps = carry_steps(
        rounds, reference=reference, hazard=hazard, restart=restart, shifts=shifts, keep=keep
    )
    if steps:
        return steps[-1].mixture
    if reference is None:
        message = "nothing to carry: give at least one round or a reference"
        raise ValueError(message)
    return _mixture(_begin(*_checked(reference, "reference")))


def carry_steps(
    rounds: Sequence[ClassCounts],
    *,
    reference: ClassCounts | None = None,
    hazard: float = 0.5,
    restart: float = 3.0,
    shifts: Sequence[tuple[float, float]] = SHIFTS,
    keep: int = 50,
) -> tuple[CarryStep, ...]:
    r"""Carry round by round: one step per round given.

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
    no step: it repeats the step before it, with ``log_predictive`` 0.

    Parameters and errors are those of :func:`carry`.

    Examples
    --------
    >>> steps = carry_steps([([80], [100]), ([40], [100])], shifts=UNSHIFTED)
    >>> print(steps[-1].started, steps[-1].mixture.weight.round(4))
    [0 2] [0. 1.]
    """
    settings = _Settings(hazard=hazard, restart=restart, shifts=tuple(shifts), keep=keep)
    labels = [_checked(pair, f"round {t}") for t, pair in enumerate(rounds, start=1)]
    if not labels:
        return ()
    strata = labels[0][0].size
    nothing = np.zeros(strata)
    run = _begin(*((nothing, nothing) if reference is None else _checked(reference, "reference")))
    steps: list[CarryStep] = []
    for t, (positive, labeled) in enumerate(labels, start=1):
        if positive.size != run.history_alpha.size:
            message = (
                f"round {t} has {positive.size} strata where {run.history_alpha.size} were "
                "expected; other strata are another history"
            )
            raise ValueError(message)
        log_predictive = 0.0
        if labeled.any():
            entered = _enter(run, t, settings) if run.is_informed else run
            run, log_predictive = _learn(entered, positive, labeled, settings.keep)
        steps.append(CarryStep(_mixture(run), run.started, log_predictive))
    return tuple(steps)


def restarted(
    alpha: ArrayLike, beta: ArrayLike, restart: float, shift: float = 0.0
) -> tuple[Floats, Floats]:
    r"""Beta parameters after a change, near the mean of the history A, B.

    Without a shift this is :math:`\varphi(A, B)` with :math:`\varphi = \min\{1, c/\min(A, B)\}`.

    Examples
    --------
    >>> alpha, beta = restarted([243.0], [65.0], restart=5)
    >>> print(alpha.round(4), beta.round(4))
    [18.6923] [5.]
    """
    a, b = np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    odds = (a / b) * math.exp(shift)
    mean = odds / (1 + odds)
    worth = np.minimum(a + b, restart / np.minimum(mean, 1 - mean))
    return worth * mean, worth * (1 - mean)


def log_beta_binomial(
    positive: ArrayLike, labeled: ArrayLike, alpha: ArrayLike, beta: ArrayLike
) -> Floats:
    r"""Log probability of answers in a given order, :math:`\ln B(a+y, b+n-y) - \ln B(a, b)`.

    The binomial coefficient is left out: it is the same for every component. Broadcasts.

    Examples
    --------
    >>> round(float(log_beta_binomial(240, 307, 12.5, 3.5)), 6)
    -162.600207
    """
    y, n = np.asarray(positive, dtype=np.float64), np.asarray(labeled, dtype=np.float64)
    a, b = np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    return np.asarray(special.betaln(a + y, b + n - y) - special.betaln(a, b))


def _begin(positive: Floats, labeled: Floats) -> _Run:
    """Component 0 alone: the prior and the reference."""
    prior = prior_count(positive.size)
    alpha, beta = prior + positive, prior + labeled - positive
    return _Run(
        log_weight=np.zeros(1),
        alpha=alpha[np.newaxis],
        beta=beta[np.newaxis],
        started=np.zeros(1, dtype=np.int64),
        history_alpha=alpha,
        history_beta=beta,
        is_informed=bool(labeled.any()),
    )


def _enter(run: _Run, t: int, settings: _Settings) -> _Run:
    """Let "changed just before round t" in beside the old components, once per shift."""
    new = [
        restarted(run.history_alpha, run.history_beta, settings.restart, shift)
        for shift, _ in settings.shifts
    ]
    weight = np.array([weight for _, weight in settings.shifts])
    return _Run(
        log_weight=np.append(
            run.log_weight + math.log1p(-settings.hazard),
            math.log(settings.hazard) + np.log(weight / weight.sum()),
        ),
        alpha=np.vstack([run.alpha, *(alpha for alpha, _ in new)]),
        beta=np.vstack([run.beta, *(beta for _, beta in new)]),
        started=np.append(run.started, np.full(len(new), t)),
        history_alpha=run.history_alpha,
        history_beta=run.history_beta,
        is_informed=True,
    )


def _learn(run: _Run, positive: Floats, labeled: Floats, keep: int) -> tuple[_Run, float]:
    """Weigh each component by what it foresaw, add the labels, keep the heaviest."""
    negative = labeled - positive
    foreseen = log_beta_binomial(positive, labeled, run.alpha, run.beta).sum(axis=1)
    log_weight = run.log_weight + foreseen
    log_predictive = float(special.logsumexp(log_weight))
    kept = np.sort(np.argsort(-log_weight, kind="stable")[:keep])
    learned = _Run(
        log_weight=log_weight[kept] - special.logsumexp(log_weight[kept]),
        alpha=run.alpha[kept] + positive,
        beta=run.beta[kept] + negative,
        started=run.started[kept],
        history_alpha=run.history_alpha + positive,
        history_beta=run.history_beta + negative,
        is_informed=True,
    )
    return learned, log_predictive


def _mixture(run: _Run) -> BetaMixture:
    weight = np.exp(run.log_weight)
    return BetaMixture(weight=weight / weight.sum(), alpha=run.alpha, beta=run.beta)


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
