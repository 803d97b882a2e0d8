"""Distribution of the positive rates of one predicted class: a mixture of Beta products."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Floats


CERTAIN = 1e15
"""Labels that fix a rate to the last digit of a float."""


@dataclass(frozen=True, slots=True)
class BetaMixture:
    r"""The density :math:`\sum_j w_j \prod_h \mathrm{Beta}(\pi_h; \alpha_{jh}, \beta_{jh})`.

    The strata of a class share the component, so they move together; given the component they
    are independent. One component is the posterior of a single round. ``weight`` sums to 1, shape
    ``(J,)``; ``alpha`` and ``beta`` are positive, ``(J, H)``.
    """

    weight: Floats
    alpha: Floats
    beta: Floats

    def __post_init__(self) -> None:
        if self.alpha.shape != self.beta.shape or self.weight.shape != self.alpha.shape[:1]:
            message = (
                f"weight {self.weight.shape}, alpha {self.alpha.shape} and beta "
                f"{self.beta.shape} must have the shapes (J,), (J, H) and (J, H)"
            )
            raise ValueError(message)
        if not (np.all(self.alpha > 0) and np.all(self.beta > 0)):
            message = "every Beta parameter must be positive"
            raise ValueError(message)
        if abs(float(self.weight.sum()) - 1) > 1e-9:  # noqa: PLR2004
            message = f"component weights must sum to 1, got {float(self.weight.sum())!r}"
            raise ValueError(message)

    @classmethod
    def single(cls, alpha: Floats, beta: Floats) -> BetaMixture:
        """One component: independent Betas, shape ``(H,)`` each."""
        return cls(weight=np.ones(1), alpha=alpha[np.newaxis], beta=beta[np.newaxis])

    @property
    def strata(self) -> int:
        """How many strata the class has."""
        return int(self.alpha.shape[1])

    def mean(self) -> Floats:
        """Posterior mean of each stratum's rate, shape ``(H,)``."""
        return np.asarray(self.weight @ (self.alpha / (self.alpha + self.beta)))

    def label_variance(self) -> Floats:
        r"""Variance to expect of a label of each stratum, :math:`E[\pi(1-\pi)]`, ``(H,)``."""
        both = self.alpha + self.beta
        return np.asarray(self.weight @ (self.alpha * self.beta / (both * (both + 1))))

    def matched(self) -> tuple[Floats, Floats]:
        r"""Find the Beta with the mean and the label variance of each stratum, ``(H,)`` each.

        A Beta with mean m and :math:`E[\pi(1-\pi)] = v` has :math:`a + b = v / (m(1-m) - v)`.
        """
        mean, variance = self.mean(), self.label_variance()
        binary = mean * (1 - mean)
        both = variance / np.maximum(binary - variance, binary / CERTAIN)
        return mean * both, (1 - mean) * both


def prior_count(strata: int) -> float:
    """Prior count a = b = 1/(2H) of each of a class's H strata: Jeffreys' half, shared out."""
    return 1 / (2 * strata)


LIGHT, HEAVY = 0.1, 0.5  # found by simulation; 0.5 is Jeffreys' count, shared out by sqrt(H)


def round_priors(strata: int) -> Floats:
    r"""Prior counts of a round's two minds about the H strata of a class, shape ``(J,)``.

    One stratum has Jeffreys' half count, J = 1. With more, a band without one positive label
    does not show whether it is pure. So half of the draws take the light prior
    :math:`a = b = 0.1/H` in each stratum, as if such bands were, and half the heavy one
    :math:`0.5/\sqrt H`, as if they were not; the labels do not choose between the two. Found by
    simulation (``benchmarks/results/tried.txt``).
    """
    if strata == 1:
        return np.array([0.5])
    return np.array([LIGHT / strata, HEAVY / math.sqrt(strata)])
