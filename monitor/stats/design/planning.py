r"""What labels buy, both ways: from margins to labels, and from a number of labels to margins.

A ``Prospect`` is a window as it will be sampled: its strata and their prior before any
label of the round. ``plan_options`` sets the plan beside the same window without bands (two strata,
Shang et al. 2023) and beside a plain random sample, and says what the alerts would find.
``width_curve`` is Figure 1 of Shang et al. for any strata: interval width against the
over-sampling ratio :math:`s = (n_+/n_-)/k`, :math:`k = N_+/N_-`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from monitor.stats.core.counts import FirstPhase
from monitor.stats.design.allocation import Allocation, allocate
from monitor.stats.design.assurance import ASSURANCE
from monitor.stats.design.neyman import coefficients_of
from monitor.stats.design.plausible_scores import PlausibleScores, plausible_scores
from monitor.stats.design.prior import JointLogits, PriorRates
from monitor.stats.design.random_sampling import random_sampling_labels
from monitor.stats.design.share_by_size import SHARE_BY_SIZE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Values = NDArray[np.float64]

MARGINS = (0.10, 0.05, 0.03)
"""Margins that a prospect is always asked for."""

CURVE_POINTS = 81  # enough for a smooth line in a figure


@dataclass(frozen=True, slots=True, eq=False)
class Prospect:
    """A window before it is labeled.

    Parameters
    ----------
    size
        Items in each stratum, shape ``(H,)``.
    is_flagged
        Which strata are predicted positive, shape ``(H,)``.
    prior_rates
        Distribution of their rates.
    cost
        Of one label of each stratum, shape ``(H,)``, in any unit.
    share_by_size
        Share of the passed labels that its plans spread by size.
    uniform
        u of the round where strata are score cells, as for `monitor.stats.design.allocation`.
    first_phase
        What the sizes were estimated from; None where they are counted.
    """

    size: NDArray[np.int64]
    is_flagged: NDArray[np.bool_]
    prior_rates: PriorRates
    cost: Values
    share_by_size: float = SHARE_BY_SIZE
    uniform: float | None = None
    first_phase: FirstPhase | None = None

    @classmethod
    def of(
        cls,
        size: ArrayLike,
        is_flagged: ArrayLike,
        prior_rates: PriorRates,
        cost: ArrayLike = 1.0,
        share_by_size: float = SHARE_BY_SIZE,
        uniform: float | None = None,
    ) -> Prospect:
        """Make a prospect of lists."""
        items = np.asarray(size, dtype=np.int64)
        price = np.broadcast_to(np.asarray(cost, dtype=np.float64), items.shape)
        up = np.asarray(is_flagged, dtype=np.bool_)
        return cls(items, up, prior_rates, price, share_by_size, uniform)

    @classmethod
    def assumed(
        cls,
        *,
        precision: float,
        recall: float,
        flagged_rate: float,
        size: int,
        flagged_cost: float = 1.0,
        passed_cost: float = 1.0,
    ) -> Prospect:
        r"""Make a prospect from assumed values, before there is any data.

        .. math:: \pi_1 = P, \quad \pi_0 = k P (1/R - 1)

        (Eq. 9 of Shang et al. 2023).

        Raises
        ------
        ValueError
            If a value is not a share, a class would be empty, or the passed could not hold all
            positives that such a recall misses.

        Examples
        --------
        >>> window = Prospect.assumed(precision=0.8, recall=0.6, flagged_rate=0.03, size=100_000)
        >>> window.size, window.prior_rates.rate.round(4)
        (array([ 3000, 97000]), array([0.8   , 0.0165]))
        """
        shares = {"precision": precision, "recall": recall, "flagged rate": flagged_rate}
        for name, share in shares.items():
            if not 0 < share < 1:
                message = f"{name} must lie strictly between 0 and 1, got {share!r}"
                raise ValueError(message)
        flagged = round(size * flagged_rate)
        if not 0 < flagged < size:
            message = (
                f"a flagged rate of {flagged_rate:g} makes {flagged} of {size} items flagged; "
                "give a larger size"
            )
            raise ValueError(message)
        missed = precision * flagged / (size - flagged) * (1 / recall - 1)
        if missed >= 1:
            message = (
                f"with recall {recall:g} more positives would be missed than the {size - flagged} "
                "passed items can hold; give a higher recall or a smaller flagged rate"
            )
            raise ValueError(message)
        existing = PriorRates.of_rates([precision, missed])
        both = [flagged, size - flagged]
        return cls.of(both, [True, False], existing, [flagged_cost, passed_cost])

    @property
    def without_bands(self) -> Prospect:
        """The same window with one stratum for each predicted class that has items."""
        up = self.is_flagged
        classes = [of for of in (up, ~up) if self.size[of].sum() > 0]
        return Prospect(
            size=np.array([self.size[of].sum() for of in classes]),
            is_flagged=np.array([bool(up[of][0]) for of in classes]),
            prior_rates=self.prior_rates.pooled(self.size, up),
            cost=np.array([np.average(self.cost[of], weights=self.size[of]) for of in classes]),
        )

    def judged(self, tpr: float, fpr: float, items: int | None = None) -> Prospect:
        r"""Return the same window where the verdict of an assumed judge cuts each stratum in two.

        .. math:: q_h = \pi_h t + (1-\pi_h) f, \qquad
            \pi_{h,yes} = \pi_h t/q_h, \quad \pi_{h,no} = \pi_h (1-t)/(1-q_h)

        Parameters
        ----------
        tpr, fpr
            Shares t and f of the positives and of the negatives to which the judge says yes, the
            same in all strata, strictly between 0 and 1.
        items
            Items of each stratum that the judge is asked about; all if not given.

        Raises
        ------
        ValueError
            If a share is out of range.

        Examples
        --------
        >>> window = Prospect.assumed(precision=0.8, recall=0.6, flagged_rate=0.03, size=100_000)
        >>> judged = window.judged(0.9, 0.05)
        >>> judged.size, judged.prior_rates.rate.round(4)
        (array([  810,  2190, 90790,  6210]), array([0.2963, 0.9863, 0.0018, 0.2319]))
        """
        for name, share in (("tpr", tpr), ("fpr", fpr)):
            if not 0 < share < 1:
                message = f"the judge's {name} must lie strictly between 0 and 1, got {share!r}"
                raise ValueError(message)
        prior, up = self.prior_rates, self.is_flagged
        says = np.repeat([False, True, False, True], [up.sum(), up.sum(), (~up).sum(), (~up).sum()])
        of = np.concatenate([np.flatnonzero(each) for each in (up, up, ~up, ~up)])
        rate = prior.rate[of]
        positive, negative = np.where(says, tpr, 1 - tpr), np.where(says, fpr, 1 - fpr)
        share = rate * positive + (1 - rate) * negative
        worth = (prior.alpha + prior.beta)[of]
        joint = prior.joint and JointLogits(
            prior.joint.mean[of] + np.log(positive / negative), prior.joint.loadings[of]
        )
        return Prospect(
            size=np.rint(self.size[of] * share).astype(np.int64),
            is_flagged=up[of],
            prior_rates=PriorRates(
                worth * rate * positive, worth * (1 - rate) * negative, prior.source, joint
            ),
            cost=self.cost[of],
            share_by_size=self.share_by_size,
            uniform=self.uniform,
            first_phase=None
            if items is None
            else FirstPhase(np.rint(np.minimum(self.size[of], items) * share).astype(np.int64), of),
        )

    @property
    def expected(self) -> dict[str, float]:
        """Expected precision, recall and flagged rate; what is undefined is left out."""
        positive = self.size * self.prior_rates.rate
        up, total = self.is_flagged, float(self.size.sum())
        tp, flagged = float(positive[up].sum()), float(self.size[up].sum())
        shares = {
            "precision": (tp, flagged),
            "recall": (tp, float(positive.sum())),
            "flagged_rate": (flagged, total),
        }
        return {name: part / whole for name, (part, whole) in shares.items() if whole > 0}

    def allocate(
        self,
        *,
        margins: Mapping[str, float] | None = None,
        max_labels: int | None = None,
        level: float = 0.95,
        assurance: float | None = ASSURANCE,
    ) -> Allocation:
        """Allocate labels: see `monitor.stats.design.allocation.allocate`."""
        return allocate(
            self.size,
            self.is_flagged,
            self.prior_rates,
            margins=margins,
            max_labels=max_labels,
            level=level,
            cost=self.cost,
            share_by_size=self.share_by_size,
            assurance=assurance,
            uniform=self.uniform,
            first_phase=self.first_phase,
        )


@dataclass(frozen=True, slots=True)
class LabelsNeeded:
    """Labels that margins need, by three designs; ``None`` where nothing is known."""

    margins: Mapping[str, float]
    labels: int | None
    two_strata: int | None
    random: int | None


@dataclass(frozen=True, slots=True)
class MarginsBought:
    """Margins that a number of labels buys, with the bands and without them."""

    labels: int
    cost: float
    margins: Mapping[str, float]
    two_strata: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class PlanOptions:
    """A plan, and what other margins and other numbers of labels would mean.

    ``assurance`` is the probability with which margins are to be kept; None if plans are for
    the expected half-width. ``plausible`` is what the plan may come to where scores are all that is
    known, None otherwise.
    """

    prospect: Prospect
    plan: Allocation
    needed: tuple[LabelsNeeded, ...]
    bought: tuple[MarginsBought, ...]
    assurance: float | None
    plausible: PlausibleScores | None = None


def plan_options(
    prospect: Prospect,
    *,
    margins: Mapping[str, float] | None = None,
    max_labels: int | None = None,
    level: float = 0.95,
    assurance: float | None = ASSURANCE,
) -> PlanOptions:
    """Plan a round, with the labels of other margins and the margins of other numbers of labels.

    Parameters
    ----------
    prospect
        The window.
    margins, max_labels, level, assurance
        As for `monitor.stats.design.allocation.allocate`; one of the first two is needed.

    Examples
    --------
    >>> window = Prospect.assumed(precision=0.8, recall=0.6, flagged_rate=0.03, size=100_000)
    >>> found = plan_options(window, max_labels=1000)
    >>> found.plan.labels, {name: round(half, 3) for name, half in found.plan.margins.items()}
    (array([ 61, 939]), {'precision': 0.1, 'recall': 0.122})
    >>> [(each.labels, each.random) for each in found.needed if each.margins["recall"] == 0.05]
    [(5942, 8768)]
    """
    plan = prospect.allocate(
        margins=margins, max_labels=max_labels, level=level, assurance=assurance
    )
    names = [name for name in ("precision", "recall") if name in plan.margins]
    ladder = _ladder(names, margins or {})
    most = int(prospect.size.sum())
    steps = sorted({plan.total // 2, plan.total, min(2 * plan.total, most)})
    return PlanOptions(
        prospect=prospect,
        plan=plan,
        needed=tuple(_needed(prospect, each, level, assurance) for each in ladder),
        bought=tuple(_bought(prospect, step, level) for step in steps if step > 0),
        assurance=assurance,
        plausible=plausible_scores(
            prospect, plan.labels, plan.asked, level=level, assurance=assurance or ASSURANCE
        ),
    )


def _ladder(names: Sequence[str], requested: Mapping[str, float]) -> list[dict[str, float]]:
    """Margins to show the price of, from wide to narrow: the usual ones and those asked for."""
    ladder = [dict.fromkeys(names, margin) for margin in MARGINS if names]
    own = {name: margin for name, margin in requested.items() if name in names}
    if own and own not in ladder:
        ladder = sorted([*ladder, own], key=_mean_margin, reverse=True)
    return ladder


def _mean_margin(margins: Mapping[str, float]) -> float:
    return sum(margins.values()) / len(margins)


def _needed(
    prospect: Prospect, margins: Mapping[str, float], level: float, assurance: float | None
) -> LabelsNeeded:
    pooled = prospect.without_bands
    return LabelsNeeded(
        margins=margins,
        labels=prospect.allocate(margins=margins, level=level, assurance=assurance).total,
        two_strata=pooled.allocate(margins=margins, level=level, assurance=assurance).total,
        random=random_sampling_labels(
            pooled.size,
            pooled.is_flagged,
            pooled.prior_rates,
            margins,
            level=level,
            assurance=assurance,
        ),
    )


def _bought(prospect: Prospect, labels: int, level: float) -> MarginsBought:
    plan = prospect.allocate(max_labels=labels, level=level)
    pooled = prospect.without_bands.allocate(max_labels=labels, level=level)
    return MarginsBought(plan.total, plan.cost, plan.margins, pooled.margins)


@dataclass(frozen=True, slots=True, eq=False)
class WidthCurve:
    """Half-widths against the over-sampling ratio, all at one number of labels.

    Parameters
    ----------
    ratio
        Over-sampling ratios s, rising, shape ``(S,)``; 1 is a plain random sample.
    half_widths
        Of each metric, shape ``(S,)``.
    best
        Ratio of the plan.
    labels
        Labels of every design.
    """

    ratio: Values
    half_widths: Mapping[str, Values]
    best: float
    labels: int


def width_curve(prospect: Prospect, labels: ArrayLike, *, level: float = 0.95) -> WidthCurve:
    """Half-widths when a plan's labels are split otherwise between flagged and passed.

    Within each class the labels keep the plan's proportions. The window is taken as so large
    that no stratum is labeled whole.

    Parameters
    ----------
    prospect
        The window, with items in both classes.
    labels
        The plan, shape ``(H,)``, with labels in both classes.
    level
        Level of the intervals.

    Raises
    ------
    ValueError
        If a class has no items or no labels.

    Examples
    --------
    >>> window = Prospect.assumed(precision=0.8, recall=0.6, flagged_rate=0.03, size=100_000)
    >>> curve = width_curve(window, [100, 900])
    >>> round(curve.best, 2), float(curve.half_widths["recall"].min().round(3))
    (3.59, 0.122)
    """
    plan, up = np.asarray(labels, dtype=np.float64), prospect.is_flagged
    sums = [float(part[of].sum()) for part in (plan, prospect.size) for of in (up, ~up)]
    if min(sums) == 0:
        message = "a width curve needs items and labels in both classes"
        raise ValueError(message)
    flagged, passed, k = sums[0], sums[1], sums[2] / sums[3]
    ratio = np.geomspace(0.2, 5 / k, CURVE_POINTS)  # from mostly passed to mostly flagged
    share = k * ratio / (1 + k * ratio)
    within = np.where(up, plan / flagged, plan / passed)
    split = np.where(up, share[:, np.newaxis], 1 - share[:, np.newaxis])
    drawn = (flagged + passed) * split * within
    z = float(special.ndtri(0.5 + level / 2))
    return WidthCurve(
        ratio=ratio,
        half_widths={
            name: np.minimum(1.0, z * np.sqrt(_variance(c, drawn)))
            for name, c in _coefficients(prospect).items()
        },
        best=flagged / passed / k,
        labels=int(flagged + passed),
    )


def _coefficients(prospect: Prospect) -> Mapping[str, Values]:
    return coefficients_of(prospect.size, prospect.is_flagged, prospect.prior_rates)[0]


def _variance(c: Values, labels: Values) -> Values:
    used = c > 0
    with np.errstate(divide="ignore"):
        return np.asarray(np.sum(c[used] / labels[:, used], axis=1))
