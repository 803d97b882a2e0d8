"""Propose a threshold from labels of closed rounds, among the edges of their score strata."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from monitor.domain.curve_rows import FEWEST_FOR_CURVES
from monitor.domain.errors import InputRefused
from monitor.domain.model import Stratum
from monitor.domain.round import Round
from monitor.rounds.estimation.curves import NoCurves, pooled_sample
from monitor.rounds.estimation.label_errors import has_most_labels
from monitor.stats.core.counts import Interval
from monitor.stats.core.sample import ScoredSample
from monitor.stats.curves import thresholds
from monitor.stats.curves.thresholds import ScoreStrata, ThresholdTests
from monitor.stats.estimation.paired import compare_threshold
from monitor.storage.labels.round_labels import RoundLabels, read_all_labels
from monitor.storage.rounds import round_store
from monitor.storage.samples.frame_store import StratumTally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from monitor.stats.core.arrays import Ints

DAY = 86_400


class Goal(NamedTuple):
    """Goal of a threshold: a precision, a recall, two costs, or a capacity in items a day."""

    precision: float | None = None
    recall: float | None = None
    costs: tuple[float, float] | None = None
    capacity: float | None = None
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """A threshold: the items that it flags in a window, its metrics, and the p-value of the goal.

    Only the present and the proposed threshold have intervals. The labels confirm the goal if ``p``
    is at most ``allowed_p``.
    """

    threshold: float
    flagged: float
    precision: float
    recall: float
    p: float | None
    allowed_p: float | None
    intervals: dict[str, Interval | None] | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """The thresholds from high to low, and the positions of the present and the proposed one.

    ``proposed`` is None if no threshold is allowed; ``sure`` is whether the labels confirm the
    goal. A labeled set has no ``rounds``: ``drawn`` describes how it was drawn, ``warnings`` are
    doubts about that, and ``total`` is the number of items among which flagged ones are counted.
    """

    goal: Goal
    curve: tuple[AtThreshold, ...]
    current: int
    proposed: int | None
    sure: bool
    labeled: int
    positive: int
    missing: int = 0
    rounds: tuple[Round, ...] = ()
    drawn: str = ""
    warnings: tuple[str, ...] = ()
    total: int | None = None


def propose(connection: Connection, round_: Round, count: int, goal: Goal) -> Proposal:
    """Find the threshold that reaches a goal, from a closed round and the ``count - 1`` before it.

    Raises `InputRefused` if the rounds are fewer, or have no scores, no threshold, a judge, other
    strata than the newest, too few labels, or many still to come; or if a capacity is above their
    traffic.
    """
    rounds = _rounds(connection, round_, count)
    if young := next((each for each in rounds if not has_most_labels(each)), None):
        message = f"many labels of round {young.number} are still to come; take an earlier round"
        raise _refused(round_, message)
    labels = read_all_labels(connection, rounds)
    read = [(each, labels[each.id]) for each in rounds]
    _check(round_, [of_round for _, of_round in read])
    frame = [part.stratum for part in read[0][1].strata]
    counts = np.sum([_counted(of_round.counts()) for _, of_round in read], axis=0)
    strata, edges = _score_strata(frame, counts, float(round_.settings.threshold or 0.0))
    if strata is None:
        message = "its items are all flagged or all passed"
        raise _refused(round_, message)
    traffic = strata.size.sum() / len(rounds) / _days(round_)
    if goal.capacity is not None and goal.capacity >= traffic:
        message = f"it has {traffic:,.0f} items a day, so any threshold keeps that --capacity"
        raise _refused(round_, message)
    labeled, positive = int(strata.labeled.sum()), int(strata.positive.sum())
    if min(positive, labeled - positive) < FEWEST_FOR_CURVES:
        message = (
            f"{positive} positive and {labeled - positive} negative labels are too few for a "
            f"threshold; it needs {FEWEST_FOR_CURVES} of each, so label more or take more --rounds"
        )
        raise _refused(round_, message)
    try:
        sample = pooled_sample(read)
    except NoCurves as error:
        raise _refused(round_, str(error)) from error
    return proposal_of(
        strata,
        edges,
        goal,
        sample=sample,
        seed=round_.sobol_seed,
        rounds=tuple(rounds),
        missing=sum(len(of_round.items) - len(of_round.labeled) for _, of_round in read),
    )


def _score_strata(
    frame: Sequence[Stratum], counts: Ints, threshold: float
) -> tuple[ScoreStrata | None, list[float]]:
    """Order strata from the highest score down, and return the lower edge of each.

    ``counts`` are size, labels and positives, shape ``(3, H)``. Skips strata without items; None if
    the others are all flagged or all passed.
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


