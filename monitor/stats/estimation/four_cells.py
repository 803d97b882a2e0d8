r"""Draws of the confusion matrix of a labeled set that was not drawn by predicted class.

Where labels are drawn by predicted class, the sizes of the classes are known (``draws``). Of a
plain random sample, of items drawn with their own weights, and of a set drawn by actual class
they are not: then each of the four cells is an independent total,

.. math:: T_c = w_c\, \gamma_c, \qquad \gamma_c \sim \mathrm{Gamma}\big(m_c + \tfrac12\big)

with :math:`m_c` labels in the cell, of which each stands for :math:`w_c` items. All metrics are
ratios of such totals. Of a plain random sample that is the Dirichlet posterior with half a count in
each cell, so that precision and recall have their Jeffreys posteriors,
:math:`\mathrm{Beta}(TP + 1/2, FP + 1/2)` and :math:`\mathrm{Beta}(TP + 1/2, FN + 1/2)`.

With weights w of single items, :math:`w_c = \sum w^2/\sum w` and
:math:`m_c = (\sum w)^2/\sum w^2` (Kish, *Survey Sampling*, 1965), which gives a total the variance
:math:`\sum w^2` that it has where items are drawn one by one. Few heavy items estimate that
variance poorly. With :math:`\nu_c = 2\,/\,(\sum w^4/(\sum w^2)^2 - 1/n_c)` degrees of freedom
(Satterthwaite, *Biometrics Bulletin* 2, 1946), less the noise of the :math:`n_c` items themselves,
:math:`m_c` is divided, and :math:`w_c` multiplied, by the square of Student's 97.5 % quantile over
the normal one (``benchmarks/results/tried.txt``). Equal weights leave both as they are. Of a set
drawn by actual class the positives' two cells are scaled to the prevalence :math:`\eta`, and the
negatives' to :math:`1 - \eta`.

Of a sample of H strata that both predicted classes cross, each stratum's four shares have a
Dirichlet posterior and its size :math:`N_h` is known, :math:`T_c = \sum_h N_h\, p_{hc}`. Weights
:math:`N_h/n_h` alone would give a cell with few heavy labels too narrow an interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from monitor.stats.core.beta_mixture import HEAVY, LIGHT, BetaMixture
from monitor.stats.core.draws import POINTS, Estimand, JointPosterior, draw
from monitor.stats.core.metrics import Matrix
from monitor.stats.estimation.cell_matrix import MatrixDraws

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats, Ints

_UPPER = 0.975
_EQUAL = 1e-12  # relative variance below which weights are equal


@dataclass(frozen=True, slots=True, eq=False)
class FourCells:
    """The labels of a set by cell, in the order TP, FP, FN, TN; shape ``(4,)`` each.

    Labels that each cell is worth, whole numbers where there are no weights, and the items that
    each of them stands for. ``prevalence`` is the population's, where the set was drawn by
    actual class.
    """

    labeled: Floats
    weight: Floats

    @classmethod
    def of_items(
        cls, flagged: ArrayLike, positive: ArrayLike, weight: ArrayLike | None = None
    ) -> FourCells:
        """Count labeled items, each for one or for its weight, over 0.

        A cell without an item has the weight of its predicted class. A ValueError if a class has
        none.
        """
        up, yes = (np.asarray(each, dtype=np.bool_) for each in (flagged, positive))
        each = np.ones(len(up)) if weight is None else np.asarray(weight, dtype=np.float64)
        if up.all() or not up.any():
            message = "all items are of one predicted class; expected some of each"
            raise ValueError(message)
        cell = 2 * ~up + ~yes
        total = np.bincount(cell, weights=each, minlength=4)
        squares = np.bincount(cell, weights=each**2, minlength=4)
        in_class = np.repeat(squares.reshape(2, 2).sum(1) / total.reshape(2, 2).sum(1), 2)
        mean = np.divide(squares, total, out=in_class, where=total > 0)
        mean *= _doubt_of_variance(cell, each)
        return cls(labeled=total / mean, weight=mean)

    def scaled(self, prevalence: float | None = None) -> Matrix:
        """Matrix of the labels, each for what it stands for: what points are read off."""
        return _matrix(self.labeled * self.weight, prevalence)

    def draws(
        self, *, seed: int = 0, points: int = POINTS, prevalence: float | None = None
    ) -> MatrixDraws:
        """Draw the matrix, for ``posterior.estimates`` (estimand ``rate``)."""
        shares = _drawn_shares(self.labeled[np.newaxis], seed, points)[:, 0]
        matrix = _matrix(shares * self.weight, prevalence)
        return _rate_draws(matrix, f"Gamma posterior of four cells, {points} Sobol points")

    def plain_sample(self, prevalence: float | None = None) -> dict[str, int]:
        """Count the plain random sample that knows no cell better than these labels do."""
        matrix = self.scaled(prevalence)
        total = np.array([matrix.tp, matrix.fp, matrix.fn, matrix.tn], dtype=np.float64).ravel()
        share = total / total.sum()
        size = float(np.min(self.labeled[share > 0] / share[share > 0]))
        counts = np.rint(share * size).astype(int).tolist()
        return dict(zip(("tp", "fp", "fn", "tn"), counts, strict=True))


def _doubt_of_variance(cell: Ints, weight: Floats) -> Floats:
    """Return the factor by which Student's law widens the variance of each cell, 1 or more."""
    items, squares, fourths = (np.bincount(cell, weight**power, 4) for power in (0, 2, 4))
    seen = items > 0
    relative = np.divide(fourths, squares**2, out=np.zeros(4), where=seen)
    excess = relative - np.divide(1, items, out=np.zeros(4), where=seen)
    differ = excess > _EQUAL
    student = special.stdtrit(2 / np.where(differ, excess, 1.0), _UPPER)
    return np.where(differ, (student / special.ndtri(_UPPER)) ** 2, 1.0)


