"""Notices: what is unusual about a round and worth a look, but no alarm.

They are not part of the promise on false alarms, so they wake nobody. Measured by
`benchmarks/notices.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.bands import bands_of
from monitor.domain.model import Stratum, Verdict
from monitor.domain.report import NoticeRow
from monitor.domain.settings import RoundSettings
from monitor.presentation import notices as notice_texts
from monitor.presentation.judge import judge_moved_sentence
from monitor.presentation.notices import threshold_sentence
from monitor.rounds.estimation.history import HistoryState, PooledLabels, cells_to_pool
from monitor.rounds.estimation.judge import cut_of
from monitor.rounds.estimation.tally import Counted, Tally
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import JointPosterior
from monitor.stats.curves.thresholds import ScoreStrata, precision_p, recall_p
from monitor.stats.drift.shift import WindowDistance, window_distances
from monitor.stats.estimation.cell_matrix import plain_counts
from monitor.stats.estimation.predictive import is_outside, next_estimates, stratified_estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from monitor.stats.core.arrays import Ints

PREDICTED = ("precision", "recall")
LEVEL = 0.995  # Share of ordinary rounds inside each predicted range
CHANGED = 0.9  # Noted from this probability on, of a change that was as likely as not
JUDGED_BEFORE = 8  # Rounds whose verdicts are compared with: two months of weeks
JUDGE_MOVED = 0.2  # Noted from this relative change on, if it is so many standard deviations
BEYOND_CHANCE = 4.0
RECURRING = 0.5  # Noted from this share of items on that evidence leaves out
POINTS = 2**13  # the .5 % outside are 40 of them

_RATE_OF = {"flagged": "precision", "passed": "false_omission_rate"}


def round_anomalies(
    now: Tally,
    earlier: Sequence[Counted],
    history_state: HistoryState,
    settings: RoundSettings,
    *,
    seed: int,
) -> list[NoticeRow]:
    """Note what about a round is not what its history led one to expect."""
    counts, bands = now.counts, bands_of(now.frame, settings.sample)
    of_band, is_flagged = _by_score(bands)
    distances = window_distances(
        counts.size @ of_band, _sizes(earlier, len(bands)) @ of_band, is_flagged
    )
    notices = _frame_notices(distances, counts, earlier)
    notices += _judge_notices(now.frame, counts, earlier)
    if history_state.before is not None:
        cells = cells_to_pool(now.frame, settings.sample)
        drawn = counts if cells is None else plain_counts(counts)
        notices += _predictive_notices(history_state.before, counts, drawn, seed)
        notices += _changed_notices(
            history_state.before, counts, history_state, settings.pooling.hazard
        )
    return notices


def recurring_notices(recurring: int, drawn: int) -> list[NoticeRow]:
    """Note that evidence leaves out so many of the drawn items, where those are most."""
    if not drawn or recurring < RECURRING * drawn:
        return []
    sentence = notice_texts.recurring_sentence(recurring, drawn)
    return [
        NoticeRow(kind="recurring", subject="items", value=recurring / drawn, sentence=sentence)
    ]


def _by_score(bands: Sequence[Stratum]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return which strata each band has, from the lowest to the highest score, and its class.

    Verdicts do not count: a judge that changes moves no item.
    """
    by_score = [replace(band, name="", verdict=None) for band in bands]
    different = sorted(dict.fromkeys(by_score), key=lambda band: band.flagged)
    of_band = np.array([[band == one for one in different] for band in by_score], dtype=np.int64)
    return of_band, np.array([band.flagged for band in different])


def _sizes(rounds: Sequence[Counted], strata: int) -> NDArray[np.int64]:
    return np.array([each.counts.size for each in rounds], dtype=np.int64).reshape(-1, strata)


def _frame_notices(
    distances: Sequence[WindowDistance], counts: Counts, earlier: Sequence[Counted]
) -> list[NoticeRow]:
    unusual = [move for move in distances if move.is_unusual]
    if not unusual:
        return []
    psi = next(move.value for move in distances if move.kind == "psi")
    sentence = notice_texts.moved_sentence(unusual, _flagged_shares(counts, earlier))
    return [NoticeRow(kind="frame", subject="population", value=psi, sentence=sentence)]


def _judge_notices(
    strata: Sequence[Stratum], counts: Counts, earlier: Sequence[Counted]
) -> list[NoticeRow]:
    """Note that the judge says yes far more often, or more seldom, than earlier at equal scores."""
    cut = cut_of(strata)
    if cut is None or not earlier:
        return []
    verdicts = np.array([one.verdict or "" for one in strata])
    _, cell = np.unique(np.stack([counts.is_flagged, cut.position]), axis=1, return_inverse=True)
    before = [_judged(each.counts) for each in earlier[-JUDGED_BEFORE:]]
    rounds = np.stack([_judged(counts), np.sum(before, axis=0)])
    (yes, yes_before), (no, no_before) = (
        [np.bincount(cell.ravel(), weights=of * (verdicts == verdict)) for of in rounds]
        for verdict in (Verdict.YES, Verdict.NO)
    )
    share = (yes_before + 0.5) / (yes_before + no_before + 1)
    has_history = yes_before + no_before > 0
    size = (yes + no) * has_history
    expected, answered = float(size @ share), float((yes * has_history).sum())
    spread = np.sqrt(size * share * (1 - share) * (1 + size / (yes_before + no_before + 1)))
    is_far = abs(answered - expected) > BEYOND_CHANCE * float(np.linalg.norm(spread))
    if not is_far or abs(answered - expected) < JUDGE_MOVED * expected:
        return []
    sentence = judge_moved_sentence(round(answered), round(expected))
    return [
        NoticeRow(kind="judge", subject="verdicts", value=answered / expected, sentence=sentence)
    ]


