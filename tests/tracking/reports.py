"""Made-up reports for the tests: the figures mean nothing, but hang together."""

from datetime import UTC, datetime, timedelta

from monitor.domain.model import Effect, EffectKind
from monitor.domain.report import (
    AlertRow,
    EvidenceRow,
    ReportedEstimate,
    RoundReport,
    Status,
    StratumRow,
    TimelinePoint,
)
from monitor.domain.segments import SegmentRow

FIRST_SLOT = datetime(2025, 1, 6, 6, tzinfo=UTC)
LIMITS = {"precision": 0.80, "recall": 0.50}
ROUND, FLEET, TAGS = EffectKind.ROUND_RUN, EffectKind.FLEET_POINT, EffectKind.MODEL_TAGS


def slot_of(round_number):
    return FIRST_SLOT + timedelta(weeks=round_number - 1)


def center(metric, round_number):
    """A classifier whose precision is fine for eight rounds and then falls."""
    wobble = ((round_number * 37) % 11 - 5) / 250
    fall = max(0, round_number - 8) * 0.035
    value = {"precision": 0.87 - fall, "recall": 0.60 - fall / 3, "f1": 0.71 - fall / 2}[metric]
    return round(value + wobble, 6)


def triple(point, half):
    return point, max(point - half, 0.0), min(point + half, 1.0)


def is_firing(round_number):
    return round_number >= 10


def timeline(up_to):
    return [
        TimelinePoint(
            round=number,
            slot=slot_of(number),
            precision_round=triple(center("precision", number), 0.055),
            precision_pooled=triple(center("precision", max(number - 1, 1)), 0.03),
            recall_round=None if number == 5 else triple(center("recall", number), 0.12),
            recall_pooled=triple(center("recall", max(number - 1, 1)), 0.05),
            alert=is_firing(number),
        )
        for number in range(1, up_to + 1)
    ]


def estimate(metric, basis, estimand, point=None, half=0.0, **changes):
    _, low, high = (None,) * 3 if point is None else triple(point, half)
    values = {"point": point, "low": low, "high": high, "level": 0.95, "method": "posterior"}
    shared = {"metric": metric, "basis": basis, "estimand": estimand}
    return ReportedEstimate.model_validate(shared | values | changes)


def estimates(number, shift):
    rows = []
    for metric in ("precision", "recall", "f1"):
        for basis, estimand, half in (("round", "window", 0.055), ("pooled", "rate", 0.03)):
            row = estimate(metric, basis, estimand, center(metric, number) + shift, half)
            bounds = {"bound_low": row.low - 0.02, "bound_high": row.high + 0.01}
            rows.append(row.model_copy(update=bounds if basis == "round" else {}))
    ends = {"low": 0.046, "high": 0.057}
    for basis, estimand in (("round", "window"), ("pooled", "rate")):
        rows.append(estimate("prevalence", basis, estimand, 0.051, **ends))
    return [*rows, estimate("accuracy", "pooled", "rate", reason="not asked for")]


def strata():
    edges = [("flagged", True, [0.5, 0.7, 0.9, None]), ("passed", False, [None, 0.1, 0.3, 0.5])]
    return [
        StratumRow(
            stratum=f"{name}-{i + 1}",
            flagged=flagged,
            low=bounds[i],
            high=bounds[i + 1],
            size=1200 * (i + 1) if flagged else 30_000 // (i + 1),
            planned=80,
            labeled=76,
            positive=(50 + 9 * i) if flagged else 2 * i,
            declined=1,
        )
        for name, flagged, bounds in edges
        for i in range(3)
    ]


def make_report(
    number=1, *, version=1, shift=0.0, monitor="mail-travel", state="closed", **changes
):
    firing = is_firing(number)
    alert = AlertRow(
        id="a1",
        metric="precision",
        side="at_least",
        limit=0.8,
        state="firing",
        fired_in_round=10,
    )
    point, low, high = triple(center("precision", number) + shift, 0.03)
    values = {
        "store_id": "5f0c9a2e",
        "round_key": f"5f0c9a2e/{monitor}/1/{slot_of(number):%Y-%m-%dT%H:%M:%SZ}",
        "monitor": monitor,
        "history": 1,
        "round": number,
        "version": version,
        "slot": slot_of(number),
        "window_start": slot_of(number) - timedelta(weeks=1, hours=6),
        "window_end": slot_of(number) - timedelta(hours=6),
        "state": state,
        "reason": None if state == "closed" else "no label came for the flagged class",
        "status": Status.ALERT if firing else Status.OK,
        "model": None,
        "model_version": "7",
        "threshold": 0.5,
        "false_alarm_every": 52,
        "bad_rows": {"score is NaN": 14},
        "strata": strata(),
        "estimates": estimates(number, shift) if state == "closed" else [],
        "evidence": [
            EvidenceRow(
                metric=metric,
                side="at_least",
                limit=limit,
                log_evidence=float(max(0, number - 7)) * 1.4,
                log_threshold=3.95,
            )
            for metric, limit in LIMITS.items()
        ],
        "alerts": [alert] if firing else [],
        "proposed_limits": {},
        "timeline": timeline(number),
        "sentence": (
            f"Of the mail flagged in the week to {slot_of(number):%d %B %Y}, about {point:.0%} "
            f"({low:.0%} to {high:.0%}) was right, counting earlier weeks; "
            + ("that is below the limit of 80 %." if firing else "the limit of 80 % holds.")
        ),
    }
    return RoundReport.model_validate({**values, **changes})


def make_effect(kind, report, *, attempt=1):
    return Effect(
        id=report.round,
        key=f"{kind}/{report.round_key}/{report.version}",
        kind=EffectKind(kind),
        sink="mlflow",
        monitor=report.monitor,
        payload=report.model_dump(mode="json"),
        attempt=attempt,
    )


def segments(columns=("country",), values=("CZ", "SK")):
    """Precision and recall of each value; recall of the last one has no estimate."""
    return [
        SegmentRow(
            segment=column,
            value=value,
            metric=metric,
            size=8000 - 100 * place,
            flagged=400,
            labeled=90,
            **no_number(metric) if value == values[-1] and metric == "recall" else a_number(),
        )
        for column in columns
        for place, value in enumerate(values)
        for metric in ("precision", "recall")
    ]


def a_number():
    numbers = {"point": 0.8, "low": 0.71, "high": 0.88}
    alone = {"alone_point": 0.75, "alone_low": 0.6, "alone_high": 0.9}
    return {**numbers, **alone, "margin": 0.1, "more_round": 1200, "more_segment": 40}


def no_number(metric):
    return dict.fromkeys(("point", "low", "high")) | {"reason": f"no label says the {metric}"}
