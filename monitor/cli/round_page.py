"""What `pr-monitor show` says of one round."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from monitor.cli.common import minute
from monitor.cli.numbers import interval_text, reason_text
from monitor.cli.printing import say, say_table
from monitor.domain.errors import InputRefused
from monitor.domain.report import EstimateRow
from monitor.rounds.report import find_row
from monitor.storage import estimate_store, frame_store, round_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from monitor.storage.round_store import Round
    from monitor.wiring import Plant

COUNTED = ["stratum", "size", "planned", "labeled", "positive", "declined"]
LARGEST = 700
"""Log evidence above which e**x is no finite number."""


def round_page(plant: Plant, monitor: str, number: int, version: int | None) -> dict[str, Any]:
    """Gather everything about one version of a round.

    Raises
    ------
    InputRefused
        If the monitor has no such round, or the round no such version.
    """
    with plant.database.read() as connection:
        found = _find(connection, monitor, number)
        version = _version(found, version)
        issues = frame_store.read_issues(connection, found.id)
        return {
            "monitor": monitor,
            "round": found.number,
            "slot": found.slot,
            "window": [found.window.start, found.window.end],
            "state": found.state,
            "reason": found.reason,
            "version": version,
            "latest_version": found.version,
            "partial": found.partial,
            "strata": _strata(connection, found, version),
            "estimates": [
                row.model_dump()
                for row in estimate_store.read_estimates(connection, found.id, version)
            ],
            "evidence": estimate_store.read_evidence(connection, found.id, version),
            "bad_rows": {reason: count for reason, (count, bad) in issues.items() if bad},
            "notes": {reason: count for reason, (count, bad) in issues.items() if not bad},
            "events": round_store.read_events(connection, found.id),
            "settings": found.settings.model_dump(mode="json"),
        }


def say_round(page: dict[str, Any]) -> None:
    """Print a round's page."""
    for line in _head_lines(page):
        say(line, indent="  ")
    if page["strata"]:
        say()
        rows = [["-" if row[k] is None else str(row[k]) for k in COUNTED] for row in page["strata"]]
        say_table([*COUNTED[:-1], "cannot tell"], rows, right="12345")
    if whole := [row["stratum"] for row in page["strata"] if row["size"] == row["planned"] > 0]:
        say(f"census: every item of {', '.join(whole)} is drawn", indent="  ")
    if page["estimates"]:
        say()
        _say_estimates([EstimateRow(**row) for row in page["estimates"]])
    if page["evidence"]:
        say()
    for row in page["evidence"]:
        say(_evidence_sentence(row), indent="  ")
    say()
    for event in page["events"]:
        say(f"{minute(event['at'])}  {event['after']}: {event['reason']}", indent=" " * 18)


def _head_lines(page: dict[str, Any]) -> Iterator[str]:
    partial = ", partial" if page["partial"] else ""
    due, (start, end) = minute(page["slot"]), page["window"]
    yield f"{page['monitor']}, round {page['round']}: {page['state']}{partial}, due {due} UTC"
    yield f"window {minute(start)} to {minute(end)} UTC"
    if page["version"]:
        yield f"version {page['version']} of {page['latest_version']}"
    if page["reason"]:
        yield f"reason: {page['reason']}"
    for reason, count in page["bad_rows"].items():
        yield f"left out: {count} {reason}"
    for reason, count in page["notes"].items():
        yield f"note: {reason if count == 1 else f'{count} {reason}'}"


def _find(connection: Connection, monitor: str, number: int) -> Round:
    rounds = round_store.find_rounds(connection, monitor)
    for each in rounds:
        if each.number == number:
            return each
    there = (
        f"its rounds are {rounds[0].number} to {rounds[-1].number}" if rounds else "it has none yet"
    )
    message = f"{monitor} has no round {number}; {there}"
    raise InputRefused(message)


def _version(found: Round, asked: int | None) -> int:
    if asked is not None and asked > found.version:
        there = f"the newest is {found.version}" if found.version else "it has no estimate yet"
        message = f"round {found.number} of {found.monitor} has no version {asked}; {there}"
        raise InputRefused(message)
    return asked or found.version


def _strata(connection: Connection, found: Round, version: int) -> list[dict[str, Any]]:
    counted = estimate_store.read_counts(connection, [found.id], version=version or None)
    if found.id in counted:
        return [asdict(row) for row in counted[found.id]]
    return [
        {
            "stratum": part.stratum.name,
            "flagged": part.stratum.flagged,
            "size": part.size,
            "planned": part.planned,
            "labeled": None,
            "positive": None,
            "declined": None,
        }
        for part in frame_store.read_strata(connection, found.id)
    ]


def _say_estimates(rows: Sequence[EstimateRow]) -> None:
    """Print a line for each metric, precision and recall first; then why some have no number.

    A round alone shows the window's own value and the carried one the rate, as everywhere.
    """
    shown = [
        (metric, find_row(rows, metric, "round"), find_row(rows, metric, "carried"))
        for metric in _metrics(rows)
    ]
    say_table(
        ["metric", "this round alone", "with earlier rounds"],
        [[metric, _number(own), _number(carried)] for metric, own, carried in shown],
    )
    for _, own, _ in shown:
        if own is not None and own.bound_low is not None and own.bound_high is not None:
            lies = f"{own.bound_low:.3f} to {own.bound_high:.3f}"
            say(f"{own.metric}: {lies} in this round, whatever the missing answers would be")
    for sentence in _reasons([row for _, *found in shown for row in found if row is not None]):
        say(sentence, indent="  ")


def _reasons(rows: Sequence[EstimateRow]) -> list[str]:
    """Say why metrics have no number, those of one reason together."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.point is None:
            general = reason_text(row).replace(f"so {row.metric} says", "so it says")
            found.setdefault(general, {})[row.metric] = None
    return [f"{', '.join(metrics)}: {reason}" for reason, metrics in found.items()]


def _metrics(rows: Sequence[EstimateRow]) -> list[str]:
    first = ["precision", "recall", "f1"]
    others = sorted({row.metric for row in rows} - set(first))
    return [metric for metric in [*first, *others] if any(row.metric == metric for row in rows)]


def _number(row: EstimateRow | None) -> str:
    return "-" if row is None else interval_text(row)


def _evidence_sentence(row: dict[str, Any]) -> str:
    limit = f"{row['metric']} {row['side'].replace('_', ' ')} {row['limit']:g}"
    if row["log_evidence"] is None:
        return f"limit {limit}: alert open, no evidence is gathered"
    found, wanted = math.exp(min(row["log_evidence"], LARGEST)), math.exp(row["log_threshold"])
    fires = ", the alert fired here" if row["fires"] else ""
    return f"limit {limit}: evidence {found:.3g}, an alert fires at {wanted:.3g}{fires}"
