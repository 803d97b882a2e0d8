r"""Carrying earlier rounds forward: a Beta run-length mixture for one predicted class.

Bayesian online change point detection (Adams & MacKay 2007, arXiv:0710.3742, Algorithm 1) with Beta
rates. Instead of starting from nothing after a change, a component restarts from the history's
mean, worth at most ``restart`` of its rarer answer. All strata of the class share one run length.

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
    keep: int

    def __post_init__(self) -> None:
        if not 0 < self.hazard < 1:
            message = f"hazard must lie strictly between 0 and 1, got {self.hazard!r}"
            raise ValueError(message)
        if not (self.restart > 0 and math.isfinite(self.restart)):
            message = f"restart must be a positive count, got {self.restart!r}"
            raise ValueError(message)
        if self.keep < 1:
            message = f"keep must be at least 1 component, got {self.keep!r}"
            raise ValueError(message)


def carry(
    rounds: Sequence[ClassCounts],
    *,
    reference: ClassCounts | None = None,
    hazard: float = 0.35,
    restart: float = 3.0,
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
    [0.452]
    """
    steps = carry_steps(rounds, reference=reference, hazard=hazard, restart=restart, keep=keep)
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
    hazard: float = 0.35,
    restart: float = 3.0,
    keep: int = 50,
) -> tuple[CarryStep, ...]:
    r"""Carry round by round: one step per round given.

    With :math:`a_0 = 1/(2H)` and :math:`A_{th}, B_{th}` the prior plus all positives and
    negatives before round t, component 0 starts at :math:`(A_1, B_1)` and component t at

    .. math:: \varphi_h (A_{th}, B_{th}), \quad
        \varphi_h = \min\{1, c / \min(A_{th}, B_{th})\}.

    In round t every old log weight gains :math:`\ln(1-\mathrm{hazard})`, component t enters with
    :math:`\ln\mathrm{hazard}`, each gains :math:`\sum_h \ln B(a+y, b+n-y) - \ln B(a, b)`, the
    weights are normalised and :math:`(a, b) \leftarrow (a+y, b+n-y)`. A stratum without labels
    adds nothing. Before the first label there is nothing to have changed from, so without a
    reference the first round has component 0 only. A round without any label in the class takes
    no step: it repeats the step before it, with ``log_predictive`` 0.

    Parameters and errors are those of :func:`carry`.

    Examples
    --------
    >>> steps = carry_steps([([80], [100]), ([40], [100])])
    >>> print(steps[-1].started, steps[-1].mixture.weight.round(4))
    [0 2] [0. 1.]
    """
    settings = _Settings(hazard=hazard, restart=restart, keep=keep)
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


def restart_scale(alpha: ArrayLike, beta: ArrayLike, restart: float) -> Floats:
    r"""Share of the history kept at a change, :math:`\varphi = \min\{1, c/\min(A, B)\}`.

    Examples
    --------
    >>> print(restart_scale([243.0], [65.0], restart=5).round(4))
    [0.0769]
    """
    rarer = np.minimum(np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64))
    return np.minimum(1.0, restart / rarer)


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
    """Let "changed just before round t" in beside the old components."""
    scale = restart_scale(run.history_alpha, run.history_beta, settings.restart)
    return _Run(
        log_weight=np.append(
            run.log_weight + math.log1p(-settings.hazard), math.log(settings.hazard)
        ),
        alpha=np.vstack([run.alpha, scale * run.history_alpha]),
        beta=np.vstack([run.beta, scale * run.history_beta]),
        started=np.append(run.started, t),
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
