"""Error rates of a column's labels, from checks by people, and estimates corrected for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from scipy import special

from monitor.domain.label_parts import checks_of, parts_of
from monitor.domain.report import DecidingRow, NoticeRow, ReportedEstimate
from monitor.domain.round import Round
from monitor.domain.setting_types import Ends
from monitor.domain.settings import CREDIBLE_LEVEL, RoundSettings
from monitor.presentation.estimates import still_provisional_sentence
from monitor.presentation.parts.checks import CheckRow, changed_checks_sentence
from monitor.presentation.reasons import no_estimate_reason
from monitor.stats.core.beta_mixture import HEAVY
from monitor.stats.core.counts import Counts, Interval
from monitor.stats.core.draws import ESTIMANDS
from monitor.stats.estimation.cell_matrix import plain_counts
from monitor.stats.estimation.missing import worst_case
from monitor.stats.estimation.posterior import MetricEstimate
from monitor.stats.labels.audit import ArrivedShare, ClassAudits, LabelAudit, NoBetterThanChance
from monitor.stats.labels.label_error import METHOD, corrected_estimates
from monitor.stats.labels.weighted_checks import (
    QualityChange,
    plain_checks,
    quality_change,
    weighted_audit,
)
from monitor.storage.labels.check_store import (
    EVERYWHERE,
    CheckCounts,
    Checked,
    ClassChecks,
    WeightedChecks,
    summed,
)
from monitor.storage.labels.round_labels import RoundLabels
from monitor.storage.results.part_store import PastCounts

CHECKS = "checks"
"""Name of these counts in the store."""

NOTED = 0.05
"""p-value of a change of a column's errors below which it is noted."""

CLEAR = 0.01
"""p-value below which earlier checks do not count at all."""

ROUNDS = 12
"""Rounds whose checks are counted together: older errors say little about today."""


@dataclass(frozen=True, slots=True)
class PooledChecks:
    """Checks of a class in the ``rounds`` newest rounds, and how these differ from earlier ones.

    ``counts``, and the ``items`` that they stand for, are tp, fn, tn and fp of each stratum.
    ``newest`` are the checks since the ``change``, if it is not certain that there was one.
    """

    counts: Sequence[Sequence[int]] = ((0, 0, 0, 0),)
    items: Sequence[Sequence[float]] = ((0.0,) * 4,)
    rounds: int = 0
    change: QualityChange | None = None
    newest: PooledChecks | None = None

    @classmethod
    def of(cls, past: Sequence[ClassChecks]) -> PooledChecks:
        """Pool rounds, the newest last, from the last clear change of the column's errors on."""
        # Weighted by items: plans move along the score, and so does the share of hard items.
        each = [cls._together([one]) for one in past]
        change = quality_change([plain_checks(one.counts, one.items) for one in each])
        if change is None:
            return cls._together(past)
        newest = cls._together(past[-change.newest :])
        if change.probability < CLEAR:
            return replace(newest, change=change)
        return replace(cls._together(past), change=change, newest=newest)

    @classmethod
    def _together(cls, past: Sequence[ClassChecks]) -> PooledChecks:
        # Strata are those of one history, in the same order in each round that has them apart.
        names = dict.fromkeys(name for each in reversed(past) for name in each.strata)
        own = [[each.strata[name] for each in past if name in each.strata] for name in names]
        return cls(
            [summed(one.counts for one in of_stratum) for of_stratum in own],
            [
                [sum(of_round) for of_round in zip(*(one.items for one in of_stratum), strict=True)]
                for of_stratum in own
            ],
            len(past),
        )

    @property
    def total(self) -> CheckCounts:
        """All checks that count."""
        return summed(CheckCounts(*each) for each in self.counts)

    def audits(self) -> list[LabelAudit]:
        """Return the error rates of labels, also from the newest alone if they may differ.

        Raises `NoBetterThanChance`.
        """
        audits = [weighted_audit(self.counts, self.items)]
        if self.newest is not None:
            with suppress(NoBetterThanChance):  # too few of them to say anything
                audits += self.newest.audits()
        return audits

    def shares(self) -> tuple[Ends | None, Ends | None]:
        """Return the shares of positive and of negative items with a correct label."""
        right, wrong, right_no, wrong_no = plain_checks(self.counts, self.items)
        return _rate(right, wrong), _rate(right_no, wrong_no)


