"""Labels for the strata of a new history: from before launch, and from rounds with other strata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from monitor.domain.model import BandEdges
from monitor.domain.round import Round
from monitor.domain.settings import RoundSettings
from monitor.rounds.context import MonitorContext
from monitor.stats.design.cell_counts import cell_counts
from monitor.stats.design.restratify import EffectiveCounts, restratify
from monitor.stats.design.score_bands import band_of
from monitor.stats.estimation.grouped_cells import cell_weights
from monitor.stats.history.change_point import pooling_steps
from monitor.stats.history.run_length import RunLength
from monitor.storage.labels.round_labels import RoundLabels, read_labels
from monitor.storage.rounds import round_store
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from monitor.rounds.sampling.window_scan import WindowScan
    from monitor.stats.history.change_point import ClassCounts

References: TypeAlias = Mapping[str, tuple[int, int]]
"""Positive items and labeled items by the name of a stratum."""


def reference_of(context: MonitorContext, round_: Round, scan: WindowScan) -> References | None:
    """Return positive and labeled per stratum from before the history; None if unknown."""
    if scan.known is not None:
        return scan.known.reference
    if scan.edges.judged:
        return None  # items that were labeled before have no verdict of this judge
    before = _before_launch(round_.settings, scan.edges)
    with context.database.read() as connection:
        rounds = _earlier_rounds(connection, round_, scan.version)
        if not rounds:
            return before
        sizes = {part.stratum.name: part.size for part in scan.frame.strata}
        pooling = round_.settings.pooling
        return _pooled_reference(
            connection,
            rounds,
            scan.edges,
            before,
            settings=RunLength(pooling.hazard, pooling.restart),
            cells=None if round_.settings.sample.cells is None else sizes,
        )


def _before_launch(settings: RoundSettings, edges: BandEdges) -> References | None:
    matrix = settings.reference
    if matrix is None or edges != BandEdges():
        return None  # four counts spread over bands mislead; the plan still uses them
    return {
        "flagged": (matrix.tp, matrix.tp + matrix.fp),
        "passed": (matrix.fn, matrix.fn + matrix.tn),
    }


@dataclass(frozen=True, slots=True, eq=False)
class DrawnItems:
    """Labeled items of one class of one round: score (NaN: none), truth, and weight N/n."""

    score: NDArray[np.float64]
    positive: NDArray[np.bool_]
    weight: NDArray[np.float64]


def _earlier_rounds(
    connection: Connection, round_: Round, model_version: str | None
) -> list[Round]:
    """Read closed rounds before this one of the same model, threshold and sizes, in any bands."""
    settings = round_.settings
    rounds = [
        closed_round
        for history_id in frame_store.histories_of_model(
            connection, round_.monitor_id, model_version=model_version, threshold=settings.threshold
        )
        for closed_round in round_store.closed_rounds(connection, history_id)
        if closed_round.slot < round_.slot
        and closed_round.settings.model == settings.model
        and closed_round.settings.weight == settings.weight
        and closed_round.settings.log_sampling == settings.log_sampling
    ]
    return sorted(rounds, key=lambda this_round: this_round.slot)


def _pooled_reference(
    connection: Connection,
    rounds: Sequence[Round],
    edges: BandEdges,
    before: References | None,
    *,
    settings: RunLength,
    cells: Mapping[str, int] | None = None,
) -> dict[str, tuple[int, int]]:
    """Make the reference of a new history from rounds drawn by other bands.

    Pools the items of each class since its last change; without a change, adds ``before``, the
    labels from before launch. ``cells`` has the new window's items in each new stratum if these are
    score cells.
    """
    read = [
        (read_labels(connection, round_), round_.settings.sample.cells is not None)
        for round_ in rounds
    ]
    reference: dict[str, tuple[int, int]] = {}
    for is_flagged in (True, False):
        drawn = [_drawn(labels, is_flagged, cells=by_cells) for labels, by_cells in read]
        existing = [items for items in drawn if items is not None]
        reference |= _class_reference(
            existing, edges, before, is_flagged, settings=settings, cells=cells
        )
    return reference


def _class_reference(
    drawn_items: Sequence[DrawnItems],
    edges: BandEdges,
    before: References | None,
    is_flagged: bool,
    *,
    settings: RunLength,
    cells: Mapping[str, int] | None,
) -> dict[str, tuple[int, int]]:
    """Count positive and labeled of one class per new stratum, from rounds that labeled it."""
    names = _names(edges, is_flagged)
    old = None if before is None else [before.get(name, (0, 0)) for name in names]
    rounds = [_pooled([items], edges, is_flagged) for items in drawn_items]
    steps: list[ClassCounts] = [(counts.positive, counts.labeled) for counts in rounds]
    launch: ClassCounts | None = None
    if old is not None:
        launch = [y for y, _ in old], [n for _, n in old]
    if cells is not None:
        size = [cells[name] for name in names]
        steps = [_one_rate(size, each) for each in steps]
        launch = None if launch is None else _one_rate(size, launch)
    pooled = pooling_steps(steps, reference=launch, settings=settings)
    # The round, from 1, since which nothing changed; 0 if nothing did since launch.
    start = pooled[-1].most_likely_start() if pooled else 0
    # Start 0 is before launch: only then are the labels from before launch still valid.
    retained = old if old is not None and start == 0 else [(0, 0)] * len(names)
    positive, labeled = _pooled(drawn_items[max(start, 1) - 1 :], edges, is_flagged).whole()
    return {
        name: (int(y) + cached_y, int(n) + cached_n)
        for name, y, n, (cached_y, cached_n) in zip(names, positive, labeled, retained, strict=True)
    }


def _one_rate(size: Sequence[int], counts: ClassCounts) -> ClassCounts:
    """Merge the cells of a class into one stratum."""
    positive, labeled = counts
    result = cell_counts(size, labeled, positive)
    return result.positive, result.labeled


def _drawn(labels: RoundLabels, is_flagged: bool, *, cells: bool) -> DrawnItems | None:
    """Return the labeled items of a class; None if a stratum (not a score cell) has no label."""
    own = [part for part in labels.strata if part.stratum.flagged == is_flagged]
    sizes = {part.stratum.name: part.size for part in own if part.size}
    items = [item for item in labels.labeled if item.stratum in sizes]
    labeled = Counter(item.stratum for item in items)
    if not labeled or not (cells or labeled.keys() == sizes.keys()):
        return None
    if cells:
        weights = cell_weights(list(sizes.values()), [labeled[name] for name in sizes])
        weight = dict(zip(sizes, weights.tolist(), strict=True))
    else:
        weight = {name: size / labeled[name] for name, size in sizes.items()}
    return DrawnItems(
        score=np.array([np.nan if item.score is None else item.score for item in items]),
        positive=np.array([item.positive for item in items]),
        weight=np.array([weight[item.stratum] for item in items]),
    )


def _pooled(rounds: Iterable[DrawnItems], edges: BandEdges, is_flagged: bool) -> EffectiveCounts:
    items = list(rounds)
    nothing = np.zeros(0)
    score = np.concatenate([nothing, *(item.score for item in items)])
    return restratify(
        _bands(score, edges, is_flagged),
        np.concatenate([nothing, *(item.positive for item in items)]),
        np.concatenate([nothing, *(item.weight for item in items)]),
        strata=len(_names(edges, is_flagged)),
        round_of=np.repeat(np.arange(len(items)), [len(item.score) for item in items]),
    )


def _bands(score: NDArray[np.float64], edges: BandEdges, is_flagged: bool) -> NDArray[np.int64]:
    """Return the band of each score; past the last stratum if no band contains it."""
    inner = edges.flagged if is_flagged else edges.passed
    if not inner and not edges.unscored:
        return np.zeros(len(score), dtype=np.int64)  # one band holds them all, scored or not
    return band_of(score, inner)


def _names(edges: BandEdges, is_flagged: bool) -> list[str]:
    return [stratum.name for stratum in edges.strata() if stratum.flagged == is_flagged]
