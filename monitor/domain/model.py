"""Core types: windows, strata, frames, items, tasks, label events, effects."""

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
    """The time range of a round's predictions: ``start <= time < end``, both aware."""

    start: datetime
    end: datetime

    def __str__(self) -> str:
        start, end = (at.astimezone(UTC) for at in (self.start, self.end))
        return f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"

    @property
    def is_empty(self) -> bool:
        """Whether the window contains no time."""
        return self.start >= self.end


class Verdict(StrEnum):
    """A judge's verdict on an item; ``MISSING`` if it is absent or unreadable."""

    NO = "no"
    YES = "yes"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Stratum:
    """The items of a predicted class with ``low <= score < high`` (None: no bound).

    ``unscored``: the items without a score. With a judge, all its items have the same ``verdict``.
    """

    name: str
    flagged: bool
    low: float | None = None
    high: float | None = None
    unscored: bool = False
    verdict: Verdict | None = None

    @property
    def is_unbounded(self) -> bool:
        """Whether it contains every score of its class."""
        return self.low is None and self.high is None


@dataclass(frozen=True, slots=True)
class BandEdges:
    """Inner score-band edges of each predicted class, frozen with a history.

    ``judged`` splits each class by a judge's verdict first, then by score.
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
    """Assign numbers to bands from 1; a band that is alone gets none."""
    if alone and len(bounds) == 1:
        return [("", bounds[0])]
    return [(str(number), ends) for number, ends in enumerate(bounds, start=1)]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A prediction that may be drawn; candidates come in the random order of the draw.

    ``challenged``: whether the challenger flags it; None if the challenger made no decision.
    ``group`` is the group it belongs to, such as its user; None if unknown.
    """

    id: str
    score: float | None
    segments: tuple[str, ...] = ()
    challenged: bool | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Decisions:
    """Number of items that a challenger flags, number without a decision, and range of its scores.

    ``low`` and ``high`` are None if it has no scores.
    """

    flagged: int
    undecided: int
    low: float | None = None
    high: float | None = None

    def __add__(self, other: Decisions) -> Decisions:
        """Combine the decisions on two sets of items."""
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return Decisions(
            self.flagged + other.flagged,
            self.undecided + other.undecided,
            min(lows, default=None),
            max(highs, default=None),
        )


class Release(NamedTuple):
    """Number of flagged items that were let through, and the number expected by probabilities."""

    released: int
    expected: float


@dataclass(frozen=True, slots=True)
class StratumFrame:
    """A counted stratum: its size and its first candidates in random order, no id twice.

    ``segments`` has, for each segment column, the size of each value; these add up to ``size``.
    With ``release``, candidates are only the items that were let through. With ``rows``, the size
    is estimated from this number of rows of a sampled log; if ``rows`` is negative, the size is an
    amount that varies like the sum of ``-rows`` equal items. ``largest`` is the weight of the
    largest item, if items count for different amounts or numbers of predictions.
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
        """Number of items that can be labeled, among those that one scan may draw.

        The largest item limits it: a label represents size/labels, which must not be less than it.
        """
        if self.largest:
            room = (self.size + 0.5) / self.largest  # the size is rounded
            return min(len(self.candidates), int(room))
        return len(self.candidates) if self.has_fewer else self.size

    @property
    def sampled(self) -> int:
        """Number of rows, if they represent more items than there are rows; else 0."""
        return self.rows if self.rows is not None and 0 < self.rows < self.size else 0

    @property
    def has_fewer(self) -> bool:
        """Whether some of its items cannot be labeled."""
        return self.release is not None or self.rows is not None


class BadRow(StrEnum):
    """Why a row is in no stratum; stores and reports use the value."""

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
    """The counts and candidates of a window from one scan of the source.

    ``notes`` counts noteworthy rows that are not bad; ``omitted`` counts, by reason, content of the
    source that is not a prediction and is in no other number. ``segment_columns`` is the order of
    ``StratumFrame.segments``. ``other_verdicts`` counts the rows of the judge's most frequent
    values that are not positive. ``newest`` is the time of the newest row, good or bad.
    ``snapshot`` identifies the state of the source that was read, if it can be read again. The
    faults say why decisions and verdicts could not be read.
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
        """Whether sizes are amounts rather than numbers of items."""
        return any(part.rows is not None and part.rows < 0 for part in self.strata)

    @property
    def items(self) -> int:
        """Number of predictions counted; if sizes are amounts, this is the number of rows."""
        return self.rows if self.is_amount else self.size

    @property
    def checked_rows(self) -> int:
        """Denominator of the share of bad rows; sizes may be amounts or estimates."""
        return min(self.size + sum(self.bad_rows.values()), self.rows)

    @property
    def challenged(self) -> Decisions | None:
        """The challenger's decisions on all items; None if they were not read."""
        parts = [part.challenged for part in self.strata if part.challenged is not None]
        return sum(parts[1:], parts[0]) if parts else None

    @property
    def flagged_size(self) -> int:
        """Number of predicted positives in the window."""
        return sum(part.size for part in self.strata if part.stratum.flagged)

    @property
    def size(self) -> int:
        """Number of predictions in all strata."""
        return sum(part.size for part in self.strata)


