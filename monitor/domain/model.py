"""The nouns: windows, strata, frames, items, tasks, label events, effects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple

from monitor.domain.shown import Shown

MLFLOW, LOG, ANSWERS = "mlflow", "log", "answers"


@dataclass(frozen=True, slots=True)
class Window:
    """The predictions a round looks at: ``start <= time < end``, both aware."""

    start: datetime
    end: datetime

    def __str__(self) -> str:
        start, end = (at.astimezone(UTC) for at in (self.start, self.end))
        return f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"

    @property
    def is_empty(self) -> bool:
        """Whether no time is in it."""
        return self.start >= self.end


class Verdict(StrEnum):
    """What a judge says of an item; ``MISSING`` where it said nothing that can be read."""

    NO = "no"
    YES = "yes"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Stratum:
    """A predicted class, cut to the scores ``low <= score < high`` (None: no bound).

    ``unscored`` marks the items that carry no score; with a judge, all are of one ``verdict``.
    """

    name: str
    flagged: bool
    low: float | None = None
    high: float | None = None
    unscored: bool = False
    verdict: Verdict | None = None

    @property
    def is_unbounded(self) -> bool:
        """Whether it holds every score of its class."""
        return self.low is None and self.high is None


@dataclass(frozen=True, slots=True)
class BandEdges:
    """Inner score-band edges of each predicted class, frozen with a history.

    ``judged`` cuts each class by a judge's verdict before the score.
    """

    flagged: tuple[float, ...] = ()
    passed: tuple[float, ...] = ()
    unscored: bool = False
    judged: bool = False

    def strata(self) -> tuple[Stratum, ...]:
        """All strata, flagged first, each class by verdict, each verdict from low to high score."""
        return (*self._of_class("flagged", self.flagged), *self._of_class("passed", self.passed))

    def _of_class(self, name: str, edges: Sequence[float]) -> list[Stratum]:
        flagged = name == "flagged"
        verdicts = tuple(Verdict) if self.judged else (None,)
        bounds = list(pairwise([None, *edges, None]))
        bands = [
            Stratum(
                "-".join(part for part in (name, verdict, number) if part),
                flagged=flagged,
                low=low,
                high=high,
                verdict=verdict,
            )
            for verdict in verdicts
            for number, (low, high) in _numbered(bounds, alone=not self.unscored)
        ]
        if self.unscored:
            bands.append(Stratum(f"{name}-unscored", flagged=flagged, unscored=True))
        return bands


def _numbered(
    bounds: Sequence[tuple[float | None, float | None]], *, alone: bool
) -> list[tuple[str, tuple[float | None, float | None]]]:
    """Give each band its number from 1; the only one of its kind has none."""
    if alone and len(bounds) == 1:
        return [("", bounds[0])]
    return [(str(number), ends) for number, ends in enumerate(bounds, start=1)]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A prediction that may be drawn; candidates come in the random order of the draw.

    ``challenged`` is whether the challenger flags it; None if it made no decision. ``group`` is
    what it belongs to, such as its user; None if nothing is known.
    """

    id: str
    score: float | None
    segments: tuple[str, ...] = ()
    challenged: bool | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Decisions:
    """How many items a challenger flags, on how many it made no decision, and its scores' range.

    ``low`` and ``high`` are None if it has no scores.
    """

    flagged: int
    undecided: int
    low: float | None = None
    high: float | None = None

    def __add__(self, other: Decisions) -> Decisions:
        """Place the items of both together."""
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return Decisions(
            self.flagged + other.flagged,
            self.undecided + other.undecided,
            min(lows, default=None),
            max(highs, default=None),
        )


class Release(NamedTuple):
    """How many flagged items were let through, and how many were to be by their probabilities."""

    released: int
    expected: float


@dataclass(frozen=True, slots=True)
class StratumFrame:
    """A stratum as counted: its size and its first candidates in random order, no id twice.

    ``segments`` holds the size of each value for each segment column; they add up to ``size``.
    With ``release``, candidates are only items that were let through; with ``rows`` the size was
    estimated from these, of a log that keeps a sample. Where ``rows`` is negative, the size is an
    amount that varies as the sum of ``-rows`` equal items. ``largest`` is the most that one item
    counts for, where items count for different amounts or numbers of predictions.
    """

    stratum: Stratum
    size: int
    candidates: tuple[Candidate, ...]
    segments: tuple[Mapping[str, int], ...] = ()
    challenged: Decisions | None = None
    release: Release | None = None
    rows: int | None = None
    largest: float = 0.0

    @property
    def available(self) -> int:
        """How many items can be labeled, of those that one scan may draw.

        No more than the largest item leaves room for: a label stands for size/labels.
        """
        if self.largest:
            room = (self.size + 0.5) / self.largest  # the size is rounded
            return min(len(self.candidates), int(room))
        return len(self.candidates) if self.has_fewer else self.size

    @property
    def sampled(self) -> int:
        """How many rows stand for more items than there are rows."""
        return self.rows if self.rows is not None and 0 < self.rows < self.size else 0

    @property
    def has_fewer(self) -> bool:
        """Whether some of its items cannot be labeled."""
        return self.release is not None or self.rows is not None


