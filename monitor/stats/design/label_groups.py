r"""Labels of items that belong together, such as the items of one user, session or campaign.

Items of a group are alike, so n labels know the process less well than n independent ones. Of one
class with items :math:`w_i = N_h/n_h` that each label stands for, :math:`N = \sum_i w_i` and
:math:`\hat p = \sum_i w_i y_i / N`, the residuals :math:`z_i = w_i (y_i - \hat p)` of G groups add

.. math:: C = \frac{1}{N^2} \Big[\frac{G}{G-1} \sum_g \Big(\sum_{i \in g} z_i\Big)^2
    - \frac{n}{n-1} \sum_i z_i^2\Big]

to the variance V of independent items: the linearised variance between clusters of a ratio
(Cochran, *Sampling Techniques*, 3rd ed. 1977, section 11.7; Binder, "On the variances of
asymptotically normal estimators from complex surveys", *International Statistical Review* 51, 1983)
less the variance between its items. What remains are the products of labels of the same group, each
pair by the inverse of the probability that both are drawn. The design effect is

.. math:: \mathrm{deff} = \Big(1 + \frac{\max(C, 0)}{V}\Big)
    \Big(\frac{t_{G'-1}}{t_{n'-1}}\Big)^2,

where t are the 0.975 quantiles of Student's distribution and :math:`G'`, :math:`n'` are Kish's
effective numbers of groups and of labels. The labels of the class are worth :math:`1/\mathrm{deff}`
of what they are worth if independent (Korn & Graubard, "Confidence intervals for proportions with
small expected number of positive counts estimated from survey data", *Survey Methodology* 24,
1998). Where all labels of a class are equal, none can show whether groups differ: the class is
then worth one label a group, :math:`\mathrm{deff} = n'/G'`.

Recall also varies with the numbers of flagged and passed positives, which groups decide together.
The log of their ratio has the linearised value :math:`w_i y_i / \mathrm{TP}` of a flagged item and
:math:`-w_i y_i / \mathrm{FN}` of a passed one; what its C exceeds the flagged items' part by is put
into V of the passed class.

The window's own values do not change: its items are drawn one by one, so groups do not matter.
Groups of different windows are taken for independent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from monitor.stats.design.cell_counts import cell_counts, cells_by_class

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.core.counts import Counts


@dataclass(frozen=True, slots=True, eq=False)
class LabelGroups:
    """Drawn items of a round by group and stratum, one entry for each pair that has any, ``(P,)``.

    ``group`` and ``stratum`` are positions; ``labeled``, ``positive`` and ``missing`` are items
    with a label, those labeled 1, and those without a usable label.
    """

    group: Ints
    stratum: Ints
    labeled: Ints
    positive: Ints
    missing: Ints

    @classmethod
    def of(cls, items: Iterable[tuple[Hashable, int, bool | None]]) -> LabelGroups:
        """Count items by the name of their group, stratum and label; None is a missing label."""
        pairs: dict[tuple[Hashable, int], list[int]] = {}
        for name, stratum, label in items:
            entry = pairs.setdefault((name, stratum), [0, 0, 0])
            entry[0] += label is not None
            entry[1] += label is True
            entry[2] += label is None
        numbers = {name: i for i, name in enumerate(dict.fromkeys(name for name, _ in pairs))}
        columns = [(numbers[name], stratum, *entry) for (name, stratum), entry in pairs.items()]
        return cls(*np.array(columns, dtype=np.int64).reshape(-1, 5).T)

    def completed(self, positive: Bools) -> LabelGroups:
        """Answer the missing labels of each stratum: all 1 where ``positive``, else all 0."""
        return replace(
            self,
            labeled=self.labeled + self.missing,
            positive=self.positive + self.missing * positive[self.stratum],
            missing=np.zeros_like(self.missing),
        )

    def votes(self, strata: int) -> Floats:
        """Items of each stratum if each group has one vote, shared by its items, ``(H,)``."""
        drawn = self.completed(np.zeros(strata, dtype=np.bool_))
        return np.asarray(np.bincount(drawn.stratum, drawn._shares, minlength=strata), np.float64)

    def log_product(self, of_yes: Floats, of_no: Floats) -> float:
        r"""Log of the product over groups of the mean ratio of their labels.

        A group with labels in several strata has the weighted geometric mean of their means,
        :math:`\prod_h \bar f_{gh}^{n_{gh}/n_g}`. ``of_yes`` and ``of_no`` are the log ratios of the
        labels 1 and 0 in each stratum, ``(H,)``.
        """
        shares = self._shares
        rate = np.divide(self.positive, self.labeled, out=np.zeros(len(shares)), where=shares > 0)
        with np.errstate(divide="ignore"):  # log 0 of a label that no item has
            mean = np.logaddexp(
                np.log(rate) + of_yes[self.stratum], np.log1p(-rate) + of_no[self.stratum]
            )
        return float(shares @ mean)

    @property
    def _shares(self) -> Floats:
        """Share of the group's labels that each entry has; 0 without labels."""
        total = np.bincount(self.group, weights=self.labeled)[self.group]
        return np.asarray(self.labeled / np.maximum(total, 1))


