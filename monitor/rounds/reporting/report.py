"""The report of a round: all that MLflow and the pages show of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, TypeVar

from monitor.domain.alerting import LimitReading, evidence_state, only_learns
from monitor.domain.bands import bands_of
from monitor.domain.model import Verdict
from monitor.domain.report import (
    AlertRow,
    AnswersRow,
    EstimateRow,
    EvidenceRow,
    NextRoundRow,
    RecoveryRow,
    ReportedEstimate,
    RoundReport,
    Status,
    StratumRow,
    TimelinePoint,
)
from monitor.domain.settings import CREDIBLE_LEVEL
from monitor.domain.slots import slots_after
from monitor.presentation.rounds import (
    alerts_text,
    check_sentence,
    learning_text,
    no_estimate_sentence,
    round_sentence,
)
from monitor.rounds.reporting.notices import round_key

if TYPE_CHECKING:
    from monitor.domain.alerting import StoredAlert
    from monitor.domain.model import Stratum
    from monitor.domain.sample_settings import Sample
    from monitor.rounds.estimation.batch import HistoryBatch, Member, Side
    from monitor.rounds.estimation.curves import Pictures
    from monitor.rounds.estimation.estimate import RoundEstimate
    from monitor.rounds.estimation.supplements import Supplements
    from monitor.rounds.reporting.surroundings import Surroundings
    from monitor.storage.results.estimate_store import EstimatedRound
    from monitor.storage.rounds.round_store import Round
    from monitor.storage.samples.frame_store import StratumTally

Row = TypeVar("Row", bound=EstimateRow)

TIMELINE = 104  # Rounds shown in the figure: two years of weeks

ESTIMAND_OF = {"round": "window", "pooled": "rate"}
"""Reports show the window's own value for a round alone, and the rate for the pooled one."""

_FIRST = ("precision", "recall")

SHOWN = tuple(
    (metric, basis, estimand)
    for metric in _FIRST
    for basis, estimand in [*ESTIMAND_OF.items(), ("corrected", "window")]
)
"""The estimates people see first."""

_MOST = 0.9  # the last answers depend on one person more than on the deadline

_COUNTED = ("size", "planned", "labeled", "positive", "declined")


def find_row(rows: Sequence[Row], metric: str, basis: str) -> Row | None:
    """Find the estimate that reports show for a metric and a basis."""
    for row in rows:
        if (row.metric, row.basis, row.estimand) == (metric, basis, ESTIMAND_OF[basis]):
            return row
    return None


def timeline_point(past: EstimatedRound, *, alert: bool, restated: bool = False) -> TimelinePoint:
    """Reduce a round to what the figure needs."""
    rows = past.rows
    return TimelinePoint(
        round=past.number,
        slot=past.slot,
        precision_round=_triple(find_row(rows, "precision", "round")),
        precision_pooled=_triple(find_row(rows, "precision", "pooled")),
        recall_round=_triple(find_row(rows, "recall", "round")),
        recall_pooled=_triple(find_row(rows, "recall", "pooled")),
        alert=alert,
        restated=restated,
    )


def closed_report(
    batch: HistoryBatch,
    member: Member,
    estimate: RoundEstimate,
    readings: Mapping[Side, LimitReading],
    supplements: Supplements,
    surroundings: Surroundings,
) -> RoundReport:
    """Report one version of a closed round."""
    from monitor.rounds.estimation.agreement import disagreement_notices  # noqa: PLC0415  scipy takes half a second
    from monitor.rounds.estimation.gold_answers import gold_notices  # noqa: PLC0415  likewise
    from monitor.rounds.estimation.segment_search import search_notices  # noqa: PLC0415  likewise

    round_, tally = member.round, member.tally
    evidence = [
        _evidence(metric, side, reading, is_compared=batch.is_compared(member))
        for (metric, side), reading in readings.items()
    ]
    counted = band_rows(tally.strata, round_.settings.sample)
    alerts, concerns = surroundings.shown_alerts(round_), surroundings.concerns[round_.id]
    first_answers = batch.labels[round_.id].first_answers()
    search = None if supplements.search is None else supplements.search.row
    return RoundReport(
        **_frame_fields(round_, batch.store_id, surroundings.issues.get(round_.id, {})),
        version=member.version,
        state="closed",
        reason=surroundings.reasons[round_.id],
        partial=tally.is_partial,
        status=_status(alerts, [*concerns, *_undefined(estimate.rows)], evidence),
        model_version=batch.history.model_version,
        size=sum(row.size for row in counted),
        flagged=sum(row.size for row in counted if row.flagged),
        strata=counted,
        cells=_cell_rows(tally.strata, round_.settings.sample),
        estimates=list(estimate.rows),
        evidence=evidence,
        alerts=[alert_row(alert, surroundings.recoveries.get(alert.id)) for alert in alerts],
        concerns=list(concerns),
        proposed_limits=dict(estimate.proposed_limits),
        proposed_unlabeled=estimate.proposed_unlabeled,
        timeline=surroundings.points(round_),
        notices=[
            *estimate.notices,
            *disagreement_notices(supplements.agreement),
            *gold_notices(supplements.gold),
            *search_notices(search),
        ],
        distances=dict(estimate.distances),
        segments=list(supplements.segments),
        segment_search=search,
        agreement=supplements.agreement,
        challenger=None if supplements.challenge is None else supplements.challenge.row,
        judge=supplements.judge,
        gold=supplements.gold,
        checks=checked.rows() if (checked := batch.checked.get(round_.id)) else [],
        answers=_answers_row(round_, first_answers, tally.strata),
        # Measured without a judge, with which few labels decide more of an estimate.
        pooled_coverage=None if tally.is_judged else round_.settings.pooling.measured_coverage(),
        **_picture_fields(estimate.pictures),
        restated=list(surroundings.restated.get(round_.id, ())),
        provisional=surroundings.provisional.get(round_.id),
        recurring=len(batch.recurring[round_.id]),
        program=_release(),
        sentence=_sentence(round_, estimate.rows, alerts, estimate.proposed_limits),
    )


