"""Curves of a round, as its report carries them."""

from __future__ import annotations

from monitor.domain.payload import Report

FEWEST_FOR_CURVES = 10
"""Labeled positives, and negatives, under which a curve would be mostly prior."""


class CurveRow(Report):
    """A curve and its band over ``x``."""

    x: list[float]
    point: list[float]
    low: list[float]
    high: list[float]


class PrevalenceRow(Report):
    """Precision against the prevalence (P3), with earlier rounds; (point, low, high) elsewhere.

    ``prevalence`` is the window's own, and ``value`` the precision there.
    """

    curve: CurveRow
    prevalence: tuple[float, float, float]
    value: tuple[float, float, float]
    tpr: tuple[float, float, float]
    fpr: tuple[float, float, float]
    level: float


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


class DensityRow(Report):
    """What is known of a metric: its posterior density at evenly spaced places, ends included.

    ``basis`` is that of the estimate that it belongs to: ``round``, of the window's own items, or
    ``pooled``, of the rate.
    """

    metric: str
    basis: str
    low: float
    high: float
    density: list[float]

    @property
    def x(self) -> list[float]:
        """The places."""
        step = (self.high - self.low) / (len(self.density) - 1)
        return [self.low + at * step for at in range(len(self.density))]