def group_effects(groups: LabelGroups, counts: Counts) -> tuple[float, float]:
    """Return the design effect of the flagged and of the passed labels of a round, 1 or more.

    >>> from monitor.stats.core.counts import Counts
    >>> counts = Counts.of_matrix(tp=60, fp=40, fn=2, tn=98, flagged_size=900, passed_size=9000)
    >>> campaigns = [(f"campaign {i // 10}", 0, i < 60) for i in range(100)]
    >>> others = [(f"other {i}", 1, i < 2) for i in range(100)]
    >>> flagged, passed = group_effects(LabelGroups.of([*campaigns, *others]), counts)
    >>> round(flagged, 1), round(passed, 1)
    (14.4, 1.2)
    """
    flagged, passed = (_ClassGroups.of(groups, counts, flagged=up) for up in (True, False))
    from_ratio = 0.0
    if flagged.rate > 0 and passed.rate > 0:
        log_ratio = np.where(flagged.is_in, 1 / flagged.positives, -1 / passed.positives)
        excess = _excess(groups, flagged.weight + passed.weight, log_ratio, 0.0)
        from_ratio = (excess - flagged.excess / flagged.rate**2) * passed.rate**2
    return flagged.effect(flagged.excess), passed.effect(max(passed.excess, from_ratio))


def size_gap(groups: LabelGroups, counts: Counts, *, flagged: bool) -> tuple[float, float]:
    """Return by how much a class's rate changes if each group has one vote, and standard errors.

    Votes and labels are compared within each stratum, so that scores alone make no difference.
    """
    h, n, y = groups.stratum, groups.labeled, groups.positive
    votes = np.bincount(h, weights=groups._shares, minlength=len(counts.size))
    members = (counts.is_flagged == flagged) & (votes > 0)
    size = np.where(members, counts.size, 0)
    labeled = np.maximum(counts.labeled, 1)
    share = groups._shares / np.where(votes > 0, votes, 1.0)[h] - n / labeled[h]
    moved = share * (y / np.maximum(n, 1) - (counts.positive / labeled)[h])
    gaps = _by_group(groups, (size / max(int(size.sum()), 1))[h] * moved)
    gap, error = float(gaps.sum()), float(np.sqrt(gaps @ gaps))
    return gap, abs(gap) / error if error > 0 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _ClassGroups:
    """The labels of one class: what each stands for, by entry, their rate, and C and V."""

    is_in: Bools
    weight: Floats
    rate: float
    items: float
    variance: float
    excess: float
    effective: tuple[float, float]

    @classmethod
    def of(cls, groups: LabelGroups, counts: Counts, *, flagged: bool) -> _ClassGroups:
        stands_for = counts.size / np.maximum(counts.labeled, 1)
        is_in = counts.is_flagged[groups.stratum] == flagged
        weight = np.where(is_in, stands_for[groups.stratum], 0.0)
        items = float(weight @ groups.labeled)
        rate = float(weight @ groups.positive) / max(items, 1.0)
        members = counts.is_flagged == flagged
        cell = cells_by_class(counts.cell, counts.is_flagged)[not flagged]
        columns = (each[members] for each in (counts.size, counts.labeled, counts.positive))
        worth = cell_counts(*columns, cell=cell)
        variance = rate * (1 - rate) / max(float(worth.labeled[0]), 1.0)
        excess = _excess(groups, weight, 1 / max(items, 1.0), rate)
        effective = (
            items**2 / max(float(weight**2 @ groups.labeled), 1e-9),
            items**2 / max(float(((_by_group(groups, weight * groups.labeled)) ** 2).sum()), 1e-9),
        )
        return cls(is_in, weight, rate, items, variance, excess, effective)

    @property
    def positives(self) -> float:
        return self.rate * self.items

    def effect(self, excess: float) -> float:
        """Return the design effect at an excess C."""
        labels, group_count = self.effective
        if not 0 < self.rate < 1 or self.variance <= 0:
            return max(labels / max(group_count, 1e-9), 1.0) if self.items else 1.0
        quantiles = (special.stdtrit(max(each - 1, 1.0), 0.975) for each in (group_count, labels))
        of_groups, of_labels = map(float, quantiles)
        return (1 + max(excess, 0.0) / self.variance) * max(of_groups / of_labels, 1.0) ** 2


def _by_group(groups: LabelGroups, values: Floats) -> Floats:
    return np.asarray(np.bincount(groups.group, weights=values), dtype=np.float64)


def _excess(groups: LabelGroups, weight: Floats, scale: Floats | float, rate: float) -> float:
    """Return C of the module's docstring, of items ``scale * weight * (label - rate)``."""
    y, n, of_item = groups.positive, groups.labeled, scale * weight
    has = (n > 0) & (weight > 0)
    in_groups = _by_group(groups, of_item * (y - n * rate))
    count, labels = int(np.unique(groups.group[has]).size), int(n[has].sum())
    if labels <= 1:
        return 0.0
    by_item = float(of_item**2 @ (y * (1 - rate) ** 2 + (n - y) * rate**2)) * labels / (labels - 1)
    return float((in_groups**2).sum()) * count / max(count - 1, 1) - by_item
