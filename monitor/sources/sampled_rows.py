"""Sizes of strata where the log keeps a sample of the predictions (``source.kept_with``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from monitor.domain.model import StratumFrame
from monitor.domain.sampled_log import SAMPLED_NOTE, LogShares
from monitor.domain.segments import scaled
from monitor.sources.buckets import BucketCount

_THINNED = 10  # times as many rows as are left: one row counts for far more than others


def estimated(
    part: StratumFrame, own: Sequence[BucketCount], sampling: LogShares | str
) -> StratumFrame:
    """Scale a stratum of counted rows up to the predictions that they stand for.

    Of rows with a probability each, the candidates are thinned to the least one. ``rows`` is how
    many of them that leaves on average.
    """
    largest = 0.0
    if isinstance(sampling, LogShares):
        least = sampling.of(flagged=part.stratum.flagged)
        size, rows = round(part.size / least), part.size
    else:
        counted = sum(one.rows for one in own)
        chances = [one.chance for one in own if one.chance is not None]
        least = min((one.least for one in chances), default=1.0)
        items = part.size / max(counted, 1) * sum(one.inverse for one in chances)
        size, rows = round(items), max(round(items * least), min(1, part.size))
        largest = 1 / least if part.size > _THINNED * rows else 0.0
    segments = tuple(scaled(values, size) for values in part.segments)
    return replace(part, size=size, rows=rows, segments=segments, largest=largest)


def sampled_note(strata: Sequence[StratumFrame]) -> dict[str, int]:
    """Count the rows that stand for more predictions than there are rows, for a note."""
    rows = sum(part.sampled for part in strata)
    return {SAMPLED_NOTE: rows} if rows else {}
