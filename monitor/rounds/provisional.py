"""Rounds whose labels still come: how these came so far, and what they will probably say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from monitor.domain.crashpoint import outside
from monitor.domain.label_parts import column_classes, parts_of
from monitor.domain.ports import ReadsTruth
from monitor.domain.report import ProvisionalMetric, ProvisionalRow
from monitor.domain.setting_types import parse_duration
from monitor.domain.settings import RoundSettings
from monitor.domain.state import RoundState
from monitor.presentation import estimates
from monitor.presentation.reasons import no_estimate_reason
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.tally import Tally
from monitor.rounds.reporting.concerns import is_much, note_provisional
from monitor.stats.core.counts import Counts
from monitor.stats.core.reasons import Contradiction
from monitor.stats.estimation.posterior import MetricEstimate
from monitor.stats.labels.audit import ArrivedShare
from monitor.stats.labels.delays import ArrivalCurve, Arrivals
from monitor.storage.labels import provisional_store
from monitor.storage.labels.provisional_store import PositiveCount
from monitor.storage.labels.round_labels import RoundLabels
from monitor.storage.rounds import round_claims, round_store
from monitor.storage.rounds.round_claims import Claim
from monitor.storage.rounds.round_store import Round
from monitor.storage.samples.frame_store import StratumTally

FEWEST = 20
"""Positive labels of earlier rounds, followed until they matured, that an estimate rests on."""

LEAST_MATURED = 0.1  # with less, a handful of labels would speak for all that are to come
SHORTEST = timedelta(days=1)  # labels that mature sooner are waited for
FOLLOWED = 26  # the newest rounds that have closed, and open ones, that delays are learned from
READINGS = 100  # of a round until it matures
COARSE = 0.1
"""Share of the time to maturity by which a round is first looked at, to date its labels."""

LEAST_FIT = 0.001
"""Probability below which labels are said to come as they never did."""

DAY = timedelta(days=1)
Followed = Mapping[bool, Mapping[str, Any]]
"""The settings of the column of each predicted class whose labels mature, by whether it is flagged.
"""


@dataclass(frozen=True, slots=True)
class FollowedRound:
    """A round of which labels were counted as they came; ``end`` is the end of its window."""

    end: datetime
    closed: bool
    readings: Sequence[PositiveCount]

    def age(self, at: datetime) -> float:
        """Age of its window in days."""
        return (at - self.end) / DAY

    def arrivals(self, flags: Collection[bool]) -> list[Arrivals]:
        """Positive labels of some predicted classes that came between two readings and stayed.

        Empty where many were taken back: how those that stayed came nobody knows.
        """
        from monitor.stats.labels.delays import Arrivals  # noqa: PLC0415  scipy takes half a second

        if self.taken_back(flags):
            return []
        steady = self._steady(flags)
        ages, counts = [max(0.0, self.age(at)) for at, _ in steady], [count for _, count in steady]
        stayed = [min(counts[index:]) for index in range(len(counts))]
        steps = zip([None, *ages], ages, [0, *stayed], stayed, strict=False)
        return [
            Arrivals(first, last, after - before, ages[-1])
            for first, last, before, after in steps
            if after > before
        ]

    def taken_back(self, flags: Collection[bool]) -> tuple[int, int] | None:
        """Positive labels that are gone, of how many, if the last reading lost many."""
        before = self._steady(flags)[-1][1]
        fall = before - _positive(self.readings[-1], flags)
        return (fall, before) if is_much(fall, before) else None

    def _steady(self, flags: Collection[bool]) -> list[tuple[datetime, int]]:
        """Leave out the readings that lost many labels: a file may have been cut off."""
        steady: list[tuple[datetime, int]] = []
        for reading in self.readings:
            count, before = _positive(reading, flags), steady[-1][1] if steady else 0
            if not is_much(before - count, before):
                steady.append((reading.at, count))
        return steady


def _positive(reading: PositiveCount, flags: Collection[bool]) -> int:
    return (True in flags) * reading.flagged + (False in flags) * reading.passed


def follow_labels(
    context: MonitorContext,
    round_: Round,
    labels: RoundLabels,
    claim: Claim,
    *,
    closes: bool = False,
) -> None:
    """Count the labels of a round that mature, and estimate it early unless it ``closes`` now."""
    columns, now = followed_classes(round_.settings), context.clock()
    if not columns or now < round_.window.end:
        return
    with context.database.read() as connection:
        newest = provisional_store.newest_reading(connection, round_.id)
        pause = timedelta(0) if closes else _pause(columns)
        if newest is not None and now <= newest + pause:
            return
        readings = provisional_store.read_followed(
            connection, round_.monitor_id, round_.id, FOLLOWED
        )
        rounds = round_store.read_rounds(connection, {*readings, round_.id})
    tallies = labels.counts()
    own = [one for one in tallies if one.stratum.flagged in columns]
    reading = PositiveCount(
        now,
        *(sum(one.positive for one in own if one.stratum.flagged == up) for up in (True, False)),
    )
    new = [*([] if newest else _dated(context, round_, labels, columns)), reading]
    readings[round_.id] = [*readings.get(round_.id, []), *new]
    followed = [
        FollowedRound(each.window.end, each.state is RoundState.CLOSED, readings[each.id])
        for each in sorted(rounds, key=lambda each: each.id == round_.id)
        if all(followed_classes(each.settings).get(up, of) == of for up, of in columns.items())
    ]
    row = None
    if not closes:
        row = early_row(_counts(round_, tallies, columns), columns, followed, round_.sobol_seed)
    with context.database.write() as connection:
        round_claims.hold(connection, claim)
        provisional_store.write_readings(connection, round_.id, new, row)
        note_provisional(connection, round_, row, now)


def _dated(
    context: MonitorContext, round_: Round, labels: RoundLabels, columns: Followed
) -> list[PositiveCount]:
    """Return the readings before the first look, where all positive rows have a time."""
    flagged = {one.stratum.name: one.stratum.flagged for one in labels.strata}
    own = [one for one in labels.labeled if one.positive and flagged[one.stratum] in columns]
    if labels.censuses or not own:
        return []
    since: dict[str, datetime] = {}
    for one in context.labelers_of(round_.settings):
        if isinstance(one.labeler, ReadsTruth):
            with outside("collect"):
                since |= one.labeler.positive_since([item.id for item in own])
    if any(item.id not in since for item in own):
        return []
    end, pause, now = round_.window.end, _pause(columns), context.clock()
    steps = {item.id: max(0, math.ceil((since[item.id] - end) / pause)) for item in own}
    result = []
    for step in sorted({0, *steps.values()}):
        came = Counter(flagged[item.stratum] for item in own if steps[item.id] <= step)
        if end + step * pause < now:
            result.append(PositiveCount(end + step * pause, came[True], came[False]))
    return result


def showed_estimate(context: MonitorContext, round_: Round) -> bool:
    """Whether people saw numbers of a round before all of its labels were there."""
    if not followed_classes(round_.settings):
        return False
    with context.database.read() as connection:
        return bool(provisional_store.first_estimates(connection, [round_.id]))


def followed_classes(settings: RoundSettings) -> Followed:
    """Return the predicted classes that one column labels over a day or more."""
    parts = parts_of(settings.labeling)
    of_class = {flagged: parts[part] for flagged, part in column_classes(settings.labeling).items()}
    return {
        flagged: {name: own[name] for name in own if name not in {"checks", "deadline", "for"}}
        for flagged, own in of_class.items()
        if _matures(own) >= SHORTEST
    }


def _matures(column: Mapping[str, Any]) -> timedelta:
    matures = parse_duration(column.get("matures"))
    return matures if isinstance(matures, timedelta) else timedelta(0)


def _pause(columns: Followed) -> timedelta:
    return min(map(_matures, columns.values())) / READINGS


def early_row(
    counts: Counts,
    columns: Followed,
    rounds: Sequence[FollowedRound],
    seed: int,
    *,
    least_fit: float = LEAST_FIT,
) -> ProvisionalRow:
    """Estimate a window by the share of its labels that has come; says why if that is unknown.

    In ``counts`` an item without a label yet is negative. Of ``rounds`` this one comes last.
    """
    now, age = rounds[-1].readings[-1].at, rounds[-1].age(rounds[-1].readings[-1].at)
    if any(column.get("missing_means") != "negative" for column in columns.values()):
        return ProvisionalRow(at=now, reason=estimates.LATER_NEGATIVE)
    for flags in (tuple(columns), *((flag,) for flag in columns)):
        if fall := rounds[-1].taken_back(flags):
            return ProvisionalRow(at=now, reason=estimates.taken_back_reason(*fall))
    coarse = COARSE * max(map(_matures, columns.values())) / DAY
    paces = [_Pace.of((flagged,), rounds, coarse) for flagged in sorted(columns)]
    is_one = len(columns) > 1 and columns[True] == columns[False]
    if is_one and min(pace.matured for pace in paces) < FEWEST:
        paces = [_Pace.of((True, False), rounds, coarse)]
    matured = min(pace.matured for pace in paces)
    if matured < FEWEST:
        return ProvisionalRow(
            at=now, reason=estimates.too_few_followed_reason(round(matured), FEWEST)
        )
    shares = {pace.flags: pace.curve().at(age) for pace in paces}
    least = min(share.share for share in shares.values())
    if least < LEAST_MATURED:
        return ProvisionalRow(at=now, reason=estimates.too_young_reason(least))
    if any(pace.fit() < least_fit for pace in paces):  # measured: most numbers would be wrong
        return ProvisionalRow(at=now, matured=least, reason=estimates.OTHER_PACE)
    rows = _estimates(counts, shares, seed)
    why = next((row.reason for row in rows if row.reason), None)
    metrics = [ProvisionalMetric.taken_from(row) for row in rows if row.point is not None]
    return ProvisionalRow(
        at=now,
        matured=least,
        metrics=metrics,
        reason=estimates.FASTER if isinstance(why, Contradiction) else no_estimate_reason(why),
    )


@dataclass(frozen=True, slots=True)
class _Pace:
    """How the labels of some predicted classes come: of earlier rounds, and of young ones."""

    flags: tuple[bool, ...]
    old: Sequence[Arrivals]
    young: Sequence[Arrivals]
    coarse: float

    @classmethod
    def of(cls, flags: tuple[bool, ...], rounds: Sequence[FollowedRound], coarse: float) -> _Pace:
        """Gather the arrivals of rounds that have closed, and of those that have not."""
        old, young = (
            [each for one in rounds if one.closed is closed for each in one.arrivals(flags)]
            for closed in (True, False)
        )
        return cls(flags, old, young, coarse)

    @property
    def matured(self) -> float:
        """Labels that were followed from their coming until they matured."""
        return sum(each.labels for each in self.old if each.is_dated(self.coarse))

    def curve(self) -> ArrivalCurve:
        """Share that has come by each age."""
        from monitor.stats.labels.delays import arrival_curve  # noqa: PLC0415  scipy

        return arrival_curve([*self.old, *self.young], coarse=self.coarse)

    def fit(self) -> float:
        """Probability that young rounds differ as much from earlier ones as they do."""
        from monitor.stats.labels.delays import arrival_curve, pace_fit  # noqa: PLC0415  scipy

        curve = arrival_curve(self.old, coarse=self.coarse)
        young = [each for each in self.young if each.is_dated(self.coarse)]
        return pace_fit(curve, self.matured, young, self.coarse / COARSE)


def _estimates(
    counts: Counts, shares: Mapping[tuple[bool, ...], ArrivedShare], seed: int
) -> list[MetricEstimate]:
    from monitor.stats.labels.audit import ClassAudits  # noqa: PLC0415  scipy, as above
    from monitor.stats.labels.label_error import corrected_estimates  # noqa: PLC0415  likewise

    both = shares.get((True, False))
    audits = both or ClassAudits(*(shares.get((flag,)) for flag in (True, False)))
    return corrected_estimates(counts, audits, estimands=("window",), seed=seed)


def _counts(round_: Round, tallies: Sequence[StratumTally], columns: Followed) -> Counts:
    with_negatives = [
        replace(one, labeled=max(one.labeled, one.planned - one.declined))
        if one.stratum.flagged in columns
        else one
        for one in tallies
    ]
    counts = Tally(tuple(with_negatives)).counts
    if round_.settings.sample.cells is None:
        return counts
    from monitor.stats.core.beta_mixture import HEAVY  # noqa: PLC0415  scipy takes half a second
    from monitor.stats.estimation.cell_matrix import plain_counts  # noqa: PLC0415  likewise

    return plain_counts(counts, prior=HEAVY)
