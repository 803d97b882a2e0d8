"""The labeled confusion matrix of one version of a round, as stored and for the statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from monitor.domain.model import Stratum
from monitor.domain.report import AnswersRow
from monitor.stats.core.counts import Counts, completed
from monitor.stats.design.label_groups import LabelGroups, group_effects
from monitor.storage.results.past_counts import score_cells
from monitor.storage.samples.frame_store import StratumTally

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Counted(Protocol):
    """The counts of a round, such as an earlier one."""

    @property
    def counts(self) -> Counts:
        """Its sizes and labels, stratum by stratum."""

    @property
    def missing(self) -> NDArray[np.int64]:
        """Items sent out without a usable answer, per stratum."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A round with an answer to every missing item: all positive, or all negative."""

    counts: Counts
    missing: NDArray[np.int64]

    @classmethod
    def of(cls, counted: Counted, *, positive: bool) -> Counted:
        """Give all missing items of a round one answer; a round without any stays as it is."""
        if not counted.missing.any():
            return counted
        answers = np.full(counted.missing.shape, positive)
        counts = completed(counted.counts, counted.missing, answers)
        return cls(counts, np.zeros_like(counted.missing))


@dataclass(frozen=True)
class Tally:
    """The labeled confusion matrix of one version of a round, stratum by stratum."""

    strata: tuple[StratumTally, ...]
    groups: LabelGroups | None = None

    @property
    def frame(self) -> list[Stratum]:
        """The strata themselves, without what was counted in them."""
        return [s.stratum for s in self.strata]

    @property
    def is_judged(self) -> bool:
        """Whether a judge's verdicts cut the strata."""
        return any(one.verdict is not None for one in self.frame)

    @cached_property
    def counts(self) -> Counts:
        """Counts as the statistics take them."""
        rows = [s.rows for s in self.strata if s.rows is not None]
        counts = Counts.of_arrays(
            size=[s.size for s in self.strata],
            labeled=[s.labeled for s in self.strata],
            positive=[s.positive for s in self.strata],
            is_flagged=[s.stratum.flagged for s in self.strata],
            rows=rows if len(rows) == len(self.strata) else None,
        )
        if self.is_judged:
            counts = replace(counts, cell=score_cells(self.frame))
        if self.groups is None:
            return counts
        return replace(counts, group_effects=group_effects(self.groups, counts))

    def turned_since(self, before: Tally) -> int:
        """Return the least number of labels that changed since an earlier version."""
        was, now = before.counts, self.counts
        fewer = np.maximum(was.positive - now.positive, 0)
        fewer += np.maximum((was.labeled - was.positive) - (now.labeled - now.positive), 0)
        return int(fewer.sum())

    def lost_since(self, before: Tally) -> int:
        """Return the least number of positive labels that were lost since an earlier version."""
        return int(np.maximum(before.counts.positive - self.counts.positive, 0).sum())

    @property
    def answers(self) -> AnswersRow:
        """Numbers of answers planned, given and declined."""
        return AnswersRow(
            wanted=sum(s.planned for s in self.strata),
            labeled=sum(s.labeled for s in self.strata),
            declined=sum(s.declined for s in self.strata),
        )

    @property
    def missing(self) -> NDArray[np.int64]:
        """Items sent out without a usable answer, per stratum."""
        return np.array([s.planned - s.labeled for s in self.strata], dtype=np.int64)


def classes_without_label(strata: Sequence[StratumTally]) -> list[str]:
    """Return the predicted classes that have tasks but no label."""
    empty = []
    for name, flagged in (("flagged", True), ("passed", False)):
        tallies = [part for part in strata if part.stratum.flagged == flagged]
        if any(part.planned for part in tallies) and not any(part.labeled for part in tallies):
            empty.append(name)
    return empty
