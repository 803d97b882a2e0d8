"""Everything about one version of a round, as it is read from the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monitor.domain.class_report import ClassReport
    from monitor.domain.model import Window
    from monitor.domain.report import ProvisionalRow, RestatedRow, RoundReport, StratumRow


@dataclass(frozen=True, slots=True)
class RoundPage:
    """One version of a round, with its report once it has closed.

    ``version`` is 0 before the first estimate; ``drawn`` are then the strata that labels were asked
    of, ``provisional`` is what it shows. ``bad_rows`` counts rows left out, by reason, ``notes``
    the irregular rows that count.
    """

    monitor: str
    round: int
    slot: datetime
    window: Window
    state: str
    reason: str | None
    version: int
    latest_version: int
    restated: Sequence[RestatedRow]
    restated_since: Sequence[int]
    partial: bool
    second_wave_at: datetime | None
    snapshot: str | None
    report: RoundReport | None
    drawn: Sequence[StratumRow]
    provisional: ProvisionalRow | None
    classes: ClassReport | None
    concerns: Sequence[str]
    bad_rows: Mapping[str, int]
    notes: Mapping[str, int]
    events: Sequence[Mapping[str, Any]]
    settings: Mapping[str, Any]
