"""Rates to plan a round with: from earlier rounds, else a reference, else scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.model import Frame, Stratum
from monitor.domain.round import Round
from monitor.domain.settings import RoundSettings
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.history import before_launch, pooled_before
from monitor.rounds.estimation.judge import cut_of
from monitor.rounds.estimation.tally import Counted
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.recalibration import labels_by_rank, recalibrated_prior
from monitor.stats.design.score_bands import resemble_probabilities
from monitor.stats.design.verdict_scores import verdict_scores
from monitor.stats.detection.alternatives import decayed_labels
from monitor.storage.results.past_counts import read_past, score_cells
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from monitor.rounds.sampling.window_scan import WindowScan


def cells_of(frame: Frame) -> NDArray[np.int64] | None:
    """Return the score cell of each stratum if verdicts cut score cells; else None."""
    strata = [part.stratum for part in frame.strata]
    is_judged = any(stratum.verdict is not None for stratum in strata)
    return score_cells(strata) if is_judged else None


def prior_rates_of(
    frame: Frame, prior_rates: PriorRates | None, settings: RoundSettings
) -> PriorRates:
    """Return the best known rates of the strata; see `plan_labels`."""
    is_flagged = [part.stratum.flagged for part in frame.strata]
    if prior_rates is not None:
        return prior_rates
    if settings.reference is not None:
        matrix = settings.reference
        return PriorRates.of_reference(
            tp=matrix.tp, fp=matrix.fp, fn=matrix.fn, tn=matrix.tn, is_flagged=is_flagged
        )
    means = _means([[c.score for c in part.candidates] for part in frame.strata])
    if means is None:
        return PriorRates.nothing(is_flagged)
    return PriorRates.of_scores(_by_verdict(means, frame), is_flagged)


def _by_verdict(means: Sequence[float], frame: Frame) -> NDArray[np.float64]:
    """Return the mean scores of the strata given the verdicts that cut them, if any do."""
    cell, cut = cells_of(frame), cut_of([part.stratum for part in frame.strata])
    scores, size = np.array(means), np.array([part.size for part in frame.strata])
    if cell is None or cut is None:
        return scores
    up = np.array([part.stratum.flagged for part in frame.strata])
    # Amounts, or items of a sampled log, are no more evidence on a judge than their rows.
    rows = [part.size if part.rows is None else abs(part.rows) for part in frame.strata]
    per_row = np.bincount(cell, rows) / np.maximum(np.bincount(cell, size), 1)
    return verdict_scores(size * per_row[cell], scores, up, cut.terms[:, 0], cell)


def _means(scores_of: Sequence[Sequence[float | None]]) -> list[float] | None:
    """Average the scores of each stratum; None if they cannot be probabilities."""
    scores = [np.array([s for s in of if s is not None], dtype=np.float64) for of in scores_of]
    seen = np.concatenate(scores)
    if not seen.size or not resemble_probabilities(seen):
        return None
    return [float(s.mean()) if s.size else float("nan") for s in scores]


def rates_before(
    context: MonitorContext,
    round_: Round,
    scan: WindowScan,
    reference: Mapping[str, tuple[int, int]] | None,
) -> PriorRates | None:
    """Pool the reference and the earlier rounds by band, or smooth them along the cells.

    With cells, a first round uses the last history of the monitor.
    """
    earlier, strata = scan.earlier(context, round_), scan.edges.strata()
    sizes = [part.size for part in scan.frame.strata]
    if round_.settings.sample.cells is not None:
        rates = rates_of_cells(strata, sizes, earlier, reference)
        return rates or _rates_of_last_history(context, round_, strata, sizes)
    pooled = pooled_before(earlier, strata, reference, round_.settings.pooling)
    return None if pooled is None else PriorRates.of_posterior(pooled)


def _rates_of_last_history(
    context: MonitorContext, round_: Round, strata: Sequence[Stratum], sizes: Sequence[int]
) -> PriorRates | None:
    """Smooth the labels of the monitor's last history, such as the last model version's.

    Cells are matched by the ranks of their items. No estimate uses these rates.
    """
    with context.database.read() as connection:
        last = frame_store.last_history(connection, round_.monitor_id, before=round_.slot)
        past = [] if last is None else read_past(connection, last.id, before=round_.slot)
    if last is None or not any(each.counts.labeled.any() for each in past):
        return None
    earlier, size = last.edges.strata(), past[-1].counts.size
    existing = decayed_labels([each.counts for each in past])
    positive, labeled = np.zeros((2, len(strata)))
    for kind in {_kind(stratum) for stratum in strata}:
        old, new = (
            [h for h, stratum in enumerate(each) if _kind(stratum) == kind]
            for each in (earlier, strata)
        )
        if old:
            where = size[old], np.array(sizes)[new]
            positive[new], labeled[new] = (labels_by_rank(of[old], *where) for of in existing)
    if not labeled.any():
        return None
    return replace(_recalibrated(strata, sizes, positive, labeled), source="history")


def _kind(stratum: Stratum) -> tuple[object, ...]:
    return stratum.flagged, stratum.unscored, stratum.verdict


def rates_of_cells(
    strata: Sequence[Stratum],
    sizes: Sequence[int],
    earlier: Sequence[Counted],
    reference: Mapping[str, tuple[int, int]] | None,
) -> PriorRates | None:
    """Smooth the rates of cells along the score; None without a label.

    ``sizes`` are the window's; the newest of the ``earlier`` rounds weighs most.
    """
    launch = before_launch(strata, reference)
    existing = [*([] if launch is None else [launch]), *(each.counts for each in earlier)]
    if not any(counts.labeled.any() for counts in existing):
        return None
    return _recalibrated(strata, sizes, *decayed_labels(existing))


def _recalibrated(
    strata: Sequence[Stratum],
    sizes: Sequence[int],
    positive: NDArray[np.float64],
    labeled: NDArray[np.float64],
) -> PriorRates:
    return recalibrated_prior(
        sizes,
        [stratum.flagged for stratum in strata],
        labeled,
        positive,
        [stratum.unscored for stratum in strata],
        cut_of(strata),
    )