def abandoned_report(
    round_: Round, *, store_id: str, reason: str, issues: Mapping[str, tuple[int, bool]]
) -> RoundReport:
    """Report a round that ended without an estimate."""
    return RoundReport(
        **_frame_fields(round_, store_id, issues),
        **_NO_SUPPLEMENTS,
        version=round_.version + 1,
        state="abandoned",
        reason=reason,
        status=Status.STALE,
        sentence=no_estimate_sentence(round_.number, reason),
    )


def attention_report(
    round_: Round, *, store_id: str, reason: str, issues: Mapping[str, tuple[int, bool]]
) -> RoundReport:
    """Report a round that needs a look before it has an estimate, or next to one."""
    return RoundReport(
        **_frame_fields(round_, store_id, issues),
        **_NO_SUPPLEMENTS,
        version=round_.version + 1,
        state=round_.state,
        reason=reason,
        status=Status.ATTENTION,
        concerns=[reason],
        sentence=check_sentence(round_.number, reason),
    )


_NO_SUPPLEMENTS: dict[str, Any] = {
    "partial": False,
    "model_version": None,
    "size": 0,
    "flagged": 0,
    "strata": [],
    "estimates": [],
    "evidence": [],
    "alerts": [],
    "proposed_limits": {},
    "timeline": [],
}


@cache
def _release() -> str:
    """Name the release that computes: its methods are what the numbers come from."""
    return f"pr-monitor {metadata.version('mlflow-pr-monitor')}"


def _picture_fields(pictures: Pictures | None) -> dict[str, Any]:
    """Give what `monitor.rounds.estimation.curves` found; nothing if it was not asked."""
    if pictures is None:
        return {}
    return {
        "cause": pictures.cause,
        "p3": pictures.p3,
        "curves": pictures.curves,
    }


def _frame_fields(
    round_: Round, store_id: str, issues: Mapping[str, tuple[int, bool]]
) -> dict[str, Any]:
    return {
        "store_id": store_id,
        "round_key": round_key(store_id, round_),
        "monitor": round_.monitor,
        "history": round_.history_id or 0,
        "round": round_.number,
        "slot": round_.slot,
        "window_start": round_.window.start,
        "window_end": round_.window.end,
        "model": round_.settings.model,
        "registered": round_.registered,
        "threshold": round_.settings.threshold,
        "snapshot": round_.snapshot,
        "explored": round_.settings.explored,
        "level": CREDIBLE_LEVEL,
        "false_alarm_every": round_.settings.limits.false_alarm_every,
        "bad_rows": {reason: count for reason, (count, bad) in issues.items() if bad},
        "next_round": _next_round(round_),
    }


def _status(
    alerts: Sequence[StoredAlert], concerns: Sequence[str], evidence: Sequence[EvidenceRow]
) -> Status:
    if any(alert.state == "firing" for alert in alerts):
        return Status.ALERT
    if concerns:
        return Status.ATTENTION
    return Status.LEARNING if only_learns([row.state for row in evidence]) else Status.OK


def _undefined(rows: Sequence[EstimateRow]) -> list[str]:
    """Name what people look at first and this round could not estimate."""
    first_rows = [(metric, find_row(rows, metric, "round")) for metric in _FIRST]
    return [metric for metric, row in first_rows if row is None or row.point is None]


def _evidence(metric: str, side: str, reading: LimitReading, *, is_compared: bool) -> EvidenceRow:
    return EvidenceRow(
        metric=metric,
        side=side,
        limit=reading.limit,
        log_evidence=reading.log_evidence,
        log_threshold=reading.log_threshold,
        state=evidence_state(reading, is_compared=is_compared),
    )


