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

    drawn: The part's counts of the window (`ReportPart.drawn`).
    stored: Its counts for the version before; for the first one, what it read at the closing.
    recurring: Items that an earlier round asked about, which are no evidence.
    is_restated: Whether the labels were changed by people who may know the results.
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

    before: Counted labels of all earlier rounds of the history.
    counts: The part's counts of the version.
    earlier: Its counts of the `ReportPart.reach` rounds before, in slot order.
    repeated: The row of the version before, as JSON, if the part `ReportPart.repeats` it.
    """

    tally: Tally
    estimate: RoundEstimate
    before: Sequence[Counted]
    checked: CheckedLabels | None
    counts: Any = None
    earlier: Sequence[PastCounts | None] = ()
    repeated: Any = None


class ReportPart:
    """A section of a report besides its estimates; it is not pooled with them and never alerts.

    name: Name of the part in the report, and of its counts in the store.
    reach: Number of earlier rounds whose counts it needs.
    repeats: Whether it uses only the round's own labels, and stays if they did not change.
    """

    name: ClassVar[str]
    reach: ClassVar[int] = 0
    repeats: ClassVar[bool] = False

    def applies(self, round_: Round, labels: RoundLabels) -> bool:  # noqa: ARG002
        """Whether a round may have this part."""
        return True

    def drawn(self, frame: Frame) -> Any:  # noqa: ARG002
        """Return counts of the drawn window for later versions, as JSON; None if there are none."""
        return None

    def at_closing(self, context: MonitorContext, round_: Round, labels: RoundLabels) -> Any:  # noqa: ARG002
        """Read data for a closing round from the source, as JSON; None if there are none."""
        return None

    def counts(self, counted: LabeledRound) -> Any:  # noqa: ARG002
        """Count labels, as JSON; None if there is nothing to store."""
        return None

    def corrects(self, round_: Round) -> bool:  # noqa: ARG002
        """Whether a closed round gets a new version if labels that come late change its counts."""
        return True

    def row(self, version: ReportedVersion) -> Any:
        """Return the part's row of the report, as `monitor.presentation.parts` reads it."""
        raise NotImplementedError

    def notices(self, version: ReportedVersion, row: Any) -> list[NoticeRow]:  # noqa: ARG002
        """Return notices of unusual findings."""
        return []
