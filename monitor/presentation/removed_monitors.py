"""Sentences about monitors that the store knows and the config does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.presentation.numbers import minute_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from monitor.presentation.alerts import AlertSummary

REMOVED = "the monitor is no longer in the config"
"""Why an alert ended that no round can end any more."""


def removed_sentence(
    monitor: str, alerts: Iterable[AlertSummary], rounds: Iterable[int], ends_at: datetime
) -> str:
    """Report what is open of a monitor that the config does not have, and what becomes of that."""
    open_alerts = [f"an alert on {alert.metric} ({alert.id[:8]})" for alert in alerts]
    open_rounds = [f"round {number}" for number in rounds]
    parts = ["Nothing watches it, unless another config on this store has it"]
    if open_rounds:
        parts.append("rounds go on when the config has it again")
    if open_alerts:
        parts.append(f"alerts are ended on {minute_text(ends_at)} UTC")
    return (
        f"{monitor} is in the store but not in the config (renamed or removed?), with "
        f"{', '.join([*open_alerts, *open_rounds])} open. {'; '.join(parts)}."
    )
