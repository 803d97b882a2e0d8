"""Sizes of strata if the log keeps a sample of the predictions (``source.kept_with``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from monitor.domain.model import StratumFrame
from monitor.domain.sampled_log import SAMPLED_NOTE, LogShares
from monitor.domain.segments import scaled
from monitor.sources.buckets import BucketCount

_THINNED = 10  # times as many rows as remain after thinning: then single rows dominate


def estimated(
    part: StratumFrame, own: Sequence[BucketCount], sampling: LogShares | str
) -> StratumFrame:
    """Scale the size of a stratum of counted rows to the predictions that they represent.

    If rows have individual probabilities, candidates are thinned to the smallest one; ``rows`` is
    the mean number of rows that remain.
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
    """Return a note on the number of rows that represent more predictions."""
    rows = sum(part.sampled for part in strata)
    return {SAMPLED_NOTE: rows} if rows else {}
