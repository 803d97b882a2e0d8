"""What a plain random sample would need, to set beside a plan."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.levels import normal_quantile
from monitor.stats.design.assurance import FutureWidths
from monitor.stats.design.neyman import AllocationProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.stats.design.prospect import Prospect


def random_sampling_labels(
    prospect: Prospect,
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
    margins, level, assurance
        As for `monitor.stats.design.allocation.allocate`. With an assurance the expected half-width
        is to be narrower than the margin by what that share of the draws needs; the sample's split
        between the classes is taken for the window's.

    Examples
    --------
    >>> from monitor.stats.design.prior import PriorRates
    >>> from monitor.stats.design.prospect import Prospect
    >>> window = Prospect.of([46e6, 1000e6], [1, 0], PriorRates.of_rates([0.79, 0.0178988]))
    >>> random_sampling_labels(window, {"recall": 0.05})
    6552
    """
    size, up = prospect.size.astype(np.float64), prospect.is_flagged
    rate, total = prospect.prior_rates.rate, float(size.sum())
    z = normal_quantile(level)
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
                wider = _wider(name, prospect, labels, assurance)
                labels = per_label / ((margin / wider / z) ** 2 + per_label / total)
            needed = max(needed, labels)
    return math.ceil(needed)


def _wider(name: str, prospect: Prospect, labels: float, assurance: float) -> float:
    """Half-width that is kept with a probability, against the one kept in half of the draws."""
    problem, _ = AllocationProblem.of(replace(prospect, uniform=None), 0.95, "window")
    future = FutureWidths.of(replace(problem, z=1.0), prospect.prior_rates)
    widths = future.half_widths(labels * problem.size / problem.size.sum())[name]
    return float(np.quantile(widths, assurance) / np.quantile(widths, 0.5))