@dataclass(frozen=True, slots=True)
class UsualRate:
    """Flagged and all items of earlier rounds; of the reference if ``rounds`` is 0."""

    flagged: float
    size: int
    rounds: int = 0

    @property
    def rate(self) -> float:
        """Share of items that are flagged."""
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
"""Slot of a task that checks the label of a column; for annotators, it is a first copy."""


@dataclass(frozen=True, slots=True)
class Task:
    """A request to label one item, limited to what the labeler may know.

    It never contains the score, predicted class or stratum. People see ``shown``
    (`monitor.domain.shown`) and the opaque ``key``; the other fields are for adapters only. Tasks
    of one item with different slots must go to different people, who may not learn of each other.
    Ordered by ``place``, tasks are shuffled across strata; within a stratum they keep the order of
    the draw, which ``place`` does not reveal.
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

    ``at`` is the annotator's own time. If it is None, the store accepts the event only if it
    changes the annotator's current answer, with the time of arrival.
    """

    task_key: str
    annotator: str
    answer: Answer | None
    at: datetime | None = None
    kind: LabelKind = LabelKind.GIVEN

    def revision(self, at: datetime) -> str:
        """Return a key that identifies this statement among its annotator's on the same task."""
        text = f"{self.kind}|{self.answer}|{at.isoformat()}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused row: its location and the reason.

    ``version`` identifies the state of its container, such as a file that may be saved again.
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
    """The result of collecting from a labeler: events, refused rows, and the next cursor.

    ``problems`` are sentences on what somebody has to fix, ``waits`` on answers that exist but are
    not accepted yet. ``was_read`` is False if nothing was read because nothing had changed.
    ``complete`` are the tasks for which ``events`` has all current answers: any earlier answer that
    is missing now was withdrawn. ``unmatched`` are the tasks whose items have no row among the
    labels; None if there are no rows.
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
    """The kinds of effects."""

    ROUND_RUN = "round_run"
    FLEET_POINT = "fleet_point"
    MODEL_TAGS = "model_tags"
    CLASS_AVERAGES = "class_averages"
    NOTICE = "notice"
    ANSWERS = "answers"


@dataclass(frozen=True, slots=True)
class ShownRun:
    """The run of a round in MLflow; ``page`` is its address in MLflow's pages.

    If the run was never completely written, ``version`` is 0 and ``number`` is None.
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
    """An action outside the store, such as a message; stored until it is done.

    ``key`` is stable over retries; ``payload`` is all that a handler needs. ``is_deadly``: several
    processes died while delivering it.
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
    """Return the receipt of tags that could not be set on their model version.

    >>> untagged("there is no version 7")
    '{"untagged": "there is no version 7"}'
    """
    return json.dumps({_UNTAGGED: why}, ensure_ascii=False)


def why_untagged(receipt: str) -> str | None:
    """Return the reason from a receipt of `untagged`; None for any other receipt.

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
    """The effects pending for one sink of a monitor; ``dead`` if the first is a dead letter."""

    monitor: str
    sink: str
    effects: int
    rounds: int
    since: datetime
    next_try: datetime
    tries: int
    last_error: str | None
    dead: bool = False
