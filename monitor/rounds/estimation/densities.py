"""How likely each value of precision and recall is, for the figure of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.curve_rows import DensityRow
from monitor.stats.core.metrics import Matrix, metric
from monitor.stats.estimation.density import Density, share_density

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monitor.domain.report import EstimateRow

_METRICS = ("precision", "recall")
_ESTIMANDS = {"round": "window", "pooled": "rate"}


def density_rows(
    drawn: Mapping[str, Matrix], rows: Sequence[EstimateRow]
) -> tuple[DensityRow, ...]:
    """Give a density for each estimate of precision and recall that there is.

    drawn: Draws of the confusion matrix, by basis.
    rows: The estimates: one without a value has no density either.
    """
    there = {(row.metric, row.basis, row.estimand) for row in rows if row.point is not None}
    results = []
    for name in _METRICS:
        for basis, matrix in drawn.items():
            if (name, basis, _ESTIMANDS[basis]) not in there:
                continue
            density = share_density(metric(name)(matrix))
            if density is not None:
                results.append(_row(name, basis, density))
    return tuple(results)


def _row(name: str, basis: str, comparison: Density) -> DensityRow:
    """Reduce it to three digits, so that a report stays small."""
    low, high = (float(f"{end:.5g}") for end in (comparison.x[0], comparison.x[-1]))
    density = [float(f"{value:.3g}") for value in comparison.density]
    return DensityRow(metric=name, basis=basis, low=low, high=high, density=density)
