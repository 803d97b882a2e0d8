"""Where the scores of a class are cut into strata, for SQL and for candidates that are known."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from monitor.sources import frames

if TYPE_CHECKING:
    from monitor.domain.model import Stratum, Verdict


@dataclass(frozen=True, slots=True)
class Cuts:
    """The strata of a class by score: ``codes[i]`` up to ``ends[i]``, the last one from there."""

    ends: list[float]
    codes: list[int]
    unscored: int

    @staticmethod
    def of(strata: Sequence[Stratum], *, flagged: bool, verdict: Verdict | None = None) -> Cuts:
        """Cut one class of some strata, known by their positions, or one verdict on it."""
        own = [
            (index, each)
            for index, each in enumerate(strata)
            if each.flagged == flagged and (each.verdict == verdict or each.unscored)
        ]
        scored = [(index, each) for index, each in own if not each.unscored]
        ends = sorted({end for _, one in scored for end in (one.low, one.high) if end is not None})
        codes = [_holder(scored, low, high) for low, high in pairwise([None, *ends, None])]
        alone = len(own) == 1
        unscored = (index for index, one in own if one.unscored or (alone and one.is_unbounded))
        return Cuts(ends, codes, next(unscored, frames.SCORE_MISSING))

    def bucket_of(self, score: float | None) -> int:
        """Find the stratum of a score, or the reason why it is in none."""
        return self.unscored if score is None else self.codes[bisect_right(self.ends, score)]


def _holder(scored: Sequence[tuple[int, Stratum]], low: float | None, high: float | None) -> int:
    """Position of the stratum that holds the scores between two neighbouring ends."""
    for index, each in scored:
        starts = each.low is None or (low is not None and each.low <= low)
        if starts and (each.high is None or (high is not None and high <= each.high)):
            return index
    return frames.IN_NO_STRATUM
