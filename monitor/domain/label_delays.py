"""Delays of positive labels, measured on earlier windows."""

from __future__ import annotations

from monitor.domain.setting_types import Settings


class DelayCurve(Settings):
    """Share of a predicted class's positive labels that are known, by age of the window.

    ``ages`` are in days, ascending; ``worth`` is the number of labels behind each share.
    """

    ages: tuple[float, ...]
    shares: tuple[float, ...]
    worth: tuple[float, ...]

    def at(self, age: float) -> tuple[float, float]:
        """Return the share known at an age in days, and its worth."""
        index = max(0, sum(each <= age for each in self.ages) - 1)
        return self.shares[index], self.worth[index]


class LabelDelays(Settings):
    """Label delays of the predicted classes with labels that arrive after ``matures``.

    A round with delays shows provisional numbers until its labels are complete. A class is None if
    all its labels arrive in time.
    """

    flagged: DelayCurve | None = None
    passed: DelayCurve | None = None

    @property
    def longest(self) -> float:
        """Age in days by which all labels are known."""
        return max(curve.ages[-1] for curve in (self.flagged, self.passed) if curve is not None)
