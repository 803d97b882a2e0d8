"""Check whether a label table covers items that were not flagged, and how it writes ids.

With ``missing_means: negative`` an item without a row is negative. If only flagged items can get a
row (because only they are reviewed), no missed positive is ever found, and recall is always 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from itertools import islice
from typing import TypeVar

from monitor.domain.crashpoint import outside
from monitor.domain.errors import LabelsRefused
from monitor.domain.id_forms import NearMiss
from monitor.domain.label_parts import AssignedLabeler
from monitor.domain.model import BandEdges, StratumFrame, Window
from monitor.domain.ports import ReadsTruth
from monitor.domain.settings import Schedule
from monitor.domain.slots import slots_before, window_of
from monitor.presentation.labels import (
    near_misses_sentence,
    no_rows_sentence,
    positives_only_sentence,
    unreached_sentence,
)
from monitor.rounds.context import MonitorContext

MOST_ITEMS = 20_000  # Items of each class and window that are looked up, in random order
WINDOWS = 8  # Windows that are checked

RECALL = 0.95
"""Recall assumed for the expected rows of passed items; most classifiers have less."""

EXPECTED = math.log(1000)
"""Expected rows at which finding no row has probability 1 in 1,000 (Poisson)."""

FEWEST = 5
"""Positive labels, and items without a label, from which on a truth may list positives only."""

NEAR = 0.02
"""Least share of items whose label has the id in another form, for a report."""


@dataclass(frozen=True, slots=True)
class ClassReach:
    """Items of a predicted class: all, looked up, with a row, and positive."""

    size: int = 0
    checked: int = 0
    known: int = 0
    positive: int = 0

    def __add__(self, other: ClassReach) -> ClassReach:
        """Add the items of both."""
        return _sum(self, other)


@dataclass(frozen=True, slots=True)
class Reach:
    """Coverage of both predicted classes by the truth, in one window or several."""

    flagged: ClassReach = ClassReach()
    passed: ClassReach = ClassReach()
    expected: float = 0.0
    windows: int = 0

    def __add__(self, other: Reach) -> Reach:
        """Add the windows of both."""
        return _sum(self, other)

    @property
    def misses_passed(self) -> bool:
        """Whether no passed item has a row although some should."""
        return self.passed.known == 0 and self.expected >= EXPECTED


T = TypeVar("T", ClassReach, Reach)


def _sum(one: T, other: T) -> T:
    names = [each.name for each in fields(one)]
    return type(one)(*(getattr(one, name) + getattr(other, name) for name in names))


def reach_of(
    context: MonitorContext, truth_reader: TruthReader, window: Window, flagged: float | None = None
) -> Reach:
    """Count the items of a window that have a row in the truth, by predicted class.

    ``expected`` is the number of passed items with a row that a recall of ``RECALL`` implies among
    the items looked up: for :math:`T` flagged positives, :math:`T (1 - R) / R` passed ones.
    ``flagged`` is T if it is known from elsewhere.
    """
    with outside("scan"):
        frame = context.source.scan(window, BandEdges().strata(), MOST_ITEMS, "truth")
    by_class = {True: ClassReach(), False: ClassReach()}
    for part in frame.strata:
        ids = truth_reader.own(part)
        with outside("collect"):
            truth = truth_reader.labeler.truth_of(ids)
        size = round(part.size * len(ids) / max(len(part.candidates), 1))
        class_reach = ClassReach(size, len(ids), truth.known, truth.positive)
        by_class[part.stratum.flagged] += class_reach
    seen, passed = by_class[True], by_class[False]
    among = sum(part.size for part in frame.strata if not part.stratum.flagged)
    if flagged is None:
        flagged, among = seen.positive * seen.size / max(seen.checked, 1), passed.size
    missed = flagged * (1 - RECALL) / RECALL
    return Reach(seen, passed, missed * passed.checked / max(among, 1), 1)


def no_rows_concern(
    context: MonitorContext, truth_reader: TruthReader, window: Window
) -> str | None:
    """Report that no item of a window has a row, so that each counts as negative; else None."""
    ids = some_ids(context, truth_reader, window)
    with outside("collect"):
        has_rows = bool(truth_reader.labeler.truth_of(ids).known)
    return None if has_rows or not ids else no_rows_sentence(len(ids))


def some_ids(context: MonitorContext, truth_reader: TruthReader, window: Window) -> list[str]:
    """Draw ids of items that a labeler answers for."""
    with outside("scan"):
        frame = context.source.scan(window, BandEdges().strata(), MOST_ITEMS, "truth")
    return [item for part in frame.strata for item in truth_reader.own(part)]


def refuse_unreached(
    context: MonitorContext,
    truth_reader: TruthReader,
    window: Window,
    flagged: float | None = None,
) -> None:
    """Refuse a truth that has rows for flagged items only, in all windows.

    Adds earlier windows if one alone cannot decide and several together may.
    """
    reach = Reach()
    earlier = windows_before(context.settings.round.schedule, window)
    for checked in (window, *islice(earlier, WINDOWS - 1)):
        reach += reach_of(context, truth_reader, checked, flagged)
        if reach.passed.known or reach.expected * WINDOWS < EXPECTED:
            return
        if reach.misses_passed:
            raise LabelsRefused(
                unreached_sentence(
                    flagged=(reach.flagged.known, reach.flagged.checked),
                    passed=reach.passed.checked,
                    windows=reach.windows,
                    expected=reach.expected,
                )
            )


def windows_before(schedule: Schedule, window: Window) -> Iterator[Window]:
    """Return the windows of a schedule before this one, the newest first."""
    for slot in slots_before(schedule, window.start + schedule.lag + timedelta(microseconds=1)):
        yield window_of(schedule, slot)


@dataclass(frozen=True, slots=True)
class TruthReader:
    """A labeler that reads a table of labels, and the items that it answers for."""

    labeler: ReadsTruth
    assigned: AssignedLabeler

    def own(self, part: StratumFrame) -> list[str]:
        """Return the ids of a stratum's candidates that the labeler answers for."""
        is_own = self.assigned.answers(predicted=part.stratum.flagged)
        return [one.id for one in part.candidates] if is_own else []


