"""Segments that are worse than the rest, searched over the rounds of a history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from monitor.domain.label_parts import part_of, rules_of
from monitor.domain.labels import corrected_evidence_label, evidence_label
from monitor.domain.model import Answer
from monitor.domain.report import ErrorCount, NoticeRow, SegmentSearchRow, WorseSegmentRow
from monitor.domain.segments import OTHER
from monitor.domain.state import RoundState
from monitor.presentation.segments import segment_name, worse_sentence
from monitor.stats.detection.worse_segments import (
    ODDS,
    log_e_values,
    log_ratios,
    worse_segments,
)
from monitor.storage.labels.round_labels import read_recurring
from monitor.storage.results import segment_store
from monitor.storage.results.segment_store import Name, SegmentEvidence

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.rounds.estimation.batch import HistoryBatch
    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.storage.labels.round_labels import RoundLabels
    from monitor.storage.rounds.round_store import Round

MOST_ROUNDS = 52
"""Rounds that are searched, the newest: what is worse for longer is long known."""

LEVEL = 0.1
"""Share of the segments named in a round that is expected to be named wrongly, at most."""


@dataclass(frozen=True, slots=True)
class SegmentSearch:
    """Worse segments by a version; ``fresh`` is the evidence of its labels, if they changed."""

    row: SegmentSearchRow
    fresh: Mapping[Name, SegmentEvidence] | None = None


def segment_searches(
    connection: Connection, batch: HistoryBatch, restating: Collection[int] = ()
) -> dict[int, SegmentSearch]:
    """Search in each affected round with segments; late labels search again.

    What a restatement changes is no evidence: it was chosen by people who may know the results.
    """
    if not any(item.segments for labels in batch.labels.values() for item in labels.items):
        return {}
    ids = [each.id for each in batch.earlier][-MOST_ROUNDS:]
    affected = [member.round for member in batch.affected]
    evidence = segment_store.read_evidence(connection, [*ids, *(each.id for each in affected)])
    exploring = [round_ for round_ in affected if round_.settings.explored is not None]
    explored = read_recurring(connection, exploring, explored=True)
    frozen = {*restating, *(version.round_id for version in batch.restated if version.own)}
    result: dict[int, SegmentSearch] = {}
    for round_ in affected:
        fresh = None
        is_new = round_.label_revision != round_.estimated_revision or round_.id not in evidence
        if is_new and round_.id not in frozen:
            excluded = batch.recurring[round_.id] | explored.get(round_.id, frozenset())
            labels = batch.labels[round_.id].without(excluded)
            fresh = evidence[round_.id] = round_evidence(round_, labels)
        ids.append(round_.id)
        searched = [evidence[each] for each in ids[-MOST_ROUNDS:] if each in evidence]
        result[round_.id] = SegmentSearch(_search(searched), fresh)
    return result


def worst_so_far(
    connection: Connection, round_ids: Sequence[int], values: Collection[tuple[str, str]]
) -> tuple[str, str] | None:
    """Choose the value of a segment column that has the largest e-value; None without evidence.

    round_ids: The closed rounds of a history, in slot order.
    values: What to choose from: pairs of column and value.
    """
    read = segment_store.read_evidence(connection, round_ids[-MOST_ROUNDS:])
    rounds = [read[each] for each in round_ids if each in read]
    singles = {name for of_round in rounds for name in of_round if len(name) == 1}
    names = sorted(name for name in singles if name[0] in values)
    if not names:
        return None
    return names[int(log_e_values(_stacked(names, rounds)[1]).argmax())][0]


def search_notices(row: SegmentSearchRow | None) -> list[NoticeRow]:
    """Note the segment that is surest to be worse; it is no alarm."""
    if row is None or not row.worse:
        return []
    [worst, *others] = row.worse
    sentence = worse_sentence(worst, others=len(others))
    subject = segment_name(worst)
    return [NoticeRow(kind="segment", subject=subject, value=worst.odds, sentence=sentence)]


def round_evidence(round_: Round, labels: RoundLabels) -> dict[Name, SegmentEvidence]:
    """Compare each segment and pair of a round with the rest of its strata, by class.

    People and columns may differ in what they call positive, so only labels of one labeler are
    compared: strata are cut by labeler. Items of the explored value count for it and its pairs;
    among the others, one that holds much of what was explored would look worse than it is.
    """
    sample = _of_strata(round_, labels)
    extra = None if labels.explored is None else _of_strata(round_, labels.explored)
    strata = sample.strata | (extra.strata if extra else {})
    names = sorted({name for name, _ in sample.labeled | (extra or sample).labeled} - {()})
    counts = sample.counts(((), *names), strata)
    is_flagged = np.array([*strata.values()], dtype=bool)
    result = _evidence(names, counts, is_flagged)
    if extra and round_.settings.explored is not None:
        value = round_.settings.explored.column, round_.settings.explored.value
        more = extra.counts(names, strata)
        for index, name in enumerate(names):
            if value in name:
                both = np.stack([counts[0], counts[index + 1]]) + more[index]
                result |= _evidence([name], both, is_flagged)
    return result


class _Labels(NamedTuple):
    """Labels and errors of each segment and pair in each stratum, and of all items as ``()``.

    ``strata`` has each stratum, cut by labeler, and whether it is flagged.
    """

    strata: dict[tuple[str, int], bool]
    labeled: Counter[tuple[Name, tuple[str, int]]]
    wrong: Counter[tuple[Name, tuple[str, int]]]

    def counts(self, names: Sequence[Name], strata: Collection[tuple[str, int]]) -> Ints:
        """Lay out labels and errors, of shape (names, 2, strata)."""
        return np.array(
            [
                [[of[name, stratum] for stratum in strata] for of in (self.labeled, self.wrong)]
                for name in names
            ]
        ).reshape(-1, 2, len(strata))


def _of_strata(round_: Round, labels: RoundLabels) -> _Labels:
    closed = round_.state is RoundState.CLOSED
    answers = labels.answers_by(corrected_evidence_label if closed else evidence_label)
    flagged = {part.stratum.name: part.stratum.flagged for part in labels.strata}
    rules = rules_of(round_.settings.labeling)
    result = _Labels({}, Counter(), Counter())
    for item in labels.items:
        answer, up = answers.get(item.id), flagged[item.stratum]
        if answer not in (Answer.POSITIVE, Answer.NEGATIVE):
            continue
        stratum = item.stratum, part_of(rules, predicted=up, segments=item.segments)
        result.strata[stratum] = up
        for name in ((), *_names(item.segments)):
            result.labeled[name, stratum] += 1
            result.wrong[name, stratum] += (answer is Answer.POSITIVE) != up
    return result


def _names(segments: Mapping[str, str]) -> Iterator[Name]:
    """Yield an item's values of segment columns, and pairs of them.

    Not what is no segment: the values that are too small to be told apart.
    """
    values = sorted((name, value) for name, value in segments.items() if value != OTHER)
    for size in (1, 2):
        yield from combinations(values, size)


def _evidence(
    names: Sequence[Name], counts: Ints, is_flagged: Bools
) -> dict[Name, SegmentEvidence]:
    """Compare by class; ``counts`` are labels and errors, of all and of each name: (1+S, 2, H)."""
    sums, ratios = [], []
    for chosen in (is_flagged, ~is_flagged):
        [labels, errors], own = counts[0][:, chosen], counts[1:][:, :, chosen]
        n, y = own[:, 0], own[:, 1]
        expected = (n * errors / np.maximum(labels, 1)).sum(axis=1).round(2)
        sums.append(np.stack([n.sum(axis=1), y.sum(axis=1), expected], axis=1))
        ratios.append(log_ratios(labels, errors, n, y).round(4))
    by_name = zip(np.stack(sums, axis=1).tolist(), np.stack(ratios, axis=1).tolist(), strict=True)
    return {name: SegmentEvidence(*both) for name, both in zip(names, by_name, strict=True)}


def _search(rounds: Sequence[Mapping[Name, SegmentEvidence]]) -> SegmentSearchRow:
    """Name the segments that are worse; half of the prior is for values, half for pairs."""
    names = sorted({name for of_round in rounds for name in of_round})
    sums, ratios = _stacked(names, rounds)
    of_size = Counter(map(len, names))
    prior = np.array([1 / of_size[len(name)] / len(of_size) for name in names])
    worse = []
    for one in worse_segments(ratios, prior, level=LEVEL):
        flagged, passed = sums[one.index, -one.rounds :].sum(axis=0)
        worse.append(
            WorseSegmentRow(
                segment=dict(names[one.index]),
                metric=one.kind,
                rounds=one.rounds,
                flagged=_counted(flagged),
                passed=_counted(passed),
                odds=one.odds,
                low=one.low,
                high=one.high,
                log_evidence=one.log_e,
            )
        )
    return SegmentSearchRow(searched=len(names), rounds=len(rounds), level=LEVEL, worse=worse)


def _stacked(
    names: Sequence[Name], rounds: Sequence[Mapping[Name, SegmentEvidence]]
) -> tuple[Floats, Floats]:
    """Lay out the evidence: sums (names, rounds, 2, 3), and ratios (names, rounds, 2, odds)."""
    sums = np.zeros((len(names), len(rounds), 2, 3))
    ratios = np.zeros((len(names), len(rounds), 2, len(ODDS)))
    for i, name in enumerate(names):
        for r, of_round in enumerate(rounds):
            if name in of_round:
                sums[i, r], ratios[i, r] = of_round[name]
    return sums, ratios


def _counted(sums: Floats) -> ErrorCount:
    labeled, wrong, expected = sums.tolist()
    return ErrorCount(int(labeled), int(wrong), expected)
