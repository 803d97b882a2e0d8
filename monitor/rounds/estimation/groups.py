"""The labels of a round by the groups that its items belong to (``source.columns.group``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from monitor.domain.labels import current_label
from monitor.domain.model import Answer
from monitor.domain.report import NoticeRow
from monitor.presentation.notices import group_sizes_sentence, groups_sentence
from monitor.rounds.estimation.tally import Tally
from monitor.stats.design.label_groups import LabelGroups, size_gap
from monitor.storage.labels.label_store import LabelOf
from monitor.storage.labels.round_labels import RoundLabels, read_all_labels
from monitor.storage.results.past_counts import PastRound
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

KIND = "groups"
NOTED = 1.5
"""Design effect above which a round notes the effective number of its labels."""
FAR = 3.0
"""Least difference of the rate by group from the rate by item that is noted, in standard errors."""
_LABELS = {Answer.POSITIVE: True, Answer.NEGATIVE: False}


def label_groups(labels: RoundLabels, label_of: LabelOf = current_label) -> LabelGroups | None:
    """Count the drawn items of a round by group; None if no item names one.

    An item without a group is a group by itself.
    """
    if all(item.group is None for item in labels.items):
        return None
    position = {part.stratum.name: index for index, part in enumerate(labels.strata)}
    answers = labels.answers_by(label_of)
    return LabelGroups.of(
        (
            (item.id,) if item.group is None else item.group,
            position[item.stratum],
            _LABELS.get(answers.get(item.id, Answer.CANNOT_TELL)),
        )
        for item in labels.items
    )


def group_notices(now: Tally) -> list[NoticeRow]:
    """Note effective label counts if groups are homogeneous, and rates that vary by group size."""
    worth = {
        name: (int(labeled), labeled / effect)
        for name, labeled, effect in _by_class(now)
        if effect > NOTED
    }
    notices = _size_notices(now)
    if worth:
        effect = max(now.counts.group_effects)
        sentence = groups_sentence(worth)
        notices.insert(0, NoticeRow(kind=KIND, subject="", value=effect, sentence=sentence))
    return notices


def _size_notices(now: Tally) -> list[NoticeRow]:
    """Warn of classes whose rate varies by group size: evidence assumes that it does not."""
    if now.groups is None:
        return []
    gaps = {
        name: size_gap(now.groups, now.counts, flagged=name == "flagged")
        for name in ("flagged", "passed")
    }
    return [
        NoticeRow(
            kind="group_sizes", subject=name, value=gap, sentence=group_sizes_sentence(name, gap)
        )
        for name, (gap, errors) in gaps.items()
        if errors > FAR
    ]


def group_effect_of(report: Mapping[str, Any]) -> float:
    """Return the larger design effect that a report notes; 1 if it notes none."""
    notices = report.get("notices", ())
    return max((row["value"] for row in notices if row["kind"] == KIND), default=1.0)


def _by_class(now: Tally) -> Iterator[tuple[str, float, float]]:
    counts, up = now.counts, now.counts.is_flagged
    labeled = (counts.labeled[up].sum(), counts.labeled[~up].sum())
    yield from zip(("flagged", "passed"), labeled, counts.group_effects, strict=True)


def past_labels_of_groups(
    connection: Connection, past: Sequence[PastRound], labels: Mapping[int, RoundLabels]
) -> dict[int, RoundLabels]:
    """Read the labels of earlier rounds if a round has groups: counts alone have no groups."""
    if all(label_groups(each) is None for each in labels.values()):
        return {}
    missing = [each.id for each in past if each.id not in labels]
    return read_all_labels(connection, round_store.read_rounds(connection, missing))


def in_groups(past: PastRound, labels: RoundLabels | None) -> PastRound:
    """Add the design effects of its groups to an earlier round's counts."""
    groups = None if labels is None else label_groups(labels)
    if groups is None or labels is None:
        return past
    effects = Tally(tuple(labels.counts()), groups).counts.group_effects
    return replace(past, counts=replace(past.counts, group_effects=effects))