def truth_readers(assigned: Sequence[AssignedLabeler]) -> list[TruthReader]:
    """Return the labelers of a round that read a table of labels."""
    return [
        TruthReader(one.labeler, one) for one in assigned if isinstance(one.labeler, ReadsTruth)
    ]


def near_misses_concern(
    context: MonitorContext, labeler: ReadsTruth, ids: Sequence[str]
) -> str | None:
    """Report how many items have a label only under an id in another form; None if few do.

    Raises `LabelsRefused` if even one does and would count as negative.
    """
    near = _near_misses(context, labeler, ids) if ids else []
    refused = labeler.must_match_ids
    least = 1 if refused else max(2, NEAR * len(ids))
    if len({miss.item for miss in near}) < least:
        return None
    sentence = near_misses_sentence(near, items=len(ids), refused=refused)
    if refused:
        raise LabelsRefused(sentence)
    return sentence


def positives_only_concern(reach: ClassReach) -> str | None:
    """Suggest that the truth lists positives only; None if that is unlikely.

    It is likely if no row is negative, and at least `FEWEST` items have a row and as many none.
    """
    unlabeled = reach.checked - reach.known
    is_likely = reach.known == reach.positive and min(reach.known, unlabeled) >= FEWEST
    return positives_only_sentence(reach.known, unlabeled) if is_likely else None


def contradictions_concern(labeler: ReadsTruth, ids: Sequence[str]) -> str | None:
    """Report how many items have no label because their rows contradict each other."""
    if not ids:
        return None
    with outside("collect"):
        return labeler.contradictions_sentence(ids)


def _near_misses(
    context: MonitorContext, labeler: ReadsTruth, ids: Sequence[str]
) -> list[NearMiss]:
    """Return near misses whose row does not belong to another prediction."""
    with outside("collect"):
        near = labeler.near_misses(ids)
    if not near:
        return near
    with outside("scan"):
        span = context.source.span()
        window = None if span is None else Window(span[0], span[1] + timedelta(microseconds=1))
        forms = sorted({miss.form for miss in near})
        predicted = {} if window is None else context.source.show(forms, window)
    return [miss for miss in near if miss.form not in predicted]
