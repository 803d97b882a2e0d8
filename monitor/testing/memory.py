"""Stand-ins in memory: a source over a list of rows, a labeler over a mapping of answers."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from monitor.domain.errors import SourceUnavailable, TryLater
from monitor.domain.model import (
    Answer,
    BadRow,
    Candidate,
    Collected,
    Decisions,
    Frame,
    LabelEvent,
    LabelKind,
    Stratum,
    StratumFrame,
    Task,
    Verdict,
    Window,
)
from monitor.domain.model_versions import estimated_version
from monitor.domain.segments import NO_VALUE, with_segments
from monitor.domain.shown import Shown, Value

Row = dict[str, Any]


def _as_shown(value: Any) -> Value:
    return value if isinstance(value, dict) else str(value)


def draw_order(seed: str, item_id: str) -> tuple[str, str]:
    """Place of an item in the random order that every source draws in."""
    return hashlib.md5(f"{seed}|{item_id}".encode(), usedforsecurity=False).hexdigest(), item_id


class MemorySource:
    """A `Source` over a list of rows, which may grow between scans.

    Each has ``id``, ``time`` (aware) and ``score`` or ``predicted`` or both; optionally
    ``model_version``. A row is flagged from a score of ``threshold`` on, without it where
    ``predicted`` is true. ``show`` names the values that labelers see, ``segments`` those by which
    strata are counted too, ``group`` what items belong to; ``challenger`` and ``judge`` each name a
    value that is true, false or None. ``down`` makes every call fail as a source does that cannot
    be reached; ``scans`` counts.
    """

    def __init__(
        self,
        rows: list[Row],
        *,
        threshold: float | None = None,
        show: Sequence[str] = (),
        segments: Sequence[str] = (),
        group: str | None = None,
        challenger: str | None = None,
        judge: str | None = None,
    ) -> None:
        self.rows = rows
        self.threshold = threshold
        self.shown = tuple(show)
        self.segments = tuple(segments)
        self.group = group
        self.challenger = challenger
        self.judge = judge
        self.down = False
        self.scans = 0

    def scan(self, window: Window, strata: Sequence[Stratum], at_most: int, seed: str) -> Frame:
        """Count every stratum and return its first items by md5(seed, id)."""
        self._answer()
        self.scans += 1
        inside = [row for row in self.rows if within(row, window)]
        newest = _newest_version(inside)
        rows = [row for row in inside if row.get("model_version") == newest]
        in_order = sorted(rows, key=lambda row: self._fixed_order(seed, row))
        members, bad = self._sorted_out(in_order, strata)
        untimed = _untimed(self.rows, inside)
        parts = [self._part(stratum, members[stratum.name], at_most) for stratum in strata]
        return Frame(
            window=window,
            strata=with_segments(parts, self.segments),
            segment_columns=self.segments,
            group_column=self.group,
            rows=len(inside) + untimed,
            bad_rows={**bad, **({BadRow.NO_TIME: untimed} if untimed else {})},
            notes=_other_versions(inside, newest),
            model_version=newest,
            newest=max((row["time"] for row in inside), default=None),
        )

    def _sorted_out(
        self, rows: Iterable[Row], strata: Sequence[Stratum]
    ) -> tuple[dict[str, list[Candidate]], Counter[BadRow]]:
        members: dict[str, list[Candidate]] = {stratum.name: [] for stratum in strata}
        bad: Counter[BadRow] = Counter()
        taken: set[str] = set()
        for row in rows:
            location = self._location(row, strata)
            # A bad row takes no id: of a bad and a good one with the same id the good one stays.
            if isinstance(location, BadRow):
                bad[location] += 1
            elif row["id"] in taken:
                bad[BadRow.DUPLICATE] += 1
            else:
                group = None if self.group is None else row.get(self.group)
                decision = None if self.challenger is None else row.get(self.challenger)
                members[location].append(
                    Candidate(row["id"], row.get("score"), self._values(row), decision, group)
                )
                taken.add(row["id"])
        return members, bad

    def count(self, window: Window) -> int:
        """Count the rows inside the window."""
        self._answer()
        return sum(within(row, window) for row in self.rows)

    def show(self, ids: Sequence[str], window: Window) -> Mapping[str, Shown]:
        """Return what labelers may see for each id: texts, and mappings as they are."""
        self._answer()
        expected = set(ids)
        return {
            row["id"]: {name: _as_shown(row.get(name, "")) for name in self.shown}
            for row in self.rows
            if row["id"] in expected and within(row, window)
        }

    def span(self) -> tuple[datetime, datetime] | None:
        """Return the earliest and latest time, or None if there are no rows."""
        self._answer()
        times = [row["time"] for row in self.rows if row["time"] is not None]
        return (min(times), max(times)) if times else None

    def prediction_times(self, ids: Sequence[str], window: Window) -> Mapping[str, datetime]:
        """Return the earliest time of each id found in the window."""
        self._answer()
        expected = set(ids)
        times: dict[str, datetime] = {}
        for row in self.rows:
            if row["id"] in expected and within(row, window):
                times[row["id"]] = min(row["time"], times.get(row["id"], row["time"]))
        return times

    def excluded(self, window: Window) -> Mapping[str, Mapping[str, int]]:  # noqa: ARG002
        """Return nothing: no settings leave rows out."""
        return {}

    def _values(self, row: Row) -> tuple[str, ...]:
        return tuple(str(row.get(name) or "").strip() or NO_VALUE for name in self.segments)

    def _part(self, stratum: Stratum, members: Sequence[Candidate], at_most: int) -> StratumFrame:
        columns = range(len(self.segments))
        sizes = tuple(dict(Counter(c.segments[column] for c in members)) for column in columns)
        decided = [candidate.challenged for candidate in members]
        challenged = (
            None if self.challenger is None else Decisions(decided.count(True), decided.count(None))
        )
        return StratumFrame(stratum, len(members), tuple(members[:at_most]), sizes, challenged)

    def _answer(self) -> None:
        if self.down:
            message = "the source in memory was set to be down"
            raise SourceUnavailable(message)

    def _location(self, row: Row, strata: Sequence[Stratum]) -> str | BadRow:
        """Name of the row's stratum, or the reason why it is in none."""
        problem = self._problem(row)
        if problem is not None:
            return problem
        score = row.get("score")
        flagged = self._flagged(row)
        verdict = verdict_of(None if self.judge is None else row.get(self.judge))
        mates = [
            stratum
            for stratum in strata
            if stratum.flagged == flagged and stratum.verdict in {None, verdict}
        ]
        for stratum in mates:
            if holds(stratum, score, alone=len(mates) == 1):
                return stratum.name
        return BadRow.NO_SCORE if score is None else BadRow.IN_NO_STRATUM

    def _flagged(self, row: Row) -> bool:
        if self.threshold is None:
            return bool(row["predicted"])
        return row.get("score") is not None and row["score"] >= self.threshold

    def _fixed_order(self, seed: str, row: Row) -> tuple[object, ...]:
        """Sort by draw order; of rows with one id the flagged one first, then the low score."""
        score = row.get("score")
        existing = score is not None and not math.isnan(score)
        return (
            draw_order(seed, row["id"] or ""),
            not self._flagged(row) if row.get("predicted") is not None or existing else True,
            not existing,
            score if existing else 0.0,
            self._values(row),
        )

    def _problem(self, row: Row) -> BadRow | None:
        score = row.get("score")
        if not row["id"]:
            return BadRow.NO_ID
        if score is None:
            if self.threshold is not None:
                return BadRow.NO_SCORE
        elif math.isnan(score):
            return BadRow.SCORE_NAN
        elif math.isinf(score):
            return BadRow.SCORE_INFINITE
        if self.threshold is None and row.get("predicted") is None:
            return BadRow.NO_PREDICTION
        return None


