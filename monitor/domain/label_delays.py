"""How long positive labels take to become known, as earlier windows showed."""

from __future__ import annotations

from monitor.domain.setting_types import Settings


class DelayCurve(Settings):
    """Share of the positive labels of a predicted class that are known at each age of a window.

    ``ages`` are in days, ascending; ``worth`` is how many labels each share rests on.
    """

    ages: tuple[float, ...]
    shares: tuple[float, ...]
    worth: tuple[float, ...]

    def at(self, age: float) -> tuple[float, float]:
        """Return the share that is known by an age, and its worth."""
        index = max(0, sum(each <= age for each in self.ages) - 1)
        return self.shares[index], self.worth[index]


class LabelDelays(Settings):
    """The delays of the predicted classes of which some labels come after ``matures``.

    A round that has them shows provisional numbers until the labels are there. A class is None if
    all of its labels come in time.
    """

    flagged: DelayCurve | None = None
    passed: DelayCurve | None = None

    @property
    def longest(self) -> float:
        """Age in days by which all labels are known."""
        return max(curve.ages[-1] for curve in (self.flagged, self.passed) if curve is not None)
