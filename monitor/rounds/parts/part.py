"""The protocol of a part: its counts from labels, its value in the report, and its notices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from monitor.domain.model import Frame
from monitor.domain.report import NoticeRow
from monitor.domain.round import Round
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.label_errors import CheckedLabels
from monitor.rounds.estimation.tally import Counted, Tally
from monitor.rounds.estimation.types import RoundEstimate
from monitor.storage.labels.round_labels import RoundLabels
from monitor.storage.results.part_store import PastCounts


@dataclass(slots=True, kw_only=True)
class LabeledRound:
    """A round whose labels a part counts.

    drawn: What the part counted of the window (`ReportPart.drawn`).
    stored: What it counted for the version before, or read at the closing for the first.
    recurring: Items that an earlier round asked about, which are no evidence.
    is_restated: Whether people changed the labels who may know the results.
    """

    round: Round
    labels: RoundLabels
    drawn: Any = None
    stored: Any = None
    recurring: frozenset[str] = frozenset()
    is_restated: bool = False


@dataclass(slots=True, kw_only=True)
class ReportedVersion(LabeledRound):
    """A version of a round whose report a part adds to.

    before: The labels of all rounds of the history before it.
    counts: What the part counts of it.
    earlier: The same of the rounds before it, `ReportPart.reach` of them in slot order.
    repeated: What the version before reports, as JSON, if the part `ReportPart.repeats` it.
    """

    tally: Tally
    estimate: RoundEstimate
    before: Sequence[Counted]
    checked: CheckedLabels | None
    counts: Any = None
    earlier: Sequence[PastCounts | None] = ()
    repeated: Any = None


class ReportPart:
    """One subject of a report besides its estimates; it is never pooled with them and never alerts.

    name: Names it in the report, and its counts in the store.
    reach: How many earlier rounds it needs the counts of.
    repeats: Whether it rests on the own labels of a round, and stays if these did not change.
    """

    name: ClassVar[str]
    reach: ClassVar[int] = 0
    repeats: ClassVar[bool] = False

    def applies(self, round_: Round, labels: RoundLabels) -> bool:  # noqa: ARG002
        """Whether a round may have this part."""
        return True

    def drawn(self, frame: Frame) -> Any:  # noqa: ARG002
        """Count what later versions need of the drawn window, as JSON; None if nothing."""
        return None

    def at_closing(self, context: MonitorContext, round_: Round, labels: RoundLabels) -> Any:  # noqa: ARG002
        """Read from the source what a closing round needs, as JSON; None if nothing."""
        return None

    def counts(self, counted: LabeledRound) -> Any:  # noqa: ARG002
        """Count labels, as JSON; None if there is nothing to store."""
        return None

    def corrects(self, round_: Round) -> bool:  # noqa: ARG002
        """Whether a closed round gets a new version if labels that come late change its counts."""
        return True

    def row(self, version: ReportedVersion) -> Any:
        """Return what the report has of it, as `monitor.presentation.parts` reads it."""
        raise NotImplementedError

    def notices(self, version: ReportedVersion, row: Any) -> list[NoticeRow]:  # noqa: ARG002
        """Note what is unusual."""
        return []