def proposal_of(
    strata: ScoreStrata,
    edges: Sequence[float],
    goal: Goal,
    *,
    sample: ScoredSample,
    seed: int,
    rounds: tuple[Round, ...] = (),
    **described: Any,
) -> Proposal:
    """Choose among the lower edges of strata; intervals are from ``sample``, the same labels."""
    flagged = strata.flagged_items() / max(len(rounds), 1)
    days = _days(rounds[-1]) if rounds else 1
    proposed, sure, tested = _chosen(strata, flagged / days, goal)
    shown = {strata.current} if proposed is None else {strata.current, proposed}
    return Proposal(
        goal=goal,
        curve=tuple(_curve(strata, edges, flagged, tested, _intervals(sample, edges, shown, seed))),
        current=strata.current,
        proposed=proposed,
        sure=sure,
        labeled=len(sample.score),
        positive=int(sample.items.positive.sum()),
        rounds=rounds,
        **described,
    )


def _days(round_: Round) -> float:
    return (round_.window.end - round_.window.start).total_seconds() / DAY


def _rounds(connection: Connection, round_: Round, count: int) -> list[Round]:
    closed = (
        []
        if round_.history_id is None
        else round_store.closed_rounds(connection, round_.history_id)
    )
    rounds = [each for each in closed if each.slot <= round_.slot]
    if not rounds or rounds[-1].id != round_.id:
        message = f"it is {round_.state}, and a threshold is read from closed rounds"
        raise _refused(round_, message)
    if count > len(rounds):
        message = (
            f"{count} rounds were asked for, and its history (one model version, one threshold) "
            f"has {len(rounds)} up to it; give --rounds {len(rounds)}"
        )
        raise _refused(round_, message)
    return rounds[-count:]


def _check(round_: Round, labels: Sequence[RoundLabels]) -> None:
    first, *others = [[part.stratum for part in each.strata] for each in labels]
    if round_.settings.threshold is None:
        message = "its predictions have no threshold to change"
    elif any(stratum.verdict is not None for stratum in first):
        message = "a judge's verdicts cut its strata, so none can be tested"
    elif any(part.stratum.unscored and part.size for each in labels for part in each.strata):
        message = "some of its items have no score, so no threshold decides on them"
    elif any(strata != first for strata in others):
        message = "earlier rounds were drawn by other score strata; take fewer --rounds"
    else:
        return
    raise _refused(round_, message)


def _counted(parts: Sequence[StratumTally]) -> Ints:
    """Size, labels and positives of the strata, shape ``(3, H)``."""
    return np.array([[part.size, part.labeled, part.positive] for part in parts]).T


def _chosen(
    strata: ScoreStrata, a_day: np.ndarray, goal: Goal
) -> tuple[int | None, bool, ThresholdTests | None]:
    """Return the position of a threshold, whether labels confirm it, and the p-values."""
    error = 1 - goal.confidence
    if goal.costs is not None:
        best, sure = thresholds.cheapest(strata, *goal.costs, error=error)
        p = thresholds.cheaper_p(strata, *goal.costs)
        allowed = np.full(len(p), thresholds.shared_p(strata, error))
        return (best, sure, ThresholdTests(p, allowed, np.array(best)))
    if goal.capacity is not None:
        fitting = np.flatnonzero(a_day <= goal.capacity)
        return (int(fitting[-1]) if len(fitting) else None, True, None)
    metric = "recall" if goal.precision is None else "precision"
    target = goal.precision or goal.recall or 0.0
    tested = thresholds.threshold_tests(strata, metric, target, error=error)
    last = int(tested.last)
    return (None if last < 0 else last, last >= 0, tested)


def _intervals(
    sample: ScoredSample, edges: Sequence[float], shown: set[int], seed: int
) -> dict[int, dict[str, Interval | None]]:
    intervals = {}
    for k in shown:
        compared = compare_threshold(sample, edges[k], rng=np.random.default_rng(seed))
        intervals[k] = {each.metric: each.second for each in compared.metrics}
    return intervals


def _curve(
    strata: ScoreStrata,
    edges: Sequence[float],
    flagged: np.ndarray,
    tested: ThresholdTests | None,
    intervals: dict[int, dict[str, Interval | None]],
) -> list[AtThreshold]:
    return [
        AtThreshold(
            threshold=edges[k],
            flagged=float(flagged[k]),
            precision=float(precision),
            recall=float(recall),
            p=None if tested is None else float(tested.p[k]),
            allowed_p=None if tested is None else float(tested.allowed[k]),
            intervals=intervals.get(k),
        )
        for k, (precision, recall) in enumerate(
            zip(strata.precision(), strata.recall(), strict=True)
        )
    ]


def _refused(round_: Round, problem: str) -> InputRefused:
    message = f"round {round_.number} of {round_.monitor} proposes no threshold: {problem}"
    return InputRefused(message)