def crossed_draws(
    labeled: ArrayLike, size: ArrayLike, *, seed: int = 0, points: int = POINTS
) -> MatrixDraws:
    """Draw the matrix of strata that both predicted classes cross (estimand ``rate``).

    ``labeled`` counts the labels by cell, TP, FP, FN, TN, ``(H, 4)``; ``size`` the items, ``(H,)``.

    Examples
    --------
    >>> matrix = crossed_draws([[40, 5, 4, 51], [2, 3, 1, 194]], [1600, 48_400]).of("rate")
    >>> round(float(matrix.total.mean()))
    50000
    """
    items = np.asarray(size, dtype=np.float64)
    shares = _drawn_shares(np.asarray(labeled, dtype=np.float64), seed, points)
    matrix = _matrix(np.einsum("dhc,h->dc", shares, items), None)
    return _rate_draws(matrix, f"Dirichlet posterior of {len(items)} strata, {points} Sobol points")


def _priors(strata: int) -> Floats:
    """Prior counts of each cell of H strata, half a count for one; see ``round_priors``.

    Strata of many labels bear more than a band of a class; the power of H was found by simulation
    (``benchmarks/evaluator.py``).
    """
    if strata == 1:
        return np.array([HEAVY])
    return np.array([LIGHT / strata, HEAVY / strata**0.25])


def _drawn_shares(labeled: Floats, seed: int, points: int) -> Floats:
    """Draw each stratum's shares of the four cells, ``(points, H, 4)``."""
    prior = _priors(len(labeled))[:, np.newaxis]
    tp, fp, fn, tn = (prior + cell for cell in labeled.T)
    weight = np.full(len(prior), 1 / len(prior))
    # the share that is flagged, too, is a rate here
    posterior = JointPosterior(
        BetaMixture(weight, np.hstack([tp, tp + fp]), np.hstack([fp, fn + tn])),
        BetaMixture(weight, fn, tn),
    )
    rates = draw(posterior, seed=seed, points=points).rates
    precise, flagged, missed = np.split(rates, 3, axis=1)
    return np.stack(
        [
            flagged * precise,
            flagged * (1 - precise),
            (1 - flagged) * missed,
            (1 - flagged) * (1 - missed),
        ],
        axis=-1,
    )


def _rate_draws(matrix: Matrix, method: str) -> MatrixDraws:
    def rate(estimand: Estimand) -> Matrix:
        if estimand != "rate":
            message = f"the set does not describe a window; expected rate, got {estimand!r}"
            raise ValueError(message)
        return matrix

    return MatrixDraws(rate, method)


def _matrix(cells: Floats, prevalence: float | None) -> Matrix:
    """Matrices of cells ``(..., 4)``, at a prevalence where one is given."""
    tp, fp, fn, tn = np.moveaxis(cells, -1, 0)
    if prevalence is None:
        return Matrix(tp, fp, fn, tn)
    positive, negative = prevalence / (tp + fn), (1 - prevalence) / (fp + tn)
    return Matrix(tp * positive, fp * negative, fn * positive, tn * negative)
