"""Curves of a round or an evaluation, as its report carries them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.setting_types import Report

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from monitor.stats.core.counts import Interval
    from monitor.stats.core.sample import LabeledSample
    from monitor.stats.curves.curve_draws import Band, CurveBands
    from monitor.stats.estimation.prevalence import PrevalenceCurve


FEWEST_FOR_CURVES = 10
"""Labeled positives, and negatives, under which a curve would be mostly prior."""

GRID_POINTS = 41  # Points of each curve: enough for a smooth figure, few enough for a small report


class CurveRow(Report):
    """A curve and its band over ``x``."""

    x: list[float]
    point: list[float]
    low: list[float]
    high: list[float]

    @classmethod
    def of(cls, band: Band | PrevalenceCurve, x: NDArray[np.float64]) -> CurveRow:
        """Reduce a curve to five digits, so that a report stays small."""
        columns = {"x": x, "point": band.point, "low": band.low, "high": band.high}
        return cls(
            **{
                name: [float(f"{value:.5g}") for value in values]
                for name, values in columns.items()
            }
        )


def triple(interval: Interval) -> tuple[float, float, float]:
    """Write point, low and high in six digits."""
    point, low, high = (
        float(f"{value:.6g}") for value in (interval.point, interval.low, interval.high)
    )
    return point, low, high


class PrevalenceRow(Report):
    """Precision against the prevalence (P3); of a round with earlier ones. Else (point, low, high).

    ``prevalence`` is the window's own, and ``value`` the precision there.
    """

    curve: CurveRow
    prevalence: tuple[float, float, float]
    value: tuple[float, float, float]
    tpr: tuple[float, float, float]
    fpr: tuple[float, float, float]
    level: float

    @classmethod
    def of(cls, curve: PrevalenceCurve) -> PrevalenceRow:
        """Take a curve of precision as the statistics have it."""
        return cls(
            curve=CurveRow.of(curve, curve.prevalence),
            prevalence=triple(curve.now),
            value=triple(curve.value),
            tpr=triple(curve.tpr),
            fpr=triple(curve.fpr),
            level=curve.level,
        )


class CurvesRow(Report):
    """Curves of this round alone and their areas (point, low, high), at its own prevalence.

    ``roc`` is TPR over FPR, ``precision_recall`` precision over recall, ``gain`` precision gain
    over recall gain.
    """

    roc: CurveRow
    precision_recall: CurveRow
    gain: CurveRow
    roc_area: tuple[float, float, float]
    average_precision: tuple[float, float, float]
    gain_area: tuple[float, float, float]
    prevalence: tuple[float, float, float]
    labeled: int
    positive: int
    level: float

    @classmethod
    def of(cls, bands: CurveBands, items: LabeledSample) -> CurvesRow:
        """Take the curves of labeled items as the statistics have them."""
        return cls(
            roc=CurveRow.of(bands.roc, bands.roc.x),
            precision_recall=CurveRow.of(bands.precision_recall, bands.precision_recall.x),
            gain=CurveRow.of(bands.gain, bands.gain.x),
            roc_area=triple(bands.roc_area),
            average_precision=triple(bands.average_precision),
            gain_area=triple(bands.gain_area),
            prevalence=triple(bands.prevalence),
            labeled=len(items.positive),
            positive=int(items.positive.sum()),
            level=bands.level,
        )
