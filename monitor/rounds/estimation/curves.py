"""What a version of a round shows besides its numbers: cause of a change, P3 curve, curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.curve_rows import FEWEST_FOR_CURVES, GRID_POINTS, CurvesRow, PrevalenceRow
from monitor.rounds.estimation.attribution import precision_cause
from monitor.rounds.estimation.pooled_labels import cells_to_pool
from monitor.stats.core.draws import Draws, draw
from monitor.stats.core.sample import LabeledSample, ScoredSample
from monitor.stats.curves.curve_draws import curve_bands
from monitor.stats.estimation.grouped_cells import grouped_cells
from monitor.stats.estimation.prevalence import prevalence_curve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from monitor.domain.report import CauseRow
    from monitor.domain.sample_settings import Sample
    from monitor.rounds.estimation.batch import Estimates, HistoryBatch, Member
    from monitor.rounds.estimation.estimate import RoundEstimate
    from monitor.rounds.estimation.tally import Counted, Tally
    from monitor.storage.labels.round_labels import RoundLabels
    from monitor.storage.rounds.round_store import Round
    from monitor.storage.samples.frame_store import StratumTally

POINTS = 2**11  # a figure shows two digits


class NoCurves(ValueError):
    """Why the labels of a round make no curve, in a sentence."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """The figures besides the estimates; ``None`` where the labels do not allow one.

    ``curves`` are also None for a version in which only earlier rounds changed: the curves of
    the version before still hold.
    """

    cause: CauseRow | None = None
    p3: PrevalenceRow | None = None
    curves: CurvesRow | None = None


def with_pictures(batch: HistoryBatch, estimates: Estimates) -> Estimates:
    """Add them to the estimate of each affected round."""
    return {
        member.round.id: replace(
            estimates[member.round.id],
            pictures=_pictures(
                member,
                batch.labels[member.round.id],
                batch.before(index),
                estimates[member.round.id],
            ),
        )
        for index, member in enumerate(batch.affected)
    }


def _pictures(
    member: Member, labels: RoundLabels, earlier: Sequence[Counted], estimate: RoundEstimate
) -> Pictures:
    round_ = member.round
    seed = round_.sobol_seed
    by_class = cells_to_pool(member.tally.frame, round_.settings.sample) is not None
    draws = draw(estimate.pooled, seed=seed, points=POINTS, size=estimate.size)
    return Pictures(
        cause=precision_cause(member.tally, earlier, seed=seed, cells=by_class),
        p3=_p3(member.tally, estimate, draws),
        # No label changed: only earlier rounds did, and curves are of this round alone.
        curves=None
        if round_.label_revision == round_.estimated_revision
        else _curves(round_, labels, seed),
    )


def _p3(now: Tally, estimate: RoundEstimate, draws: Draws) -> PrevalenceRow | None:
    """Read precision at other prevalences from all that is known of the rates."""
    counts = now.counts
    labeled = [counts.labeled[chosen].any() for chosen in (counts.is_flagged, ~counts.is_flagged)]
    if not all(labeled):
        return None
    curve = prevalence_curve(draws.rate_matrix(estimate.size), scaled=estimate.scaled)
    return PrevalenceRow.of(curve)


def _curves(round_: Round, labels: RoundLabels, seed: int) -> CurvesRow | None:
    try:
        sample = scored_sample(round_, labels)
    except NoCurves:
        return None
    positive = int(sample.items.positive.sum())
    if min(positive, len(sample.score) - positive) < FEWEST_FOR_CURVES:
        return None
    bands = curve_bands(sample, points=GRID_POINTS, rng=np.random.default_rng(seed))
    return CurvesRow.of(bands, sample.items)


def scored_sample(round_: Round, labels: RoundLabels) -> ScoredSample:
    """Take the labeled items of a round with their scores.

    Raises `NoCurves` if items have no score, or a stratum that holds items no label.
    """
    return pooled_sample([(round_, labels)])


def pooled_sample(rounds: Sequence[tuple[Round, RoundLabels]]) -> ScoredSample:
    """Take the scored items of rounds with the same strata as one sample, of all their windows."""
    drawn = [item for _, labels in rounds for item in labels.labeled]
    scores = [item.score for item in drawn if item.score is not None]
    if len(scores) < len(drawn):
        message = "items of this round have no score"
        raise NoCurves(message)
    round_, first = rounds[0]
    items, group = _grouped([labels for _, labels in rounds], round_.settings.sample)
    low, high = _bounds(first.strata, round_.settings.threshold)
    by_group = len(items.size)
    lows, highs = np.full(by_group, np.inf), np.full(by_group, -np.inf)
    np.minimum.at(lows, group, low)
    np.maximum.at(highs, group, high)
    return ScoredSample(items, scores, low=lows, high=highs)


def labeled_sample(labels: RoundLabels, sample: Sample) -> LabeledSample:
    """Take the labeled items of a round, in the order of the draw.

    Raises `NoCurves` if a stratum that holds items has no label; where strata are score cells, a
    class of them.
    """
    return _grouped([labels], sample)[0]


def _grouped(
    rounds: Sequence[RoundLabels], sample: Sample
) -> tuple[LabeledSample, NDArray[np.int64]]:
    """Take the labeled items of rounds with the same strata; and the sample's stratum of each."""
    cells = sample.cells is not None
    for labels in rounds:
        _check_labeled(labels, cells=cells)
    strata = rounds[0].strata
    index = {part.stratum.name: h for h, part in enumerate(strata)}
    drawn = [item for labels in rounds for item in labels.labeled]
    stratum = np.array([index[item.stratum] for item in drawn], dtype=np.int64)
    positive = np.array([item.positive for item in drawn], dtype=np.bool_)
    size = np.sum([[part.size for part in labels.strata] for labels in rounds], axis=0)
    flagged = sum(part.stratum.flagged for part in strata)
    if cells:
        return grouped_cells(stratum, positive, size=size, flagged=flagged)
    return LabeledSample(stratum, positive, size=size, flagged=flagged), np.arange(len(size))


def _check_labeled(labels: RoundLabels, *, cells: bool) -> None:
    strata = labels.strata
    if any(part.judged is not None for part in strata):
        message = "sizes by verdict are estimated, and curves take them as counted"
        raise NoCurves(message)
    holding = {part.stratum.name for part in strata if part.size}
    answered = {item.stratum for item in labels.labeled}
    if cells:  # one without an answer is taken with its neighbours
        seen = {part.stratum.flagged for part in strata if part.stratum.name in answered}
        answered |= {part.stratum.name for part in strata if part.stratum.flagged in seen}
    if unlabeled := holding - answered:
        whole = unlabeled & {cell.stratum for cell in labels.census}
        names = ", ".join(sorted(whole or unlabeled))
        message = f"no item of {names} is labeled yet"
        if whole:
            message = f"items of {names} are counted whole, so they have no scores here"
        raise NoCurves(message)


def _bounds(
    strata: Sequence[StratumTally], threshold: float | None
) -> tuple[list[float], list[float]]:
    """Scores that each stratum can hold; a class ends at the threshold, where there is one."""
    low, high = [], []
    for part in strata:
        stratum = part.stratum
        floor, ceiling = (threshold, None) if stratum.flagged else (None, threshold)
        lows = [bound for bound in (stratum.low, floor) if bound is not None]
        highs = [bound for bound in (stratum.high, ceiling) if bound is not None]
        low.append(max(lows, default=-np.inf))
        high.append(min(highs, default=np.inf))
    return low, high