def within(row: Row, window: Window) -> bool:
    """Whether the row's time is known and is in the window."""
    return row["time"] is not None and window.start <= row["time"] < window.end


def verdict_of(judged: bool | None) -> Verdict:
    """Name a judge's verdict."""
    return Verdict.MISSING if judged is None else Verdict.YES if judged else Verdict.NO


def holds(stratum: Stratum, score: float | None, *, alone: bool) -> bool:
    """Whether a score falls into the band; ``alone`` when its class has no other."""
    if score is None:
        return stratum.unscored or (alone and stratum.is_unbounded)
    low = -math.inf if stratum.low is None else stratum.low
    high = math.inf if stratum.high is None else stratum.high
    return not stratum.unscored and low <= score < high


def _newest_version(rows: Iterable[Row]) -> str | None:
    counts, times = Counter[str](), dict[str, float]()
    for row in rows:
        if version := row.get("model_version"):
            counts[version] += 1
            times[version] = max(times.get(version, 0.0), row["time"].timestamp())
    return estimated_version(counts, times)


def _other_versions(rows: Iterable[Row], newest: str | None) -> dict[str, int]:
    notes: dict[str, int] = {}
    for row in rows:
        version = row.get("model_version")
        if version != newest:
            reason = f"model version {version} instead of {newest}"
            notes[reason] = notes.get(reason, 0) + 1
    return notes


