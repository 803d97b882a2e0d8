"""A round: its window, where it stands, and the settings that it was opened with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.domain.label_parts import COLUMN, parts_of
from monitor.domain.model import Window
from monitor.domain.settings import Labeling, RoundSettings
from monitor.domain.state import ENDED, RoundState

_ONE_STEP = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Round:
    """A round as the store has it, with its monitor's name."""

    id: int
    monitor: str
    monitor_id: int
    number: int
    slot: datetime
    window: Window
    state: RoundState
    settings: RoundSettings
    seed: str
    opened_at: datetime
    history_id: int | None = None
    reason: str | None = None
    deadline: datetime | None = None
    closed_at: datetime | None = None
    labels_until: datetime | None = None
    partial: bool = False
    version: int = 0
    first_version: int = 1
    """Version of its first estimate; more than 1 where MLflow has seen earlier ones."""
    first_look_at: datetime | None = None  # When its predictions were first looked at
    label_revision: int = 0
    estimated_revision: int | None = None
    claimed_until: int | None = None
    """When the claim on it runs out, in ms of the store; whoever left it in mid-step had it."""
    snapshot: str | None = None
    """The state of its source that it was drawn from, where that can be read again."""
    registered: str | None = None
    """Version that the model's alias named for its window; None where it has none, or several."""
    evidence_revision: int | None = None
    """Label revision up to which its evidence was read while it is open."""
    evidence_due_at: datetime | None = None
    """When the first of the answers that were too new for that reading is old enough to count."""

    def is_late(self, now: datetime) -> bool:
        """Whether its time for labels is over."""
        return self.deadline is not None and now >= self.deadline

    def deadline_of(self, part: int) -> datetime | None:
        """Return until when one of its labelers is waited for; the last of these ends the round."""
        own = parts_of(self.settings.labeling)[part].get("deadline")
        if self.deadline is None or own is None:
            return self.deadline
        wait = Labeling.model_validate({"deadline": own}).deadline
        return self.deadline - self.settings.deadline + wait

    @property
    def people_deadline(self) -> datetime | None:
        """Until when people are waited for first, where there are some."""
        kinds = [part.get("kind") for part in parts_of(self.settings.labeling)]
        ends = [self.deadline_of(part) for part, kind in enumerate(kinds) if kind != COLUMN]
        return min((end for end in ends if end is not None), default=self.deadline)

    def has_unread_evidence(self, now: datetime) -> bool:
        """Whether answers have come, or grown old enough to count, since its evidence was read."""
        is_due = self.evidence_due_at is not None and now > self.evidence_due_at
        return is_due or self.label_revision != (self.evidence_revision or 0)

    @property
    def is_changed(self) -> bool:
        """Whether its labels changed since it was last estimated."""
        return self.label_revision != self.estimated_revision

    @property
    def estimated_version(self) -> int:
        """Version of its newest estimate; 0 while it has none, also where it is done again."""
        return self.version if self.version >= self.first_version else 0

    @property
    def is_lost(self) -> bool:
        """Whether a restored store lost its numbers, which MLflow alone has."""
        is_behind = self.settings.shown_version > self.version
        return is_behind and self.state in {RoundState.SKIPPED, RoundState.ABANDONED}

    @property
    def is_silent(self) -> bool:
        """Whether no hook is notified of it: a backfill opened and closed it in one go."""
        if self.settings.origin != "backfill":
            return False
        return self.closed_at is None or self.closed_at - self.opened_at < _ONE_STEP

    @property
    def is_settled(self) -> bool:
        """Whether it has ended, and its estimate, if it has one, is of the labels that it has."""
        if self.state is RoundState.CLOSED:
            return self.label_revision == self.estimated_revision
        return self.state in ENDED

    @property
    def sobol_seed(self) -> int:
        """Fixes the Sobol points of this round's estimates."""
        return int(self.seed[:8], 16)

    @property
    def name(self) -> str:
        """Name for files and for people: monitor and slot."""
        return round_name(self.monitor, self.slot)


def round_name(monitor: str, slot: datetime) -> str:
    """Make the name of a round, see `Round.name`."""
    return f"{monitor}-{slot:%Y-%m-%dT%H%M}"
