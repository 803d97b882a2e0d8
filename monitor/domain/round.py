"""Rounds: their windows, states and frozen settings."""

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
    """A stored round with its monitor's name."""

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
    """Version of its first estimate; more than 1 if MLflow already has earlier versions."""
    first_look_at: datetime | None = None  # When its predictions were first looked at
    label_revision: int = 0
    estimated_revision: int | None = None
    claimed_until: int | None = None
    """When the claim on it expires, in ms of the store's clock; an interrupted step leaves it."""
    snapshot: str | None = None
    """The snapshot of its source that it was drawn from, if that can be read again."""
    registered: str | None = None
    """Version that the model's alias named for its window; None if it named none or several."""
    evidence_revision: int | None = None
    """Label revision up to which its evidence was computed while it is open."""
    evidence_due_at: datetime | None = None
    """When the first of the answers too new for that evidence becomes old enough to count."""

    def is_late(self, now: datetime) -> bool:
        """Whether its deadline has passed."""
        return self.deadline is not None and now >= self.deadline

    def deadline_of(self, part: int) -> datetime | None:
        """Return the deadline of one of its labelers; the round ends with the last of them."""
        own = parts_of(self.settings.labeling)[part].get("deadline")
        if self.deadline is None or own is None:
            return self.deadline
        wait = Labeling.model_validate({"deadline": own}).deadline
        return self.deadline - self.settings.deadline + wait

    @property
    def people_deadline(self) -> datetime | None:
        """The earliest deadline of its labelers of people; without any, the round's deadline."""
        kinds = [part.get("kind") for part in parts_of(self.settings.labeling)]
        ends = [self.deadline_of(part) for part, kind in enumerate(kinds) if kind != COLUMN]
        return min((end for end in ends if end is not None), default=self.deadline)

    def has_unread_evidence(self, now: datetime) -> bool:
        """Whether answers arrived, or became old enough to count, since evidence was computed."""
        is_due = self.evidence_due_at is not None and now > self.evidence_due_at
        return is_due or self.label_revision != (self.evidence_revision or 0)

    @property
    def is_changed(self) -> bool:
        """Whether its labels changed since it was last estimated."""
        return self.label_revision != self.estimated_revision

    @property
    def estimated_version(self) -> int:
        """Version of its newest estimate; 0 if it has none yet, also while it is repeated."""
        return self.version if self.version >= self.first_version else 0

    @property
    def is_lost(self) -> bool:
        """Whether its numbers are missing from a restored store and exist only in MLflow."""
        is_behind = self.settings.shown_version > self.version
        return is_behind and self.state in {RoundState.SKIPPED, RoundState.ABANDONED}

    @property
    def is_silent(self) -> bool:
        """Whether hooks are not notified of it: a backfill opened it and closed it at once."""
        if self.settings.origin != "backfill":
            return False
        return self.closed_at is None or self.closed_at - self.opened_at < _ONE_STEP

    @property
    def is_settled(self) -> bool:
        """Whether it has ended and its estimate, if any, uses its current labels."""
        if self.state is RoundState.CLOSED:
            return self.label_revision == self.estimated_revision
        return self.state in ENDED

    @property
    def sobol_seed(self) -> int:
        """Seed of the Sobol points for this round's estimates."""
        return int(self.seed[:8], 16)

    @property
    def name(self) -> str:
        """Name for files and people: monitor and slot."""
        return round_name(self.monitor, self.slot)


def round_name(monitor: str, slot: datetime) -> str:
    """Return the name of a round (`Round.name`)."""
    return f"{monitor}-{slot:%Y-%m-%dT%H%M}"
