"""How likely each value of precision and recall is, for the figure of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.curve_rows import DensityRow
from monitor.stats.core.metrics import metric
from monitor.stats.estimation.density import share_density

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from monitor.domain.report import EstimateRow
    from monitor.stats.core.metrics import Matrix

_METRICS = ("precision", "recall")
_ESTIMANDS = {"round": "window", "pooled": "rate"}


def density_rows(
    drawn: Mapping[str, Matrix], rows: Sequence[EstimateRow]
) -> tuple[DensityRow, ...]:
    """Give a density for each estimate of precision and recall that there is.

    Parameters
    ----------
    drawn
        Draws of the confusion matrix, by basis.
    rows
        The estimates: one without a value has no density either.
    """
    there = {(row.metric, row.basis, row.estimand) for row in rows if row.point is not None}
    found = []
    for name in _METRICS:
        for basis, matrix in drawn.items():
            if (name, basis, _ESTIMANDS[basis]) not in there:
                continue
            density = share_density(metric(name)(matrix))
            if density is not None:
                x, height = _short(density.x), _short(density.density)
                found.append(DensityRow(metric=name, basis=basis, x=x, density=height))
    return tuple(found)


def _short(values: NDArray[np.float64]) -> list[float]:
    """Reduce values to four digits, so that a report stays small."""
    return [float(f"{value:.4g}") for value in values]