@dataclass(frozen=True, slots=True)
class CheckedLabels:
    """Checks of a round, alone and pooled with the last rounds, by predicted class."""

    labeling: Mapping[str, Any]
    own: Checked = field(default_factory=dict)
    pooled: Mapping[bool, PooledChecks] = field(default_factory=dict)

    def _by_class(self) -> dict[bool, PooledChecks]:
        """Return the checks of each class whose labels people check."""
        return {
            flagged: self.pooled.get(flagged, PooledChecks())
            for checks in checks_of(self.labeling).values()
            for flagged in checks.classes
        }

    def audits(self) -> list[ClassAudits]:
        """Return the error rates of labels by class; labels that nobody checks count as correct.

        Returns two results if errors may have changed. Raises `NoBetterThanChance` if the labels of
        a class may well be no better than chance.
        """
        audits = {up: pooled.audits() for up, pooled in self._by_class().items()}
        flagged, passed = audits.get(True, [None]), audits.get(False, [None])
        return [
            ClassAudits(flagged[min(way, len(flagged) - 1)], passed[min(way, len(passed) - 1)])
            for way in range(max(len(flagged), len(passed)))
        ]

    def rows(self) -> list[CheckRow]:
        """Report the error rates of each class that is checked."""
        rows = []
        for flagged, pooled in self._by_class().items():
            sensitivity, specificity = pooled.shares()
            rows.append(
                CheckRow(
                    labels=_NAMES[flagged],
                    items=self.own[flagged].counts.items if flagged in self.own else 0,
                    rounds=pooled.rounds,
                    **pooled.total._asdict(),
                    sensitivity=sensitivity,
                    specificity=specificity,
                )
            )
        return rows

    def notices(self) -> list[NoticeRow]:
        """Note that a column's errors have changed, so that earlier checks do not count."""
        return [
            NoticeRow(
                kind=CHECKS,
                subject=_NAMES[up],
                value=change.probability,
                sentence=changed_checks_sentence(
                    _NAMES[up], change.newest, change.probability, alone=pooled.newest is None
                ),
            )
            for up, pooled in self._by_class().items()
            if (change := pooled.change) is not None and change.probability < NOTED
        ]


def checked_labels(
    rounds: Sequence[Round],
    labels: Mapping[int, RoundLabels],
    past: Sequence[PastCounts],
) -> dict[int, CheckedLabels]:
    """Count the checks of some rounds, by round id, with the ``past`` ones of the same columns."""
    before, result = list(map(_past, past)), dict[int, CheckedLabels]()
    for round_ in rounds:
        labeling = round_.settings.labeling or {}
        if not checks_of(labeling):
            continue
        own = labels[round_.id].check_counts
        before.append((_columns(labeling), own))
        together = [of for columns, of in before if columns == _columns(labeling)][-ROUNDS:]
        pooled = {
            flagged: PooledChecks.of([of[flagged] for of in together if flagged in of])
            for flagged in dict.fromkeys(flagged for of in together for flagged in of)
        }
        result[round_.id] = CheckedLabels(labeling, own, pooled)
    return result


_NAMES = {True: "flagged", False: "passed"}


def stored_checks(checked: Checked) -> dict[str, dict[str, Any]] | None:
    """Return counts of checks as the store has them; None if nobody checks.

    ``strata`` have weight, tp, fn, tn and fp, if their checks weigh differently.
    """
    return {_NAMES[flagged]: _stored(of_class) for flagged, of_class in checked.items()} or None


def _stored(of_class: ClassChecks) -> dict[str, Any]:
    strata = {name: [one.weight, *one.counts] for name, one in of_class.strata.items()}
    apart = {} if EVERYWHERE in strata else {"strata": strata}
    return of_class.counts._asdict() | apart


def _past(past: PastCounts) -> tuple[list[dict[str, Any]], Checked]:
    return _columns(past.settings["labeling"]), {
        flagged: _read(past.counts[name]) for flagged, name in _NAMES.items() if name in past.counts
    }


def _read(stored: Mapping[str, Any]) -> ClassChecks:
    """Read the checks of a class; rounds of earlier versions have no strata."""
    totals = {name: count for name, count in stored.items() if name != "strata"}
    strata = {
        name: WeightedChecks(weight, CheckCounts(*counts))
        for name, (weight, *counts) in stored.get("strata", {}).items()
    }
    return ClassChecks(strata) if strata else ClassChecks.unweighted(CheckCounts(**totals))


