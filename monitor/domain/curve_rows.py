"""Curves in the reports of rounds and evaluations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ConfigDict

from monitor.domain.setting_types import Ends, Report, ends_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from monitor.stats.core.sample import LabeledSample
    from monitor.stats.curves.curve_draws import Band, CurveBands
    from monitor.stats.estimation.prevalence import PrevalenceCurve


FEWEST_FOR_CURVES = 10
"""Least number of labeled positives, and of negatives; with fewer, a curve is mostly its prior."""

GRID_POINTS = 41  # Points of each curve: enough for a smooth figure, few enough for a small report


class CurveRow(Report):
    """A curve and its band over ``x``."""

    x: list[float]
    point: list[float]
    low: list[float]
    high: list[float]

    @classmethod
    def of(cls, band: Band | PrevalenceCurve, x: NDArray[np.float64]) -> CurveRow:
        """Round a curve to five significant digits, which keeps reports small."""
        columns = {"x": x, "point": band.point, "low": band.low, "high": band.high}
        return cls(
            **{
                name: [float(f"{value:.5g}") for value in values]
                for name, values in columns.items()
            }
        )


class PrevalenceRow(Report):
    """Precision over prevalence (P3) in an evaluation; other values are (point, low, high).

    ``prevalence`` is the population's, ``value`` the precision at this prevalence.
    """

    curve: CurveRow
    prevalence: Ends
    value: Ends
    tpr: Ends
    fpr: Ends
    level: float

    @classmethod
    def of(cls, curve: PrevalenceCurve) -> PrevalenceRow:
        """Convert a curve of `monitor.stats`."""
        return cls(
            curve=CurveRow.of(curve, curve.prevalence),
            prevalence=ends_of(curve.now),
            value=ends_of(curve.value),
            tpr=ends_of(curve.tpr),
            fpr=ends_of(curve.fpr),
            level=curve.level,
        )


class CurvesRow(Report):
    """Curves of one round alone, at its prevalence, and their areas as (point, low, high).

    ``roc`` is TPR over FPR, ``precision_recall`` is precision over recall.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)  # older reports have gains here

    roc: CurveRow
    precision_recall: CurveRow
    roc_area: Ends
    average_precision: Ends
    prevalence: Ends
    labeled: int
    positive: int
    level: float

    @classmethod
    def of(cls, bands: CurveBands, items: LabeledSample) -> CurvesRow:
        """Take the curves of labeled items as the statistics have them."""
        return cls(
            roc=CurveRow.of(bands.roc, bands.roc.x),
            precision_recall=CurveRow.of(bands.precision_recall, bands.precision_recall.x),
            roc_area=ends_of(bands.roc_area),
            average_precision=ends_of(bands.average_precision),
            prevalence=ends_of(bands.prevalence),
            labeled=len(items.positive),
            positive=int(items.positive.sum()),
            level=bands.level,
        )


class GainCurvesRow(CurvesRow):
    """The curves of an evaluation; ``gain`` is precision gain over recall gain."""

    gain: CurveRow
    gain_area: Ends

    @classmethod
    def of(cls, bands: CurveBands, items: LabeledSample) -> GainCurvesRow:
        """Take the curves of labeled items as the statistics have them."""
        return cls(
            **dict(CurvesRow.of(bands, items)),
            gain=CurveRow.of(bands.gain, bands.gain.x),
            gain_area=ends_of(bands.gain_area),
        )
