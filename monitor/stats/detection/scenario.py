"""A window as a simulation knows it: sizes, labels and the true rates, and what becomes of them.

In a drop the wrong answers of the class that the metric measures all grow by one factor: the
flagged strata's for precision, the missed positives' for recall. A fall of recall can also come
about by misses that all appear in the passed stratum with the lowest scores, where few labels are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from monitor.stats.core.counts import Counts
from monitor.stats.core.metrics import metric
from monitor.stats.detection.alternatives import CAP, metric_at, scaled_to_limit
from monitor.stats.detection.half_space import EDGE, Limit, half_space, inside

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints


Misses = Literal["in_proportion", "in_lowest_band"]
"""Where the misses of a fall of recall appear: in all passed strata by one factor, or all in the
one with the lowest scores."""

_NEAR = 1e-6  # of a metric's value: a drop is reached, or the rates have come to their end


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A window as it is drawn every round, and what only a simulation knows: its true rates.

    ``labeled`` are the labels that a round asks for in each stratum, ``rates`` the shares of actual
    positives, each in [0, 1]; flagged strata come first, and all have the shape ``(H,)``.

    Examples
    --------
    >>> scenario = Scenario.of([160, 4840], [100, 400], [True, False], [0.86, 0.02])
    >>> round(scenario.value("recall"), 3)
    0.587
    """

    size: Ints
    labeled: Ints
    is_flagged: Bools
    rates: Floats

    def __post_init__(self) -> None:
        shapes = {each.shape for each in (self.size, self.labeled, self.is_flagged, self.rates)}
        if shapes != {(self.size.size,)}:
            message = "size, labeled, is_flagged and rates must have the same shape (H,)"
            raise ValueError(message)
        if np.any(self.labeled < 0) or np.any(self.labeled > self.size):
            message = "a scenario needs 0 <= labeled <= size in every stratum"
            raise ValueError(message)
        if not np.all((self.rates >= 0) & (self.rates <= 1)):
            message = f"rates lie in [0, 1], got {self.rates.tolist()}"
            raise ValueError(message)

    @classmethod
    def of(
        cls, size: ArrayLike, labeled: ArrayLike, is_flagged: ArrayLike, rates: ArrayLike
    ) -> Scenario:
        """Make a scenario from lists."""
        return cls(
            size=np.asarray(size, dtype=np.int64),
            labeled=np.asarray(labeled, dtype=np.int64),
            is_flagged=np.asarray(is_flagged, dtype=np.bool_),
            rates=np.asarray(rates, dtype=np.float64),
        )

    def summed(self, bands: ArrayLike) -> Scenario:
        """Return the scenario with the strata of each band as one.

        Parameters
        ----------
        bands
            Band of each stratum, by number or name, shape ``(H,)``; none has strata of both
            classes. They keep the order of their first strata.

        Examples
        --------
        >>> cells = Scenario.of(
        ...     [160, 4000, 840], [100, 300, 100], [True, False, False], [0.86, 0.001, 0.1]
        ... )
        >>> cells.summed(["flagged-1", "passed-1", "passed-1"]).rates.round(4)
        array([0.86  , 0.0182])
        """
        _, first, band = np.unique(np.asarray(bands), return_index=True, return_inverse=True)
        order = np.argsort(first)
        size, labeled, positive = (
            np.bincount(band, weights=each, minlength=len(first))[order]
            for each in (self.size, self.labeled, self.size * self.rates)
        )
        return Scenario(
            size=size.astype(np.int64),
            labeled=labeled.astype(np.int64),
            is_flagged=self.is_flagged[np.sort(first)],
            rates=np.minimum(positive / np.maximum(size, 1), 1.0),
        )

    def counted(self, positive: Ints) -> Counts:
        """Return the counts of rounds with these positives, ``(..., H)``, one path each."""
        return Counts(self.size, self.labeled, positive, self.is_flagged)

    def drawn(self, rng: np.random.Generator, paths: int) -> Counts:
        """Draw the labels of a round on each path."""
        return self.counted(rng.binomial(self.labeled, self.rates, (paths, self.size.size)))

    @property
    def labels(self) -> int:
        """Labels of a round."""
        return int(self.labeled.sum())

    def value(self, name: str) -> float | None:
        """Compute a metric at the true rates; None if it is undefined."""
        result = metric_at(metric(name), self.size, self.is_flagged, self.rates)
        return None if np.isnan(result) else result

    def breaks(self, limit: Limit, *, by: float = 0.0) -> bool:
        """Whether the true rates break a limit, in the half-space by more than ``by``.

        Examples
        --------
        >>> scenario = Scenario.of([160, 4840], [100, 400], [True, False], [0.86, 0.02])
        >>> scenario.breaks(Limit("precision", 0.9, "at_least"))
        True
        """
        space = half_space(limit, self.size, self.is_flagged)
        return bool(self.rates @ space.c < space.d - by * float(np.abs(space.c).max()))

    def moved(self, limit: Limit) -> Scenario:
        """Return the scenario with the wrong answers scaled until a metric is at a value.

        Examples
        --------
        >>> scenario = Scenario.of([160, 4840], [100, 400], [True, False], [0.86, 0.02])
        >>> print(scenario.moved(Limit("precision", 0.70, "at_least")).rates)
        [0.7  0.02]
        """
        rates = scaled_to_limit(limit, self.size, self.is_flagged, inside(self.rates))
        return replace(self, rates=rates)

    def dropped(self, name: str, drop: float, misses: Misses = "in_proportion") -> Scenario:
        """Return the scenario after a metric fell by ``drop``, its wrong answers scaled.

        A negative ``drop`` is a rise. With ``misses`` in the lowest band all new misses of a fall
        of recall appear there. A ValueError if the metric is undefined here, would leave (0, 1), or
        cannot be brought so low by wrong answers of its class.

        Examples
        --------
        >>> scenario = Scenario.of([160, 4840], [100, 400], [True, False], [0.86, 0.02])
        >>> print(scenario.dropped("precision", 0.10).rates)
        [0.76 0.02]
        """
        if name == "recall" and misses == "in_lowest_band":
            return self._dropped_in_lowest_band(drop)
        level = self.value(name)
        if level is None or not EDGE <= level - drop <= 1 - EDGE:
            now = "where it is undefined" if level is None else f"from {level:.4g}"
            message = f"{name} cannot fall by {drop:g} {now}"
            raise ValueError(message)
        after = self.moved(Limit(name, level - drop, "at_least"))
        reached = after.value(name)
        if reached is None or abs(reached - (level - drop)) > _NEAR:
            message = (
                f"{name} cannot fall by {drop:g} from {level:.4g}: it would still be {reached:.4g} "
                f"with {CAP:.1%} wrong answers"
            )
            raise ValueError(message)
        return after

    @property
    def lowest_band(self) -> int | None:
        """The passed stratum with the lowest scores; None if there are not two to choose from."""
        passed = np.flatnonzero(~self.is_flagged & (self.size > 0))
        return int(passed[0]) if passed.size > 1 else None

    def _dropped_in_lowest_band(self, drop: float) -> Scenario:
        lowest, level = self.lowest_band, self.value("recall")
        if lowest is None or level is None or not EDGE <= level - drop <= 1 - EDGE:
            now = "where it is undefined" if level is None else f"from {level:.4g}"
            message = f"recall cannot fall by {drop:g} {now} by misses in one of several bands"
            raise ValueError(message)
        true_positives = float((self.size * self.rates)[self.is_flagged].sum())
        rates = self.rates.copy()
        rates[lowest] += true_positives * (1 / (level - drop) - 1 / level) / self.size[lowest]
        if not 0 <= rates[lowest] <= CAP:
            message = (
                f"recall cannot fall by {drop:g} from {level:.4g} by misses in the lowest band: it "
                f"holds {int(self.size[lowest])} items"
            )
            raise ValueError(message)
        return replace(self, rates=rates)

    def with_prevalence(self, factor: float) -> Scenario:
        r"""Return the window when actual positives become ``factor`` times as common.

        The classifier stays what it is: positives and negatives fall into the strata as before,
        so recall and FPR stay and precision moves. With prevalence :math:`\eta`,

        .. math:: W_h' = W_h\Big(f \pi_h + \frac{1-f\eta}{1-\eta}(1-\pi_h)\Big).

        A ValueError if the prevalence would leave (0, 1).

        Examples
        --------
        >>> scenario = Scenario.of([160, 4840], [100, 400], [True, False], [0.86, 0.02])
        >>> doubled = scenario.with_prevalence(2)
        >>> round(doubled.value("precision"), 3), round(doubled.value("recall"), 3)
        (0.928, 0.587)
        """
        size, rates = self.size, self.rates
        prevalence = float(size @ rates / size.sum())
        if not 0 < factor * prevalence < 1 or not 0 < prevalence < 1:
            message = f"a prevalence of {prevalence:.3g} cannot become {factor:g} times as high"
            raise ValueError(message)
        positive = factor * size * rates
        negative = (1 - factor * prevalence) / (1 - prevalence) * size * (1 - rates)
        total = positive + negative
        share = np.divide(positive, total, out=np.zeros_like(total), where=total > 0)
        items = np.maximum(np.rint(total).astype(np.int64), 0)
        return replace(self, size=items, labeled=np.minimum(self.labeled, items), rates=share)
