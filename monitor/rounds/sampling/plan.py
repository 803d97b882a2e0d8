"""How many items of each stratum a round labels, by which prior rates, and which these are."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from monitor.domain.errors import SourceRefused
from monitor.domain.label_parts import checks_of, class_parts, parts_of
from monitor.domain.model import BandEdges, Frame, Item, Stratum
from monitor.domain.round import Round
from monitor.domain.settings import RoundSettings
from monitor.domain.shown import Shown, problem_of
from monitor.presentation.windows import broken_pictures_sentence
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.history import before_launch, pooled_before
from monitor.rounds.estimation.judge import cut_of
from monitor.rounds.estimation.tally import Counted
from monitor.stats.design.allocation import Allocation, allocate
from monitor.stats.design.cell_counts import cell_counts
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.design.recalibration import labels_by_rank, recalibrated_prior
from monitor.stats.design.restratify import EffectiveCounts, restratify
from monitor.stats.design.score_bands import band_of, resemble_probabilities
from monitor.stats.design.verdict_scores import verdict_scores
from monitor.stats.detection.alternatives import decayed_labels
from monitor.stats.estimation.grouped_cells import cell_weights
from monitor.stats.history.change_point import pooling_steps
from monitor.stats.history.run_length import RunLength
from monitor.storage.labels.round_labels import RoundLabels, read_labels
from monitor.storage.results.past_counts import read_past, score_cells
from monitor.storage.rounds import round_store
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from monitor.rounds.sampling.window_scan import WindowScan
    from monitor.stats.history.change_point import ClassCounts


def plan_labels(
    frame: Frame, prior_rates: PriorRates | None, settings: RoundSettings, seed: str
) -> Allocation:
    """Plan a round within its margins and budget.

    Without ``prior_rates`` the launch matrix steers the plan, else the scores, given the verdicts
    of a judge, else nothing.
    """
    return allocate(
        prospect_of(frame, prior_rates, settings, seed),
        margins=settings.sample.margin.wanted() or None,
        max_labels=settings.sample.budget,
        assurance=settings.sample.assurance,
    )


def prospect_of(
    frame: Frame, prior_rates: PriorRates | None, settings: RoundSettings, seed: str
) -> Prospect:
    """Return the window as a round will sample it; prior_rates as for `plan_labels`."""
    is_flagged, cost = [part.stratum.flagged for part in frame.strata], settings.sample.cost
    size = [part.size for part in frame.strata]
    return Prospect.of(
        size,
        is_flagged,
        prior_rates_of(frame, prior_rates, settings),
        cost=[cost.flagged if flagged else cost.passed for flagged in is_flagged],
        share_by_size=settings.sample.share_by_size,
        uniform=uniform_of(settings, seed),
        is_free=free_strata(is_flagged, settings),
        most=[part.available for part in frame.strata]
        if any(part.has_fewer for part in frame.strata)
        else None,
        cell=cells_of(frame),
    )


def cells_of(frame: Frame) -> NDArray[np.int64] | None:
    """Return the score cell of each stratum, where verdicts cut score cells; else None."""
    strata = [part.stratum for part in frame.strata]
    is_judged = any(stratum.verdict is not None for stratum in strata)
    return score_cells(strata) if is_judged else None


def free_strata(
    is_flagged: Sequence[bool] | NDArray[np.bool_], settings: RoundSettings
) -> NDArray[np.bool_] | None:
    """Return the strata whose labels are all counted; None if there are none."""
    is_free = np.isin(np.asarray(is_flagged, dtype=np.bool_), list(settings.counted_whole))
    return is_free if is_free.any() else None


def prior_rates_of(
    frame: Frame, prior_rates: PriorRates | None, settings: RoundSettings
) -> PriorRates:
    """Choose the best that is known of the strata: see `plan_labels`."""
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
    # An amount, or items of which a log keeps a sample, tell no more of a judge than their rows.
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

    A first round uses the last history of the monitor.
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
    """Smooth the labels of the monitor's last history, such as of the last model version.

    Cells correspond by the ranks of their items. No estimate rests on these rates.
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