def _untimed(rows: Sequence[Row], inside: Sequence[Row]) -> int:
    """Count the share of the rows without a time that falls to this window."""
    untimed = sum(row["time"] is None for row in rows)
    timed = len(rows) - untimed
    return math.ceil(untimed * len(inside) / timed) if timed else untimed


class MemoryLabeler:
    """A `Labeler` whose people answer from a mapping that a test may change at any time.

    ``answers`` has the annotator's answer for each item id, ``second_answers`` another person's on
    second copies; an item without one waits. ``sent`` has the tasks handed out, per round that is
    not closed. ``down`` makes every call fail as a labeling tool does that cannot be reached.
    """

    name = "memory"
    asks_people = True
    question = None

    def __init__(
        self, answers: MutableMapping[str, Answer] | None = None, *, annotator: str = "ada"
    ) -> None:
        self.answers = {} if answers is None else answers
        self.annotator = annotator
        self.second_answers: MutableMapping[str, Answer] = {}
        self.second_annotator = "bob"
        self.sent: dict[str, dict[str, Task]] = {}
        self.down = False
        self._given: set[str] = set()

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Assign tasks; those already out stay as they are."""
        self._answer()
        out = self.sent.setdefault(round_name, {})
        for task in tasks:
            out.setdefault(task.key, task)

    def collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:  # noqa: ARG002
        """Return all that is known now about these tasks."""
        self._answer()
        events = []
        for key, task in tasks.items():
            first = task.slot <= 1
            answer = (self.answers if first else self.second_answers).get(task.item_id)
            who = self.annotator if first else self.second_annotator
            if answer is not None:
                self._given.add(key)
                events.append(LabelEvent(key, who, answer))
            elif key in self._given:
                events.append(LabelEvent(key, who, None, kind=LabelKind.WITHDRAWN))
        return Collected(events=tuple(events))

    def close(self, round_name: str) -> None:
        """Forget the shown content."""
        self._answer()
        self.sent.pop(round_name, None)

    def forget(self, round_name: str, keys: Collection[str]) -> tuple[str, ...]:
        """Forget the shown content of some tasks."""
        self._answer()
        out = self.sent.get(round_name, {})
        matches = [key for key in keys if key in out and out[key].shown]
        out.update({key: replace(out[key], shown={}) for key in matches})
        return tuple(f"{round_name} {key}" for key in matches)

    def _answer(self) -> None:
        if self.down:
            message = "the labeler in memory was set to be down"
            raise TryLater(message)