def _judged(counts: Counts) -> NDArray[np.int64]:
    return counts.size if counts.first_phase is None else counts.first_phase.judged


def _flagged_shares(counts: Counts, earlier: Sequence[Counted]) -> tuple[float, float]:
    usual = _sizes(earlier, counts.size.size).sum(axis=0)
    now, before = (
        float(size[counts.is_flagged].sum() / size.sum()) for size in (counts.size, usual)
    )
    return now, before


def _predictive_notices(
    before: JointPosterior, counts: Counts, drawn: Counts, seed: int
) -> list[NoticeRow]:
    """Compare the labels with what was to be expected of ``drawn``, as many in the same strata."""
    notices: list[NoticeRow] = []
    expected = next_estimates(
        before, drawn.size, drawn.labeled, metrics=PREDICTED, seed=seed, points=POINTS
    )
    for metric, estimate in expected.items():
        result, interval = stratified_estimate(counts, metric), estimate.interval(level=LEVEL)
        if result is None or interval is None or not is_outside(result, interval):
            continue
        sentence = notice_texts.unexpected_sentence(metric, result, interval, LEVEL)
        notices.append(
            NoticeRow(kind="predictive", subject=metric, value=result, sentence=sentence)
        )
    return notices


def _changed_notices(
    before: JointPosterior, counts: Counts, history_state: HistoryState, hazard: float
) -> list[NoticeRow]:
    notices: list[NoticeRow] = []
    for name, step in history_state.steps.items():
        probability = step.change_probability(history_state.place, hazard)
        if probability < CHANGED:
            continue
        rates = _rates_of(name, before, counts, history_state.now)
        sentence = notice_texts.changed_sentence(name, probability, *rates)
        row = NoticeRow(kind="changed", subject=name, value=probability, sentence=sentence)
        notices.append(row)
    return notices


def _rates_of(
    name: str, before: JointPosterior, counts: Counts, now: PooledLabels
) -> tuple[float | None, float]:
    """Share of positives in a predicted class, as this round and as its history have it."""
    up = now.is_flagged == (name == "flagged")
    size = now.size[up]
    return stratified_estimate(counts, _RATE_OF[name]), float(before.mean()[up] @ size / size.sum())


def threshold_notices(
    now: Tally, earlier: Sequence[Counted], settings: RoundSettings
) -> list[NoticeRow]:
    """Note that the threshold in use is not allowed, by this round and those that its target pools.

    One threshold is tested, so its p-value needs no share of the error. Strata that have no order
    by score are not tested.
    """
    target = settings.threshold_target
    if target is None or settings.threshold is None:
        return []
    rounds = [*earlier, now][-target.rounds :]
    counts = np.sum([_counted(one) for one in rounds], axis=0)
    has_order = not now.is_judged and not any(
        part.unscored and size for part, size in zip(now.frame, counts[0], strict=True)
    )
    strata, _ = score_strata(now.frame, counts, settings.threshold) if has_order else (None, [])
    p = None
    if strata is not None:
        by_precision = target.precision is not None
        p_values = precision_p if by_precision else recall_p
        p = float(p_values(strata, target.value)[strata.current])
        if p <= 1 - target.confidence:
            return []
    sentence = threshold_sentence(settings.threshold, target, p, rounds=len(rounds))
    value = 1.0 if p is None else p
    return [NoticeRow(kind="threshold", subject=target.metric, value=value, sentence=sentence)]


def _counted(one: Counted) -> Ints:
    counts = one.counts
    return np.array([counts.size, counts.labeled, counts.positive])


def score_strata(
    frame: Sequence[Stratum], counts: Ints, threshold: float
) -> tuple[ScoreStrata | None, list[float]]:
    """Order strata from the highest score down; and give each one's lower edge.

    ``counts`` are size, labels and positives, shape ``(3, H)``. Strata without items are left out;
    None if those with some are all flagged or all passed.
    """
    parts = sorted(
        (h for h in range(len(frame)) if counts[0, h]),
        key=lambda h: (not frame[h].flagged, -_low(frame[h])),
    )
    flagged = sum(frame[h].flagged for h in parts)
    if not 0 < flagged < len(parts):
        return None, []
    edges = [_low(frame[h]) for h in parts]
    edges[flagged - 1] = threshold
    return ScoreStrata(*counts[:, parts], flagged=flagged), edges


def _low(stratum: Stratum) -> float:
    return -math.inf if stratum.low is None else stratum.low
