"""What a round says about a limit."""

from __future__ import annotations

import math

from monitor.domain.alerting import EvidenceState
from monitor.presentation.numbers import limit_text

LEARNS = (
    "this round only learns (e = 1), since no earlier round and no reference is there to compare "
    "it with; `reference` in the config lets the first round count"
)
"""What is said of a limit about which a round is `EvidenceState.LEARNING`."""

_NO_EVIDENCE: dict[str | None, str] = {
    EvidenceState.ALERT_OPEN: "alert open, no evidence is gathered",
    EvidenceState.LEARNING: LEARNS,
    EvidenceState.SILENT: "this round says nothing about it (e = 1): no label bears on it",
    EvidenceState.OTHER_VERSION: "read by another version of the program, whose evidence stays",
}

_LARGEST = 700
"""Log evidence above which e**x is no finite number."""


def evidence_sentence(
    metric: str,
    side: str,
    limit: float,
    *,
    state: str | None,
    log_evidence: float | None,
    log_threshold: float,
    fires: bool,
) -> str:
    """Say how much evidence there is against a limit, or why there is none.

    >>> evidence_sentence(
    ...     "precision", "at_least", 0.8,
    ...     state="gathered", log_evidence=1.5, log_threshold=4.0, fires=False,
    ... )
    'limit precision at least 0.8: evidence 4.48, an alert fires at 54.6'
    """
    parts = [_NO_EVIDENCE[state]] if state in _NO_EVIDENCE else []
    if log_evidence is not None:
        found, wanted = math.exp(min(log_evidence, _LARGEST)), math.exp(log_threshold)
        parts.append(f"evidence {found:.3g}, an alert fires at {wanted:.3g}")
    if fires:
        parts.append("the alert fired here")
    return f"limit {limit_text(metric, side, limit)}: {', '.join(parts)}"