def alert_row(alert: StoredAlert, recovery: RecoveryRow | None = None) -> AlertRow:
    """Report an alert, and how far it is from its end."""
    return AlertRow(
        id=alert.id,
        metric=alert.metric,
        side=alert.side,
        limit=alert.limit,
        state=alert.state,
        fired_in_round=alert.fired_in_round,
        window_start=alert.window.start,
        window_end=alert.window.end,
        fired_at=alert.fired_at,
        recovery=recovery,
    )


def _triple(row: EstimateRow | None) -> tuple[float, float, float] | None:
    if row is None or row.point is None or row.low is None or row.high is None:
        return None
    return row.point, row.low, row.high


def _sentence(
    round_: Round,
    rows: Sequence[ReportedEstimate],
    alerts: Sequence[StoredAlert],
    proposed: Mapping[str, float],
) -> str:
    firing = [alert for alert in alerts if alert.state == "firing"]
    learns = not firing and not round_.settings.limits.bounds
    return round_sentence(
        round_.window,
        _first_rows(rows, "round"),
        _first_rows(rows, "pooled"),
        few=_with_small_counts(rows),
        alerts=learning_text(proposed) if learns else alerts_text(firing),
    )


def _first_rows(rows: Sequence[Row], basis: str) -> dict[str, Row | None]:
    return {metric: find_row(rows, metric, basis) for metric in _FIRST}


def _with_small_counts(rows: Sequence[ReportedEstimate]) -> list[str]:
    """Choose the metrics that a handful of labels decides."""
    return [
        metric
        for metric, row in _first_rows(rows, "round").items()
        if row is not None and row.caution
    ]


def _next_round(round_: Round) -> NextRoundRow | None:
    """Return the target of the next round; None if the schedule has no later slot."""
    settings = round_.settings
    slot = next(slots_after(settings.schedule, round_.slot), None)
    if slot is None:
        return None
    return NextRoundRow(
        slot=slot,
        max_labels=settings.sample.budget,
        margins=settings.sample.margin.wanted(),
        hours=settings.deadline / timedelta(hours=1),
    )


def _answers_row(
    round_: Round, times: Sequence[datetime], strata: Sequence[StratumTally]
) -> AnswersRow:
    """Count the answers of a version, and say when the first answer to each item came.

    ``times`` are the times of the first answers, ascending.

    Late answers hint at those that never came: where they still come in at the closing, a longer
    deadline would have brought more.
    """
    return AnswersRow(
        wanted=sum(tally.planned for tally in strata),
        labeled=sum(tally.labeled for tally in strata),
        declined=sum(tally.declined for tally in strata),
        half_hours=_hours(round_.opened_at, _share_of(times, 0.5)),
        most_hours=_hours(round_.opened_at, _share_of(times, _MOST)),
        last_hours=_hours(round_.opened_at, _share_of(times, 1.0)),
        open_hours=_hours(round_.opened_at, round_.closed_at),
    )


def _share_of(times: Sequence[datetime], share: float) -> datetime | None:
    """Time by which a share of the answers had come."""
    return times[math.ceil(share * len(times)) - 1] if times else None


def _hours(start: datetime, end: datetime | None) -> float | None:
    return None if end is None else round(max(0.0, (end - start).total_seconds() / 3600), 2)


def band_rows(parts: Sequence[StratumTally], sample: Sample) -> list[StratumRow]:
    """Report the bands of a round; where strata are cells, each is the sum of its cells."""
    bands = bands_of([part.stratum for part in parts], sample)
    members: dict[Stratum, list[StratumTally]] = {}
    for part, band in zip(parts, bands, strict=True):
        if part.size or band.verdict is not Verdict.MISSING:  # a judge mostly answers
            members.setdefault(band, []).append(part)
    return [_row(band, cells) for band, cells in members.items()]


def _cell_rows(parts: Sequence[StratumTally], sample: Sample) -> list[StratumRow]:
    """Report the score cells of a round; none if the bands are its strata."""
    return [] if sample.cells is None else [_row(part.stratum, [part]) for part in parts]


def _row(stratum: Stratum, parts: Iterable[StratumTally]) -> StratumRow:
    parts = list(parts)
    counted = [[getattr(part, name) for name in _COUNTED] for part in parts]
    first = [part.first_wave for part in parts if part.first_wave is not None]
    # In a cell that was judged whole, or that no verdict cuts, all items count as judged.
    is_estimated = any(part.judged is not None for part in parts)
    judged = sum(part.size if part.judged is None else part.judged for part in parts)
    return StratumRow(
        stratum=stratum.name,
        flagged=stratum.flagged,
        low=stratum.low,
        high=stratum.high,
        **dict(zip(_COUNTED, map(sum, zip(*counted, strict=True)), strict=True)),
        first_wave=sum(first) if first else None,
        judged=judged if is_estimated else None,
    )
