"""What a round says about a limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from monitor.domain.alerting import EvidenceState
from monitor.presentation.numbers import limit_text

if TYPE_CHECKING:
    from monitor.domain.report import EvidenceRow

_NO_EVIDENCE: dict[str | None, str] = {
    EvidenceState.ALERT_OPEN: "alert open, no evidence is gathered",
    EvidenceState.LEARNING: "this round only learns (e = 1), since no earlier round and no "
    "reference is there to compare it with; `reference` in the config lets the first round count",
    EvidenceState.SILENT: "this round says nothing about it (e = 1): none of its answers could "
    "count against it",
    EvidenceState.OTHER_VERSION: "read by another version of the program, whose evidence stays",
}

_LARGEST = 700
"""Log evidence above which e**x is no finite number."""


def evidence_sentence(row: EvidenceRow, *, fires: bool) -> str:
    """Return how much evidence there is against a limit, or why it is missing.

    >>> from monitor.domain.report import EvidenceRow
    >>> limit = dict(metric="precision", side="at_least", limit=0.8, state="gathered")
    >>> evidence_sentence(EvidenceRow(**limit, log_evidence=1.5, log_threshold=4), fires=False)
    'limit precision at least 0.8: evidence 4.48, an alert fires at 54.6'
    """
    parts = [_NO_EVIDENCE[row.state]] if row.state in _NO_EVIDENCE else []
    if row.log_evidence is not None:
        result = math.exp(min(row.log_evidence, _LARGEST))
        parts.append(f"evidence {result:.3g}, an alert fires at {math.exp(row.log_threshold):.3g}")
    if fires:
        parts.append("the alert fired here")
    return f"limit {limit_text(row.metric, row.side, row.limit)}: {', '.join(parts)}"


def recurring_text(recurring: int, drawn: int) -> str:
    """Return how many drawn items evidence leaves out, since an earlier round asked about them.

    >>> recurring_text(90, 400)
    'evidence counts an item once: earlier rounds asked about 90 of the 400 items, and 310 count'
    """
    return (
        f"evidence counts an item once: earlier rounds asked about {recurring} of the {drawn} "
        f"items, and {drawn - recurring} count"
    )


def recovery_text(evidence: float, rounds: int, ends_at: float) -> str:
    """Return how much evidence there is that the metric of an alert keeps its limit again.

    >>> recovery_text(4.218, 3, 20)
    'evidence of recovery is 4.21 after 3 later rounds, and 20 ends the alert'
    """
    result = (
        math.floor(evidence * 100) / 100
    )  # so that what is just too little does not look enough
    shown = f"{result:g}" if result else "under 0.01"
    later = "1 later round" if rounds == 1 else f"{rounds} later rounds"
    return f"evidence of recovery is {shown} after {later}, and {ends_at:g} ends the alert"
