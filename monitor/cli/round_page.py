"""What `pr-monitor show` says of one round."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from monitor.cli.common import minute, say, say_table
from monitor.domain.errors import InputRefused
from monitor.storage import estimate_store, frame_store, round_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.storage.round_store import Round
    from monitor.wiring import Plant


def round_page(plant: Plant, monitor: str, number: int, version: int | None) -> dict[str, Any]:
    """Gather everything about one version of a round.

    Raises
    ------
    InputRefused
        If the monitor has no such round, or the round no such version.
    """
    with plant.database.read() as connection:
        found = _find(connection, monitor, number)
        if version is not None and version > found.version:
            message = f"round {number} of {monitor} has {found.version} versions, not {version}"
            raise InputRefused(message)
        version = version or found.version
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
            "issues": {
                reason: count
                for reason, (count, _) in frame_store.read_issues(connection, found.id).items()
            },
            "events": round_store.read_events(connection, found.id),
            "settings": found.settings.model_dump(mode="json"),
        }


def say_round(page: dict[str, Any]) -> None:
    """Print a round's page."""
    partial = ", partial" if page["partial"] else ""
    say(f"{page['monitor']}, round {page['round']}: {page['state']}{partial}, due {page['slot']}")
    say(f"window {page['window'][0]} to {page['window'][1]}")
    if page["version"]:
        say(f"version {page['version']} of {page['latest_version']}")
    if page["reason"]:
        say(f"reason: {page['reason']}")
    if page["strata"]:
        say("")
        head = ["stratum", "size", "planned", "labeled", "positive", "cannot tell"]
        keys = ["stratum", "size", "planned", "labeled", "positive", "declined"]
        say_table(head, [[str(row[key]) for key in keys] for row in page["strata"]], right="12345")
    if page["estimates"]:
        say("")
        head = ["metric", "basis", "estimand", "estimate", "with missing answers"]
        say_table(head, [_estimate_row(row) for row in page["estimates"]])
    for row in page["evidence"]:
        say(_evidence_sentence(row))
    for reason, count in page["issues"].items():
        say(f"note: {reason} ({count})")
    say("")
    for event in page["events"]:
        say(f"{minute(event['at'])}  {event['after']}: {event['reason']}")


def _find(connection: Connection, monitor: str, number: int) -> Round:
    rounds = round_store.find_rounds(connection, monitor)
    for each in rounds:
        if each.number == number:
            return each
    there = f"{rounds[0].number} to {rounds[-1].number}" if rounds else "none yet"
    message = f"{monitor} has no round {number}; its rounds: {there}"
    raise InputRefused(message)


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


def _estimate_row(row: dict[str, Any]) -> list[str]:
    bounds = (
        "" if row["bound_low"] is None else f"{row['bound_low']:.3f} to {row['bound_high']:.3f}"
    )
    if row["point"] is None:
        text = f"not estimable: {row['reason']}"
    else:
        text = f"{row['point']:.4f} [{row['low']:.4f}, {row['high']:.4f}]"
    return [row["metric"], row["basis"], row["estimand"], text, bounds]


def _evidence_sentence(row: dict[str, Any]) -> str:
    limit = f"{row['metric']} {row['side'].replace('_', ' ')} {row['limit']:g}"
    if row["log_evidence"] is None:
        return f"limit {limit}: alert open, no evidence is gathered"
    found, wanted = math.exp(min(row["log_evidence"], 700)), math.exp(row["log_threshold"])
    return f"limit {limit}: evidence {found:.3g}, fires at {wanted:.3g}"
