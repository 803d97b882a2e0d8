"""Estimate a round early, from the share of its labels that has come."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.domain.label_parts import maturity_of
from monitor.domain.report import ProvisionalMetric, ProvisionalRow
from monitor.domain.round import Round
from monitor.presentation import estimates
from monitor.presentation.reasons import no_estimate_reason
from monitor.rounds.estimation.tally import Tally
from monitor.rounds.paces import (
    COARSE,
    DAY,
    CutPaces,
    FollowedRound,
    Pace,
    ScoreCut,
    paces_by_score,
)
from monitor.stats.core.counts import Counts
from monitor.stats.core.reasons import Contradiction
from monitor.stats.estimation.posterior import MetricEstimate
from monitor.stats.labels.audit import ArrivedShare
from monitor.storage.samples.frame_store import StratumTally

if TYPE_CHECKING:
    from monitor.domain.model import Stratum
    from monitor.stats.core.arrays import Bools, Ints
    from monitor.stats.labels.audit import ClassAudit

FEWEST = 20
"""Fewest positive labels of closed rounds, with a dated arrival, for an early estimate."""

LEAST_MATURED = 0.1  # with less, a handful of labels would speak for all that are to come
LEAST_FIT = 0.001
"""p-value below which labels are reported to come at another pace than before."""

Followed = Mapping[bool, Mapping[str, Any]]
"""Column settings of each predicted class whose labels mature; the key is whether it is flagged.
"""


@dataclass(frozen=True, slots=True)
class EarlyLabels:
    """Labels of a round so far, by stratum; an item without one counts as negative.

    ``frame`` are the strata; ``has_cells`` if they are score cells.
    """

    counts: Counts
    frame: Sequence[Stratum] = ()
    has_cells: bool = False

    def of_parts(self, cuts: Collection[ScoreCut]) -> tuple[Counts, dict[bool, tuple[int, int]]]:
        """Return counts, and the number of strata in both parts of each class that is cut."""
        total = int(self.counts.is_flagged.sum()), int((~self.counts.is_flagged).sum())
        strata = {cut.flagged: (cut.strata, total[not cut.flagged] - cut.strata) for cut in cuts}
        if not self.has_cells:
            return self.counts, strata
        plain = self._plain(self.counts.is_flagged)
        by_class = {True: (plain, [0]), False: (plain, [1])}
        for flagged, (first, _) in strata.items():
            own = np.flatnonzero(self.counts.is_flagged == flagged)
            by_class[flagged] = self._plain(np.isin(own, own[:first]), own), [0, 1]
        columns = {
            name: np.concatenate([getattr(of, name)[rows] for of, rows in by_class.values()])
            for name in ("size", "labeled", "positive")
        }
        counted = [of.rows[rows] for of, rows in by_class.values() if of.rows is not None]
        if counted:
            columns["rows"] = np.concatenate(counted)
        up = np.repeat([True, False], [len(rows) for _, rows in by_class.values()])
        return Counts.of_arrays(**columns, is_flagged=up), dict.fromkeys(strata, (1, 1))

    def _plain(self, is_first: Bools, own: Ints | slice = slice(None)) -> Counts:
        """Merge each of two groups of strata into one stratum of plain labels."""
        from monitor.stats.core.beta_mixture import HEAVY  # noqa: PLC0415  scipy takes long
        from monitor.stats.estimation.cell_matrix import plain_counts  # noqa: PLC0415  likewise

        counts = self.counts
        values = (counts.size[own], counts.labeled[own], counts.positive[own])
        rows = None if counts.rows is None else counts.rows[own]
        return plain_counts(Counts(*values, is_first, rows), prior=HEAVY)


def early_row(
    labels: EarlyLabels,
    columns: Followed,
    rounds: Sequence[FollowedRound],
    seed: int,
    *,
    least_fit: float = LEAST_FIT,
) -> ProvisionalRow:
    """Estimate a round from the share of its labels that has come, or give the reason why not.

    The round is the last of ``rounds``.
    """
    now, age = rounds[-1].readings[-1].at, rounds[-1].age(rounds[-1].readings[-1].at)
    if any(column.get("missing_means") != "negative" for column in columns.values()):
        return ProvisionalRow(at=now, reason=estimates.LATER_NEGATIVE)
    for flags in (tuple(columns), *((flag,) for flag in columns)):
        if fall := rounds[-1].taken_back(flags):
            return ProvisionalRow(at=now, reason=estimates.taken_back_reason(*fall))
    coarse = COARSE * max(map(maturity_of, columns.values())) / DAY
    paces = [Pace.of((flagged,), rounds, coarse) for flagged in sorted(columns)]
    is_one = len(columns) > 1 and columns[True] == columns[False]
    if is_one and min(pace.matured for pace in paces) < FEWEST:
        paces = [Pace.of((True, False), rounds, coarse)]
    matured = min(pace.matured for pace in paces)
    if matured < FEWEST:
        return ProvisionalRow(
            at=now, reason=estimates.too_few_followed_reason(round(matured), FEWEST)
        )
    single = [pace.flags[0] for pace in paces if len(pace.flags) == 1]
    by_score = (paces_by_score(labels.frame, rounds, coarse, flagged=up) for up in single)
    cuts = [each for each in by_score if each is not None]
    shares = [pace.curve().at(age) for pace in paces] + [s for each in cuts for s in each.at(age)]
    least = min(each.share for each in shares)
    if least < LEAST_MATURED:
        return ProvisionalRow(at=now, reason=estimates.too_young_reason(least))
    if any(pace.fit() < least_fit for pace in paces):  # measured: most numbers would be wrong
        return ProvisionalRow(at=now, matured=least, reason=estimates.OTHER_PACE)
    rows = _estimates(labels, paces, cuts, age, seed)
    why = next((row.reason for row in rows if row.reason), None)
    metrics = [ProvisionalMetric.taken_from(row) for row in rows if row.point is not None]
    return ProvisionalRow(
        at=now,
        matured=least,
        by_score=bool(cuts),
        metrics=metrics,
        reason=estimates.FASTER if isinstance(why, Contradiction) else no_estimate_reason(why),
    )


def _estimates(
    labels: EarlyLabels, paces: Sequence[Pace], cuts: Sequence[CutPaces], age: float, seed: int
) -> list[MetricEstimate]:
    from monitor.stats.labels.audit import ClassAudits, ScoreAudits  # noqa: PLC0415  scipy, as above
    from monitor.stats.labels.label_error import corrected_estimates  # noqa: PLC0415  likewise

    counts, strata = labels.of_parts([each.cut for each in cuts])
    shares: dict[tuple[bool, ...], ClassAudit] = {
        each.flags: each.curve().at(age) for each in paces
    }
    for each in cuts:
        parts = zip(strata[each.cut.flagged], each.at(age), strict=True)
        shares[each.cut.flagged,] = ScoreAudits(tuple(parts))
    both = shares.get((True, False))
    audits = ClassAudits(*(shares.get((flag,)) for flag in (True, False)))
    return corrected_estimates(
        counts,
        both if isinstance(both, ArrivedShare) else audits,
        estimands=("window",),
        seed=seed,
    )


def labels_so_far(round_: Round, tallies: Sequence[StratumTally], columns: Followed) -> EarlyLabels:
    """Count the labels of a round so far; items without a label in a column are negative."""
    with_negatives = [
        replace(one, labeled=max(one.labeled, one.planned - one.declined))
        if one.stratum.flagged in columns
        else one
        for one in tallies
    ]
    tally = Tally(tuple(with_negatives))
    return EarlyLabels(tally.counts, tally.frame, round_.settings.sample.cells is not None)
