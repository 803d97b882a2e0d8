"""How often a column's labels are wrong, by the people who check some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scipy import special

from monitor.domain.label_parts import checks_of, parts_of
from monitor.domain.report import CheckRow
from monitor.domain.settings import CREDIBLE_LEVEL
from monitor.stats.labels.audit import ClassAudits, LabelAudit
from monitor.storage.labels.check_store import CheckCounts, PastChecks

if TYPE_CHECKING:
    from monitor.domain.judge import Ends
    from monitor.storage.labels.check_store import Checked
    from monitor.storage.labels.round_labels import RoundLabels
    from monitor.storage.rounds.round_store import Round

ROUNDS = 12
"""Rounds whose checks are counted together, the last one included: what a column was wrong about a
year ago says little of today."""


@dataclass(frozen=True, slots=True)
class CheckedLabels:
    """Checks of a round, alone and pooled with the last rounds, by predicted class."""

    labeling: Mapping[str, Any]
    own: Checked = field(default_factory=dict)
    pooled: Checked = field(default_factory=dict)
    rounds: int = 0

    def _by_class(self) -> dict[bool, CheckCounts]:
        """Count the checks of each class whose labels people are to check."""
        return {
            flagged: self.pooled.get(flagged, CheckCounts())
            for checks in checks_of(self.labeling).values()
            for flagged in checks.classes
        }

    def audit(self) -> ClassAudits:
        """Return what the checks say of labels; those that nobody is to check count as right.

        Raises `NoBetterThanChance` if by them labels of a class may well be no better than chance.
        """
        audits = {up: LabelAudit(**counts._asdict()) for up, counts in self._by_class().items()}
        return ClassAudits(audits.get(True), audits.get(False))

    def rows(self) -> list[CheckRow]:
        """Report the error rates of each class that is checked."""
        return [
            CheckRow(
                labels="flagged" if flagged else "passed",
                items=self.own.get(flagged, CheckCounts()).items,
                rounds=self.rounds,
                **counts._asdict(),
                sensitivity=_rate(counts.tp, counts.fn),
                specificity=_rate(counts.tn, counts.fp),
            )
            for flagged, counts in self._by_class().items()
        ]


def checked_labels(
    rounds: Sequence[Round],
    labels: Mapping[int, RoundLabels],
    past: Sequence[PastChecks],
) -> dict[int, CheckedLabels]:
    """Count the checks of some rounds, by round id, with the rounds before them.

    ``past`` are the earlier rounds of the history in slot order, as their versions counted them.
    Rounds count together while the columns that are checked are the same.
    """
    before, result = list(past), dict[int, CheckedLabels]()
    for round_ in rounds:
        labeling = round_.settings.labeling or {}
        if not checks_of(labeling):
            continue
        own = labels[round_.id].check_counts
        before.append(PastChecks(labeling, own))
        together = [one for one in before if _columns(one.labeling) == _columns(labeling)]
        pooled: dict[bool, CheckCounts] = {}
        for one in together[-ROUNDS:]:
            for flagged, counts in one.counts.items():
                pooled[flagged] = pooled.get(flagged, CheckCounts()).plus(counts)
        result[round_.id] = CheckedLabels(labeling, own, pooled, len(together[-ROUNDS:]))
    return result


def _columns(labeling: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Describe the columns that are checked, and whose labels they have."""
    ignored, parts = {"checks", "deadline"}, parts_of(labeling)
    return [
        {name: value for name, value in parts[part].items() if name not in ignored}
        for part in checks_of(labeling)
    ]


def _rate(right: int, wrong: int) -> Ends | None:
    """Share of labels that are right, with its interval by Jeffreys' prior."""
    if not right + wrong:
        return None
    tail = (1 - CREDIBLE_LEVEL) / 2
    low, high = (
        float(special.betaincinv(right + 0.5, wrong + 0.5, end)) for end in (tail, 1 - tail)
    )
    return right / (right + wrong), low, high
