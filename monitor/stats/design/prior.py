r"""Distribution of the strata's positive rates before a round is labeled, for planning it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from monitor.stats.core.beta_mixture import CERTAIN

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.core.draws import JointPosterior


Source = Literal["rates", "reference", "scores", "rounds", "cells", "history", "nothing"]

SCORE_WEIGHT = 100.0
"""How many labels a band's mean score is worth as knowledge of its rate. Enough to follow the
score; little enough that a band claimed to be pure keeps a rate of about 1/1000."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswersOfGroup:
    """Earlier answers of neighbouring cells, by which their rate may differ from the line's.

    ``cells`` are their places among the strata and ``labeled`` the labels of each, shape ``(G,)``,
    not all 0; ``positive`` the positive ones of all of them.
    """

    cells: Ints
    labeled: Floats
    positive: float


@dataclass(frozen=True, slots=True, eq=False)
class JointLogits:
    """Rates that are unsure together: log odds of ``mean + loadings @ z``, z standard normal.

    Means have the shape ``(H,)``, loadings on K sources of doubt, at most H, ``(H, K)``; ``groups``
    are cells whose own answers count besides (``assurance``).
    """

    mean: Floats
    loadings: Floats
    groups: tuple[AnswersOfGroup, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PriorRates:
    r"""Beta knowledge of each stratum's rate, flagged or passed in any order.

    The rate :math:`\pi_h \sim \mathrm{Beta}(a_h, b_h)`, ``alpha`` and ``beta``, shape ``(H,)``. Of
    the ``source``, ``cells`` are rounds labeled by score cells, and ``history`` are rounds of
    an earlier history, such as of another model version. ``scores`` may be wrong in ways
    that labels cannot be, and ``nothing`` predicts no margin, so plans treat these two with care.
    ``joint`` is how the rates vary together, for the draws of an assurance, where a line along the
    score gave them; None if each varies by its own Beta.
    """

    alpha: Floats
    beta: Floats
    source: Source
    joint: JointLogits | None = None

    def __post_init__(self) -> None:
        if self.alpha.ndim != 1 or self.alpha.shape != self.beta.shape:
            message = f"alpha {self.alpha.shape} and beta {self.beta.shape} must have shape (H,)"
            raise ValueError(message)
        both = np.concatenate([self.alpha, self.beta])
        if not np.all((both > 0) & np.isfinite(both)):
            message = "every Beta parameter must be a positive finite number"
            raise ValueError(message)

    @property
    def rate(self) -> Floats:
        """Expected rate of each stratum, shape ``(H,)``."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def label_variance(self) -> Floats:
        r"""Expected variance of one label, shape ``(H,)``.

        .. math:: v_h = E[\pi_h(1-\pi_h)] = \frac{ab}{(a+b)(a+b+1)}
        """
        both = self.alpha + self.beta
        return self.rate * self.beta / (both + 1)

    @classmethod
    def of_rates(cls, rates: ArrayLike) -> PriorRates:
        """Knowledge of the rates themselves, each strictly between 0 and 1."""
        pi = np.asarray(rates, dtype=np.float64)
        return cls(pi * CERTAIN, (1 - pi) * CERTAIN, "rates")

    @classmethod
    def of_reference(
        cls, *, tp: int, fp: int, fn: int, tn: int, is_flagged: ArrayLike
    ) -> PriorRates:
        """Knowledge from a pre-launch confusion matrix, spread evenly over a class's strata.

        Every band of a class gets the same rate, so labels go in proportion to size; the
        matrix does not tell how bands differ. Jeffreys' half count is added per class.

        Examples
        --------
        >>> known = PriorRates.of_reference(tp=138, fp=22, fn=108, tn=4732, is_flagged=[1, 0, 0])
        >>> known.alpha, known.beta
        (array([138.5 ,  54.25,  54.25]), array([  22.5 , 2366.25, 2366.25]))
        """
        if min(tp, fp, fn, tn) < 0:
            message = f"reference cells must be 0 or more, got {tp}, {fp}, {fn}, {tn}"
            raise ValueError(message)
        up = np.asarray(is_flagged, dtype=np.bool_)
        strata = _strata_of_class(up)
        positive, negative = np.where(up, tp, fn), np.where(up, fp, tn)
        return cls((positive + 0.5) / strata, (negative + 0.5) / strata, "reference")

    @classmethod
    def of_scores(cls, mean_score: ArrayLike, is_flagged: ArrayLike) -> PriorRates:
        """Knowledge from the mean score of each band, taken as a probability, in [0, 1].

        A band without scores, NaN, counts as unknown (Jeffreys' prior).
        """
        up = np.asarray(is_flagged, dtype=np.bool_)
        score = np.asarray(mean_score, dtype=np.float64)
        has_score = ~np.isnan(score)
        if np.any((score[has_score] < 0) | (score[has_score] > 1)):
            message = f"mean scores must lie in [0, 1] to be read as rates, got {score.tolist()}"
            raise ValueError(message)
        prior = 1 / (2 * _strata_of_class(up))
        alpha = np.where(has_score, SCORE_WEIGHT * score + prior, 0.5)
        beta = np.where(has_score, SCORE_WEIGHT * (1 - score) + prior, 0.5)
        return cls(alpha, beta, "scores")

    @classmethod
    def of_posterior(cls, posterior: JointPosterior) -> PriorRates:
        """Knowledge from a posterior: Betas with its rate and its label variance per stratum."""
        flagged, passed = posterior.flagged.matched(), posterior.passed.matched()
        alpha, beta = (np.concatenate(each) for each in zip(flagged, passed, strict=True))
        return cls(alpha, beta, "rounds")

    def pooled(self, sizes: ArrayLike, is_flagged: ArrayLike) -> PriorRates:
        r"""Return the prior of each class as one stratum, flagged before passed.

        With :math:`w_h = N_h / \sum N` over the class, the class's rate is :math:`\sum w_h \pi_h`;
        the Beta has its mean and variance. A class without items is left out.

        Examples
        --------
        >>> PriorRates.of_rates([0.9, 0.5, 0.1]).pooled([30, 10, 900], [True, True, False]).rate
        array([0.8, 0.1])
        """
        size = np.asarray(sizes, dtype=np.float64)
        up = np.asarray(is_flagged, dtype=np.bool_)
        classes = [members for members in (up, ~up) if size[members].sum() > 0]
        weights = [size[members] / size[members].sum() for members in classes]
        pairs = list(zip(weights, classes, strict=True))
        rate = np.array([weight @ self.rate[members] for weight, members in pairs])
        spread = self.rate * (1 - self.rate) - self.label_variance  # of each stratum's rate
        variance = np.array([weight**2 @ spread[members] for weight, members in pairs])
        variance = np.maximum(variance, rate * (1 - rate) / CERTAIN)
        both = rate * (1 - rate) / variance - 1
        return PriorRates(rate * both, (1 - rate) * both, self.source)

    @classmethod
    def nothing(cls, is_flagged: ArrayLike) -> PriorRates:
        """No knowledge: the prior of each class."""
        prior = 1 / (2 * _strata_of_class(np.asarray(is_flagged, dtype=np.bool_)))
        return cls(prior, prior, "nothing")


def _strata_of_class(is_flagged: Bools) -> Floats:
    """For each stratum, how many strata its class has."""
    flagged = int(is_flagged.sum())
    return np.where(is_flagged, flagged, len(is_flagged) - flagged).astype(np.float64)
