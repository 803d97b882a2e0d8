"""What a plain random sample would need, to set beside a plan."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from monitor.stats.design.assurance import FutureWidths
from monitor.stats.design.neyman import AllocationProblem, coefficients_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats
    from monitor.stats.design.prior import PriorRates


def random_sampling_labels(
    sizes: ArrayLike,
    is_flagged: ArrayLike,
    prior_rates: PriorRates,
    margins: Mapping[str, float],
    *,
    level: float = 0.95,
    assurance: float | None = None,
) -> int:
    r"""Labels that a plain random sample of the window would need for the same margins.

    Expected numbers, not a guarantee: :math:`n\,N_+/N` labels fall on predicted positives and
    :math:`n\,\eta` on actual ones, with variances :math:`P(1-P)` and :math:`R(1-R)` per label
    (section 2.1 of Shang et al., 2023) and the finite-population term of the window.

    Parameters
    ----------
    sizes, is_flagged, prior_rates, margins, level, assurance
        As for `monitor.stats.design.allocation.allocate`, without bands. With an assurance the
        expected half-width is to be narrower than the margin by what that share of the draws
        needs; the sample's split between the classes is taken for the window's.

    Examples
    --------
    >>> from monitor.stats.design.prior import PriorRates
    >>> known = PriorRates.of_rates([0.79, 0.0178988])
    >>> random_sampling_labels([46e6, 1000e6], [True, False], known, {"recall": 0.05})
    6552
    """
    size = np.asarray(sizes, dtype=np.float64)
    up = np.asarray(is_flagged, dtype=np.bool_)
    rate, total = prior_rates.rate, float(size.sum())
    z = float(special.ndtri(0.5 + level / 2))
    true_positive, positive = float(size[up] @ rate[up]), float(size @ rate)
    shares = {
        "precision": (true_positive, float(size[up].sum())),
        "recall": (true_positive, positive),
    }
    needed = 0.0
    for name, margin in margins.items():
        numerator, denominator = shares[name]
        if denominator > 0:
            per_label = (
                (numerator / denominator) * (1 - numerator / denominator) * total / denominator
            )
            labels = per_label / ((margin / z) ** 2 + per_label / total)
            if assurance is not None:
                wider = _wider(name, size, up, prior_rates, labels, assurance)
                labels = per_label / ((margin / wider / z) ** 2 + per_label / total)
            needed = max(needed, labels)
    return math.ceil(needed)


def _wider(
    name: str,
    size: Floats,
    is_flagged: Bools,
    prior_rates: PriorRates,
    labels: float,
    assurance: float,
) -> float:
    """Half-width that is kept with a probability, against the one kept in half of the draws."""
    coefficients, _ = coefficients_of(size.astype(np.int64), is_flagged, prior_rates)
    zeros, ones = np.zeros_like(size), np.ones_like(size)
    problem = AllocationProblem(
        size, is_flagged, zeros, coefficients, zeros, ones, z=1.0, in_window=True
    )
    widths = FutureWidths.of(problem, prior_rates).half_widths(labels * size / size.sum())[name]
    return float(np.quantile(widths, assurance) / np.quantile(widths, 0.5))
