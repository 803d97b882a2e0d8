"""Corrections of answers before a round closes, and how long open rounds wait for them.

Evidence from an answer that is corrected later may fire an alert that the closing revises. So an
answer counts as missing until it is older than corrections usually are.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from monitor.domain.label_parts import class_name
from monitor.domain.labels import Statement, evidence_label
from monitor.domain.model import Answer
from monitor.domain.round import Round
from monitor.presentation.parts.corrections import CorrectionRow
from monitor.rounds.parts.part import LabeledRound, ReportedVersion, ReportPart
from monitor.storage.labels.round_labels import RoundLabels

CORRECTIONS = "corrections"
"""Name of these counts in the store."""

ROUNDS = 12
"""Rounds from which corrections are learned, the present one included."""

LEAST = 0.01
"""Least share of changed answers of a kind for which open rounds wait."""

USUALLY = 0.95
"""Share of the changes of a kind that are made within the waiting time."""

Counts = Mapping[str, Sequence[Any]]
"""Number of first answers, and the ages in seconds at which some were changed, by kind.

Kinds are `answer_kind`, such as ``flagged 0``.
"""


class CorrectionsPart(ReportPart):
    """How many answers of each kind were changed before the rounds closed, and when."""

    name = CORRECTIONS
    reach = ROUNDS - 1

    def counts(self, counted: LabeledRound) -> Any:
        """Count first answers, and those changed; later labels of a closed round do not count."""
        return count_corrections(counted.labels, counted.round.closed_at) or None

    def corrects(self, round_: Round) -> bool:  # noqa: ARG002
        """Make no version for a correction alone."""
        return False

    def row(self, version: ReportedVersion) -> list[CorrectionRow]:
        """Report the kinds of answers that open rounds wait for."""
        earlier = [each.counts for each in version.earlier if each is not None]
        learned = expected_corrections([*earlier, version.counts or {}])
        return [
            CorrectionRow(
                labels=kind.split()[0],
                positive=kind.endswith(Answer.POSITIVE),
                answers=of_kind.answers,
                changed=of_kind.changed,
                rounds=len(earlier) + 1,
                hours=of_kind.age / timedelta(hours=1),
            )
            for kind, of_kind in sorted(learned.items())
        ]


def answer_kind(flagged: bool, answer: Answer) -> str:
    """Name the answers of a kind, such as those that call a flagged item negative."""
    return f"{class_name(flagged)} {answer}"


@dataclass(slots=True)
class _AnswerHistory:
    """The first answer that counts as evidence, and the last one with its time."""

    first: Answer
    begun: datetime
    last: Answer | None = None
    since: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.last, self.since = self.first, self.begun


def _history(statements: Sequence[Statement], adjudicator: str | None) -> _AnswerHistory | None:
    history: _AnswerHistory | None = None
    for count, statement in enumerate(statements, start=1):
        answer = evidence_label(statements[:count], adjudicator)
        if history is None:
            history = None if answer is None else _AnswerHistory(answer, statement.at)
        elif answer is not history.last:
            history.last, history.since = answer, statement.at
    return history


def _histories(
    labels: RoundLabels, until: datetime | None
) -> dict[str, tuple[bool, _AnswerHistory]]:
    """Follow the answers to each item up to a time, with its predicted class."""
    result = {}
    for item in labels.items:
        statements = [
            one for one in labels.said.get(item.id, ()) if until is None or one.at <= until
        ]
        if (history := _history(statements, labels.adjudicator)) is not None:
            result[item.id] = labels.is_flagged[item.stratum], history
    return result


def count_corrections(labels: RoundLabels, until: datetime | None = None) -> dict[str, list[Any]]:
    """Count first answers by kind, with the ages in seconds at which some were changed."""
    counts: defaultdict[str, list[Any]] = defaultdict(lambda: [0, []])
    for flagged, history in _histories(labels, until).values():
        of_kind = counts[answer_kind(flagged, history.first)]
        of_kind[0] += 1
        if history.last is not history.first:
            of_kind[1].append(round((history.since - history.begun).total_seconds()))
    return dict(counts)


class Corrections(NamedTuple):
    """Answers of a kind, how many of them were changed, and the ``age`` of nearly all changes."""

    answers: int
    changed: int
    age: timedelta


def expected_corrections(past: Sequence[Counts]) -> dict[str, Corrections]:
    """Learn from rounds which kinds of answers are changed, and by which age."""
    learned = {}
    for kind in {kind for counts in past for kind in counts}:
        own = [counts[kind] for counts in past if kind in counts]
        answers, ages = sum(of[0] for of in own), sorted(age for of in own for age in of[1])
        if len(ages) >= max(1, LEAST * answers):
            usual = ages[math.ceil(USUALLY * len(ages)) - 1]
            learned[kind] = Corrections(answers, len(ages), timedelta(seconds=usual))
    return learned


def unsettled_answers(
    labels: RoundLabels, past: Sequence[Counts], now: datetime
) -> dict[str, datetime]:
    """Find the items of an open round whose answers may usually still be changed, and until when.

    Learns from ``past`` corrections and from the round's own.
    """
    learned = expected_corrections([*past, count_corrections(labels)])
    return {
        item: until
        for item, (flagged, history) in (_histories(labels, None) if learned else {}).items()
        if history.last is not None
        and (of_kind := learned.get(answer_kind(flagged, history.last))) is not None
        and now <= (until := history.since + of_kind.age)
    }
