r"""When did a class last change? The recursion behind ``change_point``, for many histories at once.

Bayesian online change point detection (Adams & MacKay 2007, arXiv:0710.3742, Algorithm 1) with Beta
rates. Every array may have leading axes ``(...)``, one entry per history: a simulation advances
all its replicates together, the product has none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from monitor.stats.core.beta_mixture import prior_count
from monitor.stats.core.levels import check_probability

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from monitor.stats.core.arrays import Floats, Ints


SHIFTS: tuple[tuple[float, float], ...] = (
    (-1.2, 1.0),
    (-0.5, 1.5),
    (0.0, 2.0),
    (0.5, 1.5),
    (1.2, 1.0),
)
"""How a change may move the log odds of a class's strata, each with its weight: by a factor of
about 1.6 or 3.3 either way, or not at all."""

MOST_COMPONENTS = 50
"""Components kept after a round; the lightest are dropped."""


@dataclass(frozen=True, slots=True)
class RunLength:
    """What is thought of changes before any label is seen.

    Parameters
    ----------
    hazard
        Prior probability that the rates changed just before a round, in (0, 1).
    restart
        What the history is worth after a change: the count of its rarer answer, per stratum.
    shifts
        What a change may add to the log odds of every stratum, each with its weight.
    """

    hazard: float = 0.04
    restart: float = 3.0
    shifts: tuple[tuple[float, float], ...] = SHIFTS

    def __post_init__(self) -> None:
        check_probability(self.hazard, "hazard")
        if not (self.restart > 0 and math.isfinite(self.restart)):
            message = f"restart must be a positive count, got {self.restart!r}"
            raise ValueError(message)
        if not _are_shifts(self.shifts):
            message = f"shifts are (finite log odds, positive weight), got {self.shifts!r}"
            raise ValueError(message)


def _are_shifts(shifts: tuple[tuple[float, float], ...]) -> bool:
    return bool(shifts) and all(math.isfinite(shift) and weight > 0 for shift, weight in shifts)


USUAL = RunLength()
"""Settings that pooling has unless others are given."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Components over the last change of a class, and its whole history.

    Weights are normalised, shape ``(..., J)``, Beta parameters ``(..., J, H)``; ``started`` is the
    round at which each component began, 0 for "unchanged since the reference", ``(..., J)``. The
    history is the prior plus every label so far, ``(..., H)``. ``is_informed`` is whether a label
    was seen, so that a change since then can be recognised.
    """

    log_weight: Floats
    alpha: Floats
    beta: Floats
    started: Ints
    history_alpha: Floats
    history_beta: Floats
    is_informed: bool

    @property
    def weight(self) -> Floats:
        """Component weights, shape ``(..., J)``, summing to 1."""
        weight = np.exp(self.log_weight)
        return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def begin(positive: ArrayLike, labeled: ArrayLike) -> Run:
    """Component 0 alone: the prior and the reference, counts of shape ``(..., H)``."""
    y, n = np.asarray(positive, dtype=np.float64), np.asarray(labeled, dtype=np.float64)
    prior = prior_count(y.shape[-1])
    alpha, beta = prior + y, prior + n - y
    return Run(
        log_weight=np.zeros((*alpha.shape[:-1], 1)),
        alpha=alpha[..., np.newaxis, :],
        beta=beta[..., np.newaxis, :],
        started=np.zeros((*alpha.shape[:-1], 1), dtype=np.int64),
        history_alpha=alpha,
        history_beta=beta,
        is_informed=bool(n.any()),
    )


def advance(run: Run, positive: ArrayLike, labeled: ArrayLike, t: int, settings: RunLength) -> Run:
    """Take one round of labels in: let a change enter, weigh, add, keep the heaviest.

    Labels of round ``t``, counted from 1, have the shape ``(..., H)``, one or more in some stratum.
    """
    y, n = np.asarray(positive, dtype=np.float64), np.asarray(labeled, dtype=np.float64)
    return _learn(_enter(run, t, settings) if run.is_informed else run, y, n)


def restarted(
    alpha: ArrayLike, beta: ArrayLike, restart: float, shift: ArrayLike = 0.0
) -> tuple[Floats, Floats]:
    r"""Beta parameters after a change, near the mean of the history A, B; broadcasts.

    Without a shift this is :math:`\varphi(A, B)` with :math:`\varphi = \min\{1, c/\min(A, B)\}`.
    """
    a, b = np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    odds = (a / b) * np.exp(shift)
    mean = odds / (1 + odds)
    # A restart never claims more labels than the history has.
    worth = np.minimum(a + b, restart / np.minimum(mean, 1 - mean))
    return worth * mean, worth * (1 - mean)


def log_beta_binomial(
    positive: ArrayLike, labeled: ArrayLike, alpha: ArrayLike, beta: ArrayLike
) -> Floats:
    r"""Log probability of answers in a given order, :math:`\ln B(a+y, b+n-y) - \ln B(a, b)`.

    The binomial coefficient is left out: it is the same for every component. Broadcasts.
    """
    y, n = np.asarray(positive, dtype=np.float64), np.asarray(labeled, dtype=np.float64)
    a, b = np.asarray(alpha, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    return np.asarray(special.betaln(a + y, b + n - y) - special.betaln(a, b))


def _enter(run: Run, t: int, settings: RunLength) -> Run:
    """Let "changed just before round t" in beside the old components, once per shift."""
    shift, entering = _entering(settings)
    alpha, beta = restarted(
        run.history_alpha[..., np.newaxis, :],
        run.history_beta[..., np.newaxis, :],
        settings.restart,
        shift[:, np.newaxis],
    )
    shape = (*run.log_weight.shape[:-1], len(shift))
    return replace(
        run,
        log_weight=np.concatenate(
            [run.log_weight + math.log1p(-settings.hazard), np.broadcast_to(entering, shape)],
            axis=-1,
        ),
        alpha=np.concatenate([run.alpha, alpha], axis=-2),
        beta=np.concatenate([run.beta, beta], axis=-2),
        started=np.concatenate([run.started, np.full(shape, t)], axis=-1),
    )


@lru_cache
def _entering(settings: RunLength) -> tuple[Floats, Floats]:
    """Shifts of the components that enter in a round, and their log weights."""
    shift, share = np.array(settings.shifts).T
    return shift, math.log(settings.hazard) + np.log(share / share.sum())


def _learn(run: Run, positive: Floats, labeled: Floats) -> Run:
    """Weigh each component by what it foresaw, add the labels, keep the heaviest."""
    y, n = positive[..., np.newaxis, :], labeled[..., np.newaxis, :]
    log_weight = run.log_weight + log_beta_binomial(y, n, run.alpha, run.beta).sum(axis=-1)
    alpha, beta, started = run.alpha + y, run.beta + n - y, run.started
    if log_weight.shape[-1] > MOST_COMPONENTS:
        # A round adds a component per shift; without an end a long history would cost ever more.
        heaviest = np.argsort(-log_weight, axis=-1, kind="stable")[..., :MOST_COMPONENTS]
        chosen = _positions(np.sort(heaviest, axis=-1))  # back in the order in which they began
        log_weight, started = log_weight[chosen], started[chosen]
        alpha, beta = alpha[chosen], beta[chosen]
    return Run(
        log_weight=log_weight - _log_sum(log_weight)[..., np.newaxis],
        alpha=alpha,
        beta=beta,
        started=started,
        history_alpha=run.history_alpha + positive,
        history_beta=run.history_beta + labeled - positive,
        is_informed=True,
    )


def _positions(components: NDArray[np.intp]) -> tuple[NDArray[np.intp], ...]:
    """Index components ``(..., keep)``, as `take_along_axis` does for each array."""
    axes = range(1, components.ndim)
    leading = zip(axes, components.shape, strict=False)
    return (
        *(np.arange(n).reshape(n, *[1] * (components.ndim - i)) for i, n in leading),
        components,
    )


def _log_sum(log_weight: Floats) -> Floats:
    """Log of the sum of weights over the last axis; scipy's takes five times as long."""
    largest = log_weight.max(axis=-1, keepdims=True)
    total = np.exp(log_weight - largest).sum(axis=-1)
    return np.asarray(np.log(total) + largest[..., 0])
