"""A window as it will be sampled: its strata and their prior before any label of the round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.levels import check_probability
from monitor.stats.design.prior import JointLogits, PriorRates

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints


SHARE_BY_SIZE = 0.25
"""Default share of the passed labels of a round (benchmarks/results/tried.txt)."""


MOST_BY_SIZE = 0.5
"""The largest share there may be. With more, a stratum might not be labeled whole by the rest."""


@dataclass(frozen=True, slots=True, eq=False)
class Prospect:
    """A window before it is labeled: what its plan starts from, by stratum, ``(H,)``.

    Parameters
    ----------
    prior_rates
        Distribution of the strata's rates.
    cost
        Of one label of each stratum, in any unit.
    share_by_size
        Share of the passed labels, in [0, .5], that is spread over the passed strata in proportion
        to size (``neyman.mixed_by_size``). 0 leaves it all to the optimum.
    uniform
        u of the round, in [0, 1), where strata are score cells (``cell_sizes``), the cells of a
        class in order of score. Labels are then made whole by it, their widths belong to cells,
        and the floor is a cell's. None: strata are bands.
    is_free
        Strata whose labels cost nothing: they are labeled whole, beside the budget. None: no one
        is.
    most
        Items of each stratum that can be labeled, where others have no outcome. None: all.
    cell
        Score cell that each stratum is cut from, where verdicts cut them. None: no one is cut.
    """

    size: Ints
    is_flagged: Bools
    prior_rates: PriorRates
    cost: Floats
    share_by_size: float = SHARE_BY_SIZE
    uniform: float | None = None
    is_free: Bools | None = None
    most: Ints | None = None
    cell: Ints | None = None

    def __post_init__(self) -> None:
        if self.size.ndim != 1 or not (
            self.size.shape == self.is_flagged.shape == self.prior_rates.alpha.shape
        ):
            message = (
                f"sizes {self.size.shape}, is_flagged {self.is_flagged.shape} and prior_rates "
                f"{self.prior_rates.alpha.shape} must all have the shape (H,)"
            )
            raise ValueError(message)
        if np.any(self.size < 0):
            message = f"sizes must be 0 or more, got {self.size.tolist()}"
            raise ValueError(message)
        if not 0 <= self.share_by_size <= MOST_BY_SIZE:
            message = f"share_by_size must lie in [0, {MOST_BY_SIZE}], got {self.share_by_size!r}"
            raise ValueError(message)
        if self.uniform is not None and not 0 <= self.uniform < 1:
            message = f"uniform must lie in [0, 1), got {self.uniform!r}"
            raise ValueError(message)

    @classmethod
    def of(
        cls,
        size: ArrayLike,
        is_flagged: ArrayLike,
        prior_rates: PriorRates,
        cost: ArrayLike = 1.0,
        share_by_size: float = SHARE_BY_SIZE,
        uniform: float | None = None,
        *,
        is_free: Bools | None = None,
        most: ArrayLike | None = None,
        cell: Ints | None = None,
    ) -> Prospect:
        """Make a prospect of lists; the cost may be one number for all strata."""
        items, up = np.asarray(size, dtype=np.int64), np.asarray(is_flagged, dtype=np.bool_)
        price = np.asarray(cost, dtype=np.float64)
        if price.shape not in {(), items.shape} or not np.all((price > 0) & np.isfinite(price)):
            message = f"cost must be one positive number, or one for each stratum; got {cost!r}"
            raise ValueError(message)
        price = np.broadcast_to(price, items.shape)
        least = None if most is None else np.minimum(np.asarray(most, dtype=np.int64), items)
        whole = (share_by_size, uniform, is_free, least)
        return cls(items, up, prior_rates, price, *whole, cell)

    @property
    def available(self) -> Ints:
        """Items of each stratum that can be labeled."""
        return self.size if self.most is None else self.most

    @property
    def free_labels(self) -> int:
        """Labels that cost nothing."""
        return 0 if self.is_free is None else int(self.available[self.is_free].sum())

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

        (Eq. 9 of Shang et al. 2023). A ValueError if a value is not a share, a class would be
        empty, or the passed could not hold all positives that such a recall misses.

        Examples
        --------
        >>> window = Prospect.assumed(precision=0.8, recall=0.6, flagged_rate=0.03, size=100_000)
        >>> window.size, window.prior_rates.rate.round(4)
        (array([ 3000, 97000]), array([0.8   , 0.0165]))
        """
        shares = {"precision": precision, "recall": recall, "flagged rate": flagged_rate}
        for name, share in shares.items():
            check_probability(share, name)
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
            size=np.array([self.size[of].sum() for of in classes], dtype=np.int64),
            is_flagged=np.array([up[of][0] for of in classes], dtype=np.bool_),
            prior_rates=self.prior_rates.pooled(self.size, up),
            cost=np.array([np.average(self.cost[of], weights=self.size[of]) for of in classes]),
            most=np.array([self.available[of].sum() for of in classes], dtype=np.int64),
        )

    def recall_lost(self, labels: Ints) -> float:
        r"""By how much one passed item without an answer lowers the low end of recall, on average.

        .. math:: R - \frac{T}{T/R + N_0/n_0} = R \, \frac{N_0/n_0}{T/R + N_0/n_0}

        with true positives :math:`T`, recall :math:`R`, and :math:`N_0` passed items of which
        :math:`n_0` have a label: worst-case bounds take the item for a positive, and each label
        stands for :math:`N_0/n_0` items. 0 without a passed label.

        Examples
        --------
        >>> window = Prospect.assumed(precision=0.8, recall=0.6, flagged_rate=0.03, size=100_000)
        >>> round(window.recall_lost(np.array([200, 200])), 3)
        0.065
        """
        passed = int(labels[~self.is_flagged].sum())
        if not passed:
            return 0.0
        stands_for = float(self.size[~self.is_flagged].sum()) / passed
        positives = float((self.size * self.prior_rates.rate).sum())
        return self.expected["recall"] * stands_for / (positives + stands_for)

    def judged(self, tpr: ArrayLike, fpr: ArrayLike) -> Prospect:
        r"""Return the same window where the verdict of an assumed judge cuts each stratum in two.

        .. math:: q_h = \pi_h t + (1-\pi_h) f, \qquad
            \pi_{h,yes} = \pi_h t/q_h, \quad \pi_{h,no} = \pi_h (1-t)/(1-q_h)

        Parameters
        ----------
        tpr, fpr
            Shares t and f of the positives and of the negatives to which the judge says yes,
            strictly between 0 and 1: the same everywhere, or among the flagged and the passed,
            shape ``(2,)``.

        Examples
        --------
        >>> window = Prospect.assumed(precision=0.8, recall=0.6, flagged_rate=0.03, size=100_000)
        >>> judged = window.judged(0.9, 0.05)
        >>> judged.size, judged.prior_rates.rate.round(4)
        (array([  810,  2190, 90790,  6210]), array([0.2963, 0.9863, 0.0018, 0.2319]))
        """
        by_class = {"tpr": np.broadcast_to(tpr, 2), "fpr": np.broadcast_to(fpr, 2)}
        for name, shares in by_class.items():
            for each in shares.tolist():
                check_probability(each, f"the judge's {name}")
        prior, up = self.prior_rates, self.is_flagged
        says = np.repeat([False, True, False, True], [up.sum(), up.sum(), (~up).sum(), (~up).sum()])
        of = np.concatenate([np.flatnonzero(each) for each in (up, up, ~up, ~up)])
        rate = prior.rate[of]
        yes = (np.where(up[of], *by_class[name]) for name in ("tpr", "fpr"))
        positive, negative = (np.where(says, share, 1 - share) for share in yes)
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
            is_free=None if self.is_free is None else self.is_free[of],
            cell=of,
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