def _columns(labeling: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the settings of the checked columns that identify their labels."""
    ignored, parts = {"checks", "deadline"}, parts_of(labeling)
    return [
        {name: value for name, value in parts[part].items() if name not in ignored}
        for part in checks_of(labeling)
    ]


def _rate(right: float, wrong: float) -> Ends | None:
    """Return the share of correct labels, with its interval by Jeffreys' prior."""
    if not right + wrong:
        return None
    tail = (1 - CREDIBLE_LEVEL) / 2
    low, high = (
        float(special.betaincinv(right + 0.5, wrong + 0.5, end)) for end in (tail, 1 - tail)
    )
    return right / (right + wrong), low, high


LEAST_TO_COME = 0.001
"""Share of positive labels still to come above which a round's estimates allow for them."""

PROVISIONAL = 0.01
"""Share above which the estimates are called provisional."""

MOST_TO_COME = 0.05
"""Share above which labels are not pooled or compared with those of earlier rounds."""

BASIS = "corrected"  # Basis of these estimates in tables and reports; alerts do not use them


def corrected_rows(
    counts: Counts,
    complete: Sequence[Counts],
    metrics: Sequence[str],
    settings: RoundSettings,
    *,
    seed: int,
    checked: CheckedLabels | None = None,
    arrived: ClassAudits | None = None,
) -> list[ReportedEstimate]:
    """Estimate every metric corrected for label errors; empty if nobody checks labels.

    ``complete`` are the counts with missing answers filled in (`missing.completions`). If labels
    are no better than chance, every row has that as its reason. A class that nobody checks is
    corrected only for labels still to come, by ``arrived``.
    """
    if checked is None:
        return []
    try:
        audits = checked.audits()
        if arrived is not None:
            audits = [
                ClassAudits(audit.flagged or arrived.flagged, audit.passed or arrived.passed)
                for audit in audits
            ]
    except NoBetterThanChance as error:
        reason = no_estimate_reason(error.why)
        return [_nothing(metric, estimand, reason) for estimand in ESTIMANDS for metric in metrics]
    observed, *corners = corrected(
        [counts, *complete], *audits, metrics=metrics, settings=settings, seed=seed
    )
    return reported_rows(observed, corners, basis=BASIS)


def corrected(
    samples: Sequence[Counts],
    *audits: ClassAudits,
    metrics: Sequence[str],
    settings: RoundSettings,
    seed: int,
) -> list[list[MetricEstimate]]:
    """Estimate metrics from each sample, corrected by audits of its labels."""
    is_checked = isinstance(audits[0].flagged or audits[0].passed, LabelAudit)
    if settings.sample.cells is not None or is_checked:
        # Wrong labels leave no cell pure, and one of most items may show none of those it has.
        # Checks measure the errors of a class, not of each of its bands.
        samples = [plain_counts(each, prior=HEAVY) for each in samples]
    return [corrected_estimates(each, *audits, metrics=metrics, seed=seed) for each in samples]


def arrived_shares(settings: RoundSettings, age: timedelta) -> ClassAudits | None:
    """Return the share of a round's positive labels that is known at an age of its window.

    None if hardly any is still to come.
    """
    if settings.delays is None:
        return None
    flagged, passed = (
        None if curve is None else ArrivedShare(*curve.at(age / timedelta(days=1)))
        for curve in (settings.delays.flagged, settings.delays.passed)
    )
    arrived = ClassAudits(flagged, passed)
    return arrived if 1 - arrived.least_share > LEAST_TO_COME else None


def is_comparable(arrived: ClassAudits | None) -> bool:
    """Whether a round's labels can be compared with earlier ones, as few are still to come."""
    return arrived is None or 1 - arrived.least_share <= MOST_TO_COME


def has_most_labels(round_: Round) -> bool:
    """Whether a round closed with few labels still to come, or a later version counts them all."""
    end = round_.window.end
    return is_comparable(arrived_shares(round_.settings, (round_.closed_at or end) - end))


def provisional_notices(arrived: ClassAudits | None) -> list[NoticeRow]:
    """Note that positive labels are still to come; the round's estimates allow for them."""
    if arrived is None or 1 - arrived.least_share <= PROVISIONAL:
        return []
    sentence = still_provisional_sentence(arrived.least_share)
    return [NoticeRow(kind="provisional", subject="", value=arrived.least_share, sentence=sentence)]


def _nothing(metric: str, estimand: str, reason: str | None) -> ReportedEstimate:
    return ReportedEstimate(
        metric=metric,
        estimand=estimand,
        basis=BASIS,
        point=None,
        low=None,
        high=None,
        level=CREDIBLE_LEVEL,
        method=METHOD,
        reason=reason,
    )


def reported(
    estimate: MetricEstimate, *, basis: str | None = None, bounds: Interval | None = None
) -> ReportedEstimate:
    """Report an estimate; the worst-case ``bounds`` are its interval if answers are missing."""
    deciding = [] if estimate.caution is None else estimate.caution.classes
    row = ReportedEstimate.taken_from(
        estimate,
        basis=basis or estimate.basis,
        reason=no_estimate_reason(estimate.reason),
        caution=tuple(map(DecidingRow.taken_from, deciding)),
    )
    if bounds is None:
        return row
    ends = {"low": bounds.low, "high": bounds.high, "bound_low": bounds.low}
    answered = {"answered_low": estimate.low, "answered_high": estimate.high}
    return row.model_copy(update=ends | answered | {"bound_high": bounds.high})


def reported_rows(
    rows: Sequence[MetricEstimate],
    corners: Sequence[Sequence[MetricEstimate]],
    *,
    basis: str | None = None,
) -> list[ReportedEstimate]:
    """Report estimates, with worst-case bounds if ``corners`` has completed samples."""
    bounds = worst_case(rows, corners) if corners else [None] * len(rows)
    return [reported(row, basis=basis, bounds=ends) for row, ends in zip(rows, bounds, strict=True)]