class BadRow(StrEnum):
    """Why a row is in no stratum; the value is what stores and reports call it."""

    NO_TIME = "time missing"
    TIME_UNPARSABLE = "time unparsable"
    NO_ID = "id missing"
    NO_VERSION = "model version missing"
    NO_PREDICTION = "predicted missing"
    NO_SCORE = "score missing"
    SCORE_NAN = "score NaN"
    SCORE_INFINITE = "score infinite"
    SCORE_UNREADABLE = "score not a number"
    IN_NO_STRATUM = "in no stratum"
    UNKNOWN_CLASS = "predicted neither positive nor negative"
    NO_RELEASE = "released neither 1 nor 0"
    NO_RELEASE_CHANCE = "probability of release not in (0, 1]"
    NO_AMOUNT = "amount missing or not a number"
    NEGATIVE_AMOUNT = "amount negative"
    NO_LOG_CHANCE = "probability of being kept not from 0.000001 to 1"
    DUPLICATE = "duplicate id"


@dataclass(frozen=True, slots=True)
class Frame:
    """The counted window: what one scan of the source found.

    ``notes`` count rows worth a note that are not bad, ``omitted`` by reason what the source holds
    and is no prediction, which is in no other number. ``segment_columns`` is the order of
    ``StratumFrame.segments``. ``other_verdicts`` counts the rows of the judge's most frequent
    values that are not positive. ``newest`` is the time of the newest row, good or bad;
    ``snapshot`` the state of the source that was read, where it can be read again. The faults say
    why decisions and verdicts could not be read.
    """

    window: Window
    strata: tuple[StratumFrame, ...]
    rows: int
    bad_rows: Mapping[BadRow, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    model_version: str | None = None
    segment_columns: tuple[str, ...] = ()
    group_column: str | None = None
    unknown: Mapping[str, int] = field(default_factory=dict)
    other_verdicts: Mapping[str, int] = field(default_factory=dict)
    newest: datetime | None = None
    snapshot: str | None = field(default=None, compare=False)  # the same rows may be in several
    challenger_fault: str | None = None
    judge_fault: str | None = None
    omitted: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_amount(self) -> bool:
        """Whether sizes are amounts, not numbers of items."""
        return any(part.rows is not None and part.rows < 0 for part in self.strata)

    @property
    def items(self) -> int:
        """Predictions that were counted; sizes of amounts are larger."""
        return self.rows if self.is_amount else self.size

    @property
    def checked_rows(self) -> int:
        """Rows that bad ones are a share of: sizes may be amounts, or stand for more rows."""
        return min(self.size + sum(self.bad_rows.values()), self.rows)

    @property
    def challenged(self) -> Decisions | None:
        """What the challenger decided on all items; None if that was not read."""
        parts = [part.challenged for part in self.strata if part.challenged is not None]
        return sum(parts[1:], parts[0]) if parts else None

    @property
    def flagged_size(self) -> int:
        """Predicted positives in the window."""
        return sum(part.size for part in self.strata if part.stratum.flagged)

    @property
    def size(self) -> int:
        """Predictions in the strata."""
        return sum(part.size for part in self.strata)


@dataclass(frozen=True, slots=True)
class UsualRate:
    """How many items were flagged before, in how many rounds; in 0 of them by the reference."""

    flagged: float
    size: int
    rounds: int = 0

    @property
    def rate(self) -> float:
        """Share of the items that is flagged."""
        return self.flagged / self.size


@dataclass(frozen=True, slots=True)
class Item:
    """A prediction drawn into a round; score, decisions and segments are frozen here."""

    id: str
    stratum: str
    order: int
    score: float | None
    predicted: bool
    segments: Mapping[str, str] = field(default_factory=dict)
    challenged: bool | None = None
    group: str | None = None


CHECK_SLOT = 0
"""Slot of a task that checks the label of a column; it is a first copy for those who are asked."""


@dataclass(frozen=True, slots=True)
class Task:
    """A request to label one item: what the labeler may know, and nothing else.

    Score, predicted class and stratum never get here. ``shown`` is what people see
    (`monitor.domain.shown`); all but it and the opaque ``key`` are for adapters only. Tasks of one
    item with different slots must go to different people, none of whom may learn of the other. In
    the order of their places tasks are shuffled, and of each stratum the first are those that were
    drawn first, which no place tells.
    """

    key: str
    item_id: str
    shown: Shown = field(default_factory=dict)
    predicted_before: datetime | None = None
    slot: int = 1
    place: str = ""
    part: int = 0


class Answer(StrEnum):
    """The answers that an annotator may give."""

    POSITIVE = "1"
    NEGATIVE = "0"
    CANNOT_TELL = "cannot tell"


class LabelKind(StrEnum):
    """Whether a label event gives an answer or takes one back."""

    GIVEN = "given"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class LabelEvent:
    """An answer of one annotator to a task, or its withdrawal. Append-only.

    ``at`` is the annotator's own time. Without one the store takes the event only if it changes the
    annotator's current answer, at the time of arrival.
    """

    task_key: str
    annotator: str
    answer: Answer | None
    at: datetime | None = None
    kind: LabelKind = LabelKind.GIVEN

    def revision(self, at: datetime) -> str:
        """Identify this statement among all of the same annotator about the same task."""
        text = f"{self.kind}|{self.answer}|{at.isoformat()}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that was not taken, where it stands and why.

    ``version`` differs between states of what it is in, such as a file that is saved again.
    ``is_problem``: `Collected.problems` has a sentence about it.
    """

    where: str
    reason: str
    version: str = ""
    rows: int = 1
    is_problem: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Collected:
    """What a labeler brought: events, refused rows, and where to go on next time.

    ``problems`` are sentences about what somebody has to fix, ``waits`` about what is there
    and not taken yet; ``was_read`` is false where nothing was read, since nothing had changed.
    ``complete`` are the tasks of which ``events`` has all answers that stand: what this labeler
    brought of them before, and does not bring now, was taken back. ``unmatched`` are the tasks
    whose items have no row where labels are read; None if there are no rows.
    """

    events: tuple[LabelEvent, ...] = ()
    refused: tuple[Refusal, ...] = ()
    cursor: str | None = None
    complete: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    was_read: bool = True
    unmatched: frozenset[str] | None = None


class EffectKind(StrEnum):
    """What is to be done outside."""

    ROUND_RUN = "round_run"
    FLEET_POINT = "fleet_point"
    MODEL_TAGS = "model_tags"
    CLASS_AVERAGES = "class_averages"
    NOTICE = "notice"
    ANSWERS = "answers"


@dataclass(frozen=True, slots=True)
class ShownRun:
    """The run of a round as MLflow shows it, ``page`` where its pages do.

    ``version`` is 0, and there is no ``number``, where it was never written whole.
    """

    run_id: str
    slot: datetime
    version: int
    state: str
    live: bool
    number: int | None = None
    page: str | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """Something to be done outside, kept in the store until it is done.

    ``key`` is stable over retries; ``payload`` is all a handler needs. ``is_deadly``: process after
    process did not come back from delivering it.
    """

    id: int
    key: str
    kind: EffectKind
    sink: str
    monitor: str
    payload: Mapping[str, Any]
    attempt: int
    has_failed: bool = False
    is_deadly: bool = False


_UNTAGGED = "untagged"  # key in a receipt: the answer to an effect that is done, kept as text


def untagged(why: str) -> str:
    """Write the receipt of tags that their model version did not take.

    >>> untagged("there is no version 7")
    '{"untagged": "there is no version 7"}'
    """
    return json.dumps({_UNTAGGED: why}, ensure_ascii=False)


def why_untagged(receipt: str) -> str | None:
    """Read why a model version was not tagged; None from any other receipt.

    >>> why_untagged(untagged("there is no version 7"))
    'there is no version 7'
    >>> why_untagged("models:/mail/7") is None
    True
    """
    try:
        content = json.loads(receipt)
    except ValueError:
        return None
    why = content.get(_UNTAGGED) if isinstance(content, dict) else None
    return None if why is None else str(why)


@dataclass(frozen=True, slots=True)
class WaitingSink:
    """What waits for one sink of one monitor; ``dead`` if its first effect is a dead letter."""

    monitor: str
    sink: str
    effects: int
    rounds: int
    since: datetime
    next_try: datetime
    tries: int
    last_error: str | None
    dead: bool = False
