"""Pace at which labels of a predicted class, or of a score range of it, arrive."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

from monitor.rounds.reporting.concerns import is_much
from monitor.stats.labels.delays import (
    ArrivalCurve,
    Arrivals,
    arrival_curve,
    delays_differ,
    pace_fit,
)
from monitor.storage.labels.provisional_store import DatedScore, PositiveCount

if TYPE_CHECKING:
    from monitor.domain.model import Stratum
    from monitor.stats.labels.audit import ArrivedShare

DAY = timedelta(days=1)
COARSE = 0.1
"""Share of the time to maturity by which a first reading must be made, to date its labels."""

FEWEST_BY_SCORE = 10
"""Fewest dated labels on each side of a cut for separate paces by score."""

DIFFERENT = 0.2
"""Probability below which scores have separate paces. A wrong split only widens intervals, a
missed one biases them, so the test is lenient."""


@dataclass(frozen=True, slots=True)
class ScoreCut:
    """A cut of a predicted class at the score ``edge``: its first ``strata``, and the others."""

    flagged: bool
    strata: int
    edge: float
    is_ascending: bool

    def is_first(self, score: float) -> bool:
        """Whether an item of this score is in the first part."""
        return (score < self.edge) is self.is_ascending


def score_cuts(frame: Sequence[Stratum], *, flagged: bool) -> list[ScoreCut]:
    """Return the cuts between the strata of a class; empty if these overlap or have no scores."""
    own = [one for one in frame if one.flagged is flagged]
    if any(one.unscored or one.verdict is not None for one in own):
        return []
    cuts = []
    for count, (one, following) in enumerate(pairwise(own), start=1):
        is_ascending = one.high is not None and one.high == following.low
        edge = one.high if is_ascending else one.low
        if edge is None or not (is_ascending or edge == following.high):
            return []
        cuts.append(ScoreCut(flagged, count, edge, is_ascending))
    return cuts


@dataclass(frozen=True, slots=True)
class FollowedRound:
    """A round whose labels were counted as they came; ``end`` is the end of its window.

    ``labels`` are its drawn positive items; empty if its labels are counted whole.
    """

    end: datetime
    closed: bool
    readings: Sequence[PositiveCount]
    labels: Sequence[DatedScore] = ()

    def of_scores(self, cut: ScoreCut, *, first: bool) -> FollowedRound:
        """Return the round with only the labels on one side of a cut."""
        own = sorted(
            label.at
            for label in self.labels
            if label.flagged is cut.flagged and cut.is_first(label.score) is first
        )
        readings = []
        for reading in self.readings:
            count = bisect_right(own, reading.at)
            by_class = (count, 0) if cut.flagged else (0, count)
            readings.append(PositiveCount(reading.at, *by_class))
        return replace(self, readings=readings)

    def age(self, at: datetime) -> float:
        """Return the age of the window in days."""
        return (at - self.end) / DAY

    def arrivals(self, flags: Collection[bool]) -> list[Arrivals]:
        """Return the positive labels that came between two readings and stayed.

        Empty if many were withdrawn: then it is unknown when the others came.
        """
        if self.taken_back(flags):
            return []
        steady = self._steady(flags)
        ages, counts = [max(0.0, self.age(at)) for at, _ in steady], [count for _, count in steady]
        stayed = [min(counts[index:]) for index in range(len(counts))]
        steps = zip([None, *ages], ages, [0, *stayed], stayed, strict=False)
        return [
            Arrivals(first, last, after - before, ages[-1])
            for first, last, before, after in steps
            if after > before
        ]

    def taken_back(self, flags: Collection[bool]) -> tuple[int, int] | None:
        """Return the positive labels that were withdrawn, and of how many, if these are many."""
        before = self._steady(flags)[-1][1]
        fall = before - _positive(self.readings[-1], flags)
        return (fall, before) if is_much(fall, before) else None

    def _steady(self, flags: Collection[bool]) -> list[tuple[datetime, int]]:
        """Return the readings without those that lost many labels: a file may have been cut off."""
        steady: list[tuple[datetime, int]] = []
        for reading in self.readings:
            count, before = _positive(reading, flags), steady[-1][1] if steady else 0
            if not is_much(before - count, before):
                steady.append((reading.at, count))
        return steady


def _positive(reading: PositiveCount, flags: Collection[bool]) -> int:
    return (True in flags) * reading.flagged + (False in flags) * reading.passed


@dataclass(frozen=True, slots=True)
class Pace:
    """Label arrivals of predicted classes: ``old`` of closed rounds, ``young`` of open ones."""

    flags: tuple[bool, ...]
    old: Sequence[Arrivals]
    young: Sequence[Arrivals]
    coarse: float

    @classmethod
    def of(cls, flags: tuple[bool, ...], rounds: Sequence[FollowedRound], coarse: float) -> Pace:
        """Collect the arrivals of closed rounds and of open ones."""
        old, young = (
            [each for one in rounds if one.closed is closed for each in one.arrivals(flags)]
            for closed in (True, False)
        )
        return cls(flags, old, young, coarse)

    @property
    def matured(self) -> float:
        """Number of labels of closed rounds whose arrival is dated."""
        return sum(each.labels for each in self.old if each.is_dated(self.coarse))

    def curve(self) -> ArrivalCurve:
        """Return the share of labels that has come by each age."""
        return arrival_curve([*self.old, *self.young], coarse=self.coarse)

    def fit(self) -> float:
        """Return the p-value of a test that labels of young rounds come at the earlier pace."""
        curve = arrival_curve(self.old, coarse=self.coarse)
        young = [each for each in self.young if each.is_dated(self.coarse)]
        return pace_fit(curve, self.matured, young, self.coarse / COARSE)


@dataclass(frozen=True, slots=True)
class CutPaces:
    """The paces of the two parts of a class, in the order of its strata."""

    cut: ScoreCut
    paces: tuple[Pace, Pace]
    difference: float

    def at(self, age: float) -> tuple[ArrivedShare, ArrivedShare]:
        """Return the share of each part's labels that has come by an age."""
        one, other = (pace.curve().at(age) for pace in self.paces)
        return one, other


def paces_by_score(
    frame: Sequence[Stratum], rounds: Sequence[FollowedRound], coarse: float, *, flagged: bool
) -> CutPaces | None:
    """Return the paces of low and high scores of a class; None if they do not clearly differ.

    Chooses the cut with the smallest p-value among those with enough labels on both sides, and
    multiplies it by the number of cuts (Bonferroni).
    """
    tried = []
    for cut in score_cuts(frame, flagged=flagged):
        one, other = (
            Pace.of((flagged,), [each.of_scores(cut, first=first) for each in rounds], coarse)
            for first in (True, False)
        )
        if min(one.matured, other.matured) >= FEWEST_BY_SCORE:
            p = delays_differ([*one.old, *one.young], [*other.old, *other.young], coarse=coarse)
            tried.append(CutPaces(cut, (one, other), p))
    best = min(tried, key=attrgetter("difference"), default=None)
    return None if best is None or len(tried) * best.difference >= DIFFERENT else best