def reference_of(context: MonitorContext, round_: Round, scan: WindowScan) -> References | None:
    """Positive and labeled per stratum from before the history, where that is known."""
    if scan.known is not None:
        return scan.known.reference
    if scan.edges.judged:
        return None  # items that were labeled before have no verdict of this judge
    before = _before_launch(round_.settings, scan.edges)
    with context.database.read() as connection:
        rounds = earlier_rounds(connection, round_, scan.version)
        if not rounds:
            return before
        sizes = {part.stratum.name: part.size for part in scan.frame.strata}
        pooling = round_.settings.pooling
        return pooled_reference(
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


def items_of(frame: Frame, expected: Sequence[int]) -> list[Item]:
    """Take the first candidates of each stratum, as many as the plan gives it."""
    return [
        Item(
            c.id,
            part.stratum.name,
            order,
            c.score,
            part.stratum.flagged,
            dict(zip(frame.segment_columns, c.segments, strict=True)),
            c.challenged,
            c.group,
        )
        for part, size in zip(frame.strata, expected, strict=True)
        for order, c in enumerate(part.candidates[:size])
    ]


def broken_pictures(shown: Collection[Shown], settings: RoundSettings) -> tuple[str, ...]:
    """Return how many of these items have a picture that cannot be shown; nothing if none has."""
    problems = [problem for one in shown if (problem := problem_of(one)) is not None]
    if not problems:
        return ()
    sentence = broken_pictures_sentence(Counter(problems), len(shown))
    if len(problems) > settings.bad_rows_max * len(shown):
        message = f"{sentence}, more than bad_rows_max = {settings.bad_rows_max:g} allows"
        raise SourceRefused(message, is_public=True)
    return (sentence,)


def doubled(drawn: Sequence[Item], settings: RoundSettings) -> set[str]:
    """Choose the items that a second person labels too: the first by draw of each stratum.

    Of score cells the share is cumulative: rounded up in each it would be a larger one.
    """
    cells, parts = settings.sample.cells is not None, parts_of(settings.labeling)
    of_class = class_parts(settings.labeling)
    shares = [part.get("overlap", 0.0 if len(parts) > 1 else settings.overlap) for part in parts]
    by_part: defaultdict[int, list[Item]] = defaultdict(list)
    for item in drawn:
        by_part[of_class[item.predicted]].append(item)
    return set().union(*(_doubled(own, shares[part], cells=cells) for part, own in by_part.items()))


def checked_sizes(
    frame: Frame, expected: Sequence[int], settings: RoundSettings
) -> list[tuple[int, int]]:
    """Return how many items of each stratum people check, the first by draw, and who asks them.

    They are in proportion to the labels; of a column that labels both classes, half are of each.
    """
    result = [(0, 0)] * len(expected)
    for checks in checks_of(settings.labeling).values():
        for flagged in checks.classes:
            own = [h for h, part in enumerate(frame.strata) if part.stratum.flagged == flagged]
            labels = sum(expected[h] for h in own)
            share = min(1.0, checks.items / len(checks.classes) / max(labels, 1))
            before = 0
            for h in own:
                size = _share(share, before + expected[h]) - _share(share, before)
                result[h] = (min(size, len(frame.strata[h].candidates)), checks.checker)
                before += expected[h]
    return result


def _doubled(drawn: Sequence[Item], overlap: float, *, cells: bool) -> set[str]:
    of: defaultdict[str, list[Item]] = defaultdict(list)
    for item in drawn:
        of[item.stratum].append(item)
    before, result = 0, set[str]()
    for own in of.values():
        first = _share(overlap, before + len(own)) - _share(overlap, before)
        result |= {item.id for item in sorted(own, key=lambda item: item.order)[:first]}
        before += len(own) if cells else 0
    return result


def _share(overlap: float, items: int) -> int:
    # Rounded first: .07 * 100 is a little over 7, and would ask for an eighth.
    return math.ceil(round(overlap * items, 6))


_BITS = 52  # of a float's fraction


def uniform_of(settings: RoundSettings, seed: str) -> float | None:
    """Make the one uniform by which a plan over cells becomes whole; None with bands."""
    if settings.sample.cells is None:
        return None
    digest = hashlib.sha256(f"{seed}/cells/1".encode()).digest()
    return math.ldexp(int.from_bytes(digest[:8]) >> (64 - _BITS), -_BITS)


def rates_of_cells(
    strata: Sequence[Stratum],
    sizes: Sequence[int],
    earlier: Sequence[Counted],
    reference: Mapping[str, tuple[int, int]] | None,
) -> PriorRates | None:
    """Smooth the rates of cells along the score; None without a label.

    ``sizes`` are of the window; of ``earlier`` rounds the newest weighs most.
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


References: TypeAlias = Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True, eq=False)
class DrawnItems:
    """Labeled items of one class of one round: score (NaN: none), truth, and weight N/n."""

    score: NDArray[np.float64]
    positive: NDArray[np.bool_]
    weight: NDArray[np.float64]


def earlier_rounds(connection: Connection, round_: Round, model_version: str | None) -> list[Round]:
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


def pooled_reference(
    connection: Connection,
    rounds: Sequence[Round],
    edges: BandEdges,
    before: References | None,
    *,
    settings: RunLength,
    cells: Mapping[str, int] | None = None,
) -> dict[str, tuple[int, int]]:
    """Make the reference of a new history from rounds drawn by other bands.

    Per class the items since its last change are pooled; without a change ``before`` is added,
    what was known before launch. ``cells`` has the new window's items in each new stratum where
    these are score cells.
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
    """Count one class, by the rounds that labeled it: positive and labeled per new stratum."""
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
    # The round, from 1, since which nothing changed; 0 where nothing did since launch.
    start = pooled[-1].most_likely_start() if pooled else 0
    # Start 0 is before launch: only then does what was known there still hold.
    retained = old if old is not None and start == 0 else [(0, 0)] * len(names)
    positive, labeled = _pooled(drawn_items[max(start, 1) - 1 :], edges, is_flagged).whole()
    return {
        name: (int(y) + cached_y, int(n) + cached_n)
        for name, y, n, (cached_y, cached_n) in zip(names, positive, labeled, retained, strict=True)
    }


def _one_rate(size: Sequence[int], counts: ClassCounts) -> ClassCounts:
    """Make of the cells of a class one stratum."""
    positive, labeled = counts
    result = cell_counts(size, labeled, positive)
    return result.positive, result.labeled


def _drawn(labels: RoundLabels, is_flagged: bool, *, cells: bool) -> DrawnItems | None:
    """Labeled items of a class; None if a stratum, not a score cell, lacks a label."""
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
    """Band of each score; past the last stratum where no band takes it."""
    inner = edges.flagged if is_flagged else edges.passed
    if not inner and not edges.unscored:
        return np.zeros(len(score), dtype=np.int64)  # one band holds them all, scored or not
    return band_of(score, inner)


def _names(edges: BandEdges, is_flagged: bool) -> list[str]:
    return [stratum.name for stratum in edges.strata() if stratum.flagged == is_flagged]
