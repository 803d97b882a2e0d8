"""Scan the window of a round with the strata of its history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.crashpoint import outside
from monitor.domain.model import BadRow, BandEdges, Frame, Stratum
from monitor.domain.registered import spellings
from monitor.domain.round import Round
from monitor.domain.sample_settings import Sample
from monitor.domain.settings import RoundSettings
from monitor.presentation.windows import bad_rows_sentence, no_items_sentence, no_rows_sentence
from monitor.rounds.context import MonitorContext
from monitor.rounds.sampling.aliases import WindowAlias, window_alias
from monitor.stats.design import score_bands
from monitor.storage.results.past_counts import PastRound, read_past
from monitor.storage.samples import frame_store
from monitor.storage.samples.frame_store import History

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sqlalchemy import Connection


PROFILE = 10_000
"""Scores per class that place the band edges: an edge's rank is then right to half a percent."""


@dataclass(frozen=True, slots=True)
class WindowScan:
    """A window as scanned, and the history it belongs to (``known`` is None for a new one)."""

    frame: Frame
    edges: BandEdges
    known: History | None
    alias: WindowAlias | None = None

    @property
    def version(self) -> str | None:
        """Model version of the history."""
        return version_of(self.frame, self.alias)

    @property
    def registered(self) -> str | None:
        """The registered version that the items are of; None if that is not known."""
        return None if self.alias is None else self.alias.registered(self.frame.model_version)

    def earlier(self, context: MonitorContext, round_: Round) -> list[PastRound]:
        """Read the rounds of the history before this one."""
        if self.known is None:
            return []
        with context.database.read() as connection:
            return read_past(connection, self.known.id, before=round_.slot)


def version_of(frame: Frame, alias: WindowAlias | None) -> str | None:
    """Return the model version of a window: from its rows, else from the alias."""
    if frame.model_version is not None or alias is None:
        return frame.model_version
    return alias.version


def base_key(settings: RoundSettings) -> tuple[object, ...]:
    """List the settings whose change opens a new history."""
    bands, cells, judge = settings.sample.bands, settings.sample.cells, settings.judge
    also = [] if judge is None else ["judge", judge.title]
    also += [] if settings.weight is None else ["weight", settings.weight]
    also += [] if settings.log_sampling is None else ["kept_with", settings.log_sampling]
    if cells is None:
        return (settings.model, bands.flagged, bands.passed, *also)
    return (settings.model, "cells", cells.flagged, cells.passed, *also)


def scan_window(context: MonitorContext, round_: Round) -> WindowScan:
    """Scan with the newest history's bands; scan again only if the window belongs to another."""
    settings = round_.settings
    alias = window_alias(context, round_)
    with context.database.read() as connection:
        newest = _newest_history(connection, round_.monitor_id, settings)
    at_most = settings.sample.budget
    if newest is not None:
        frame = _scan(context, round_, newest.edges, at_most)
        same_model = newest.model_version in spellings(version_of(frame, alias))
        if frame.rows == 0 or (same_model and not _lacks_a_band(frame, newest.edges, settings)):
            return WindowScan(frame, newest.edges, newest, alias)
    profile = _scan(context, round_, BandEdges(), max(at_most, PROFILE))
    edges = _edges(profile, settings)
    with context.database.read() as connection:
        existing = frame_store.history_for(
            connection,
            round_.monitor_id,
            model_version=version_of(profile, alias),
            threshold=settings.threshold,
            key_parts=base_key(settings),
            unscored=edges.unscored,
        )
    if existing is not None:
        edges = existing.edges
    if edges == BandEdges():
        return WindowScan(profile, edges, existing, alias)
    return WindowScan(_scan(context, round_, edges, at_most), edges, existing, alias)


def first_scan(
    connection: Connection, monitor_id: int | None, settings: RoundSettings
) -> tuple[tuple[Stratum, ...], int]:
    """Predict the strata and most candidates of the first scan of a window."""
    newest = None if monitor_id is None else _newest_history(connection, monitor_id, settings)
    at_most = settings.sample.budget
    if newest is None:
        return BandEdges().strata(), max(at_most, PROFILE)
    return newest.edges.strata(), at_most


def _newest_history(
    connection: Connection, monitor_id: int, settings: RoundSettings
) -> History | None:
    return frame_store.newest_history(
        connection, monitor_id, threshold=settings.threshold, key_parts=base_key(settings)
    )


def _scan(context: MonitorContext, round_: Round, edges: BandEdges, at_most: int) -> Frame:
    with outside("scan"):
        return context.source.scan(round_.window, edges.strata(), at_most, round_.seed)


def _lacks_a_band(frame: Frame, edges: BandEdges, settings: RoundSettings) -> bool:
    """Whether items without a score have no band; with a threshold they are bad rows anyway."""
    return settings.threshold is None and not edges.unscored and BadRow.NO_SCORE in frame.bad_rows


def _edges(profile: Frame, settings: RoundSettings) -> BandEdges:
    scores: dict[bool, list[float]] = {True: [], False: []}
    unscored = False
    for part in profile.strata:
        matches = [c.score for c in part.candidates if c.score is not None]
        unscored = unscored or 0 < len(matches) < len(part.candidates)
        scores[part.stratum.flagged] += matches
    return edges_of(
        scores[True],
        scores[False],
        settings.sample,
        unscored=unscored,
        judged=settings.judge is not None,
        few_flagged=any(part.release for part in profile.strata),
    )


def why_unusable(frame: Frame, settings: RoundSettings) -> str | None:
    """Describe why a window cannot be sampled; None if it can."""
    if frame.rows == 0:
        return no_rows_sentence(frame.window)
    bad = sum(frame.bad_rows.values())
    if bad > settings.bad_rows_max * frame.checked_rows:
        return bad_rows_sentence(frame, settings.bad_rows_max)
    if frame.size == 0:
        return no_items_sentence(frame)
    return None


_ALL = 10**9  # labels, if each item gets one


def edges_of(
    flagged: ArrayLike,
    passed: ArrayLike,
    sample: Sample,
    *,
    unscored: bool,
    judged: bool = False,
    few_flagged: bool = False,
) -> BandEdges:
    """Cut the scores of both classes as finely as the settings ask and the labels allow.

    unscored: Whether items without a score have their own band.
    few_flagged: Whether the flagged scores are of all items of the class that can be labeled.
    judged: Whether a verdict cuts them as well; then scores are cut half as finely.
    """
    cut, cutting, each = (
        (sample.bands, score_bands.band_edges, score_bands.LABELS_PER_BAND)
        if sample.cells is None
        else (sample.cells, score_bands.cell_edges, score_bands.LABELS_PER_CELL)
    )
    verdicts, labels = 2 if judged else 1, _ALL if sample.max_labels == "all" else sample.budget
    up, down = score_bands.affordable_bands(
        max(1, cut.flagged // verdicts),
        max(1, cut.passed // verdicts),
        labels // verdicts,
        each,
    )
    if few_flagged:
        up = max(1, min(up, np.size(flagged) // each))
    return BandEdges(cutting(flagged, up), cutting(passed, down), unscored=unscored, judged=judged)
