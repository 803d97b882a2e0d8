"""The strata of a round as people see them: score bands, even if labels are drawn from cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from monitor.domain.bands import bands_of
from monitor.domain.report import StratumRow

if TYPE_CHECKING:
    from monitor.domain.model import Stratum
    from monitor.domain.sample_settings import Sample
    from monitor.storage.samples.frame_store import StratumTally

_COUNTED = ("size", "planned", "labeled", "positive", "declined")


def band_rows(parts: Sequence[StratumTally], sample: Sample) -> list[StratumRow]:
    """Report the bands of a round; where strata are cells, each is the sum of its cells."""
    bands = bands_of([part.stratum for part in parts], sample)
    members: dict[Stratum, list[StratumTally]] = {}
    for part, band in zip(parts, bands, strict=True):
        members.setdefault(band, []).append(part)
    return [_row(band, cells) for band, cells in members.items()]


def cell_rows(parts: Sequence[StratumTally], sample: Sample) -> list[StratumRow]:
    """Report the score cells of a round; none if the bands are its strata."""
    return [] if sample.cells is None else [_row(part.stratum, [part]) for part in parts]


def _row(stratum: Stratum, parts: Iterable[StratumTally]) -> StratumRow:
    parts = list(parts)
    counted = [[getattr(part, name) for name in _COUNTED] for part in parts]
    first = [part.first_wave for part in parts if part.first_wave is not None]
    return StratumRow(
        stratum=stratum.name,
        flagged=stratum.flagged,
        low=stratum.low,
        high=stratum.high,
        **dict(zip(_COUNTED, map(sum, zip(*counted, strict=True)), strict=True)),
        first_wave=sum(first) if first else None,
    )
