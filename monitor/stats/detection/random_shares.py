r"""Evidence on a limit where the shares of strata are a draw of the process, as their labels are.

Item i of the process lies in stratum h with probability :math:`w_h` and is positive with
:math:`p_h`. Every limit of ``half_space`` is one on sums over items: with C and D by predicted
class it is kept while

.. math:: \sum_h w_h s_h(p_h) \ge 0, \qquad s_h(p) = C_h p - D_h,

such as C = 1 and D = L in flagged strata for a precision of L. A window has :math:`M_h` items in
each stratum, multinomial, and people label :math:`n_h` of these. With a bet K > 0 that is chosen
before the round, and any :math:`x_h` and :math:`n_h`, which may follow M,

.. math:: e = \prod_h \prod_{\text{labels}} f_h(y), \qquad
    f_h(y) = g_h(x_h)^{r_h} \Big(1 - r_h \frac{K C_h (y - x_h)}{g_h(x_h)}\Big), \quad
    g_h(p) = 1 - K s_h(p), \quad r_h = M_h/n_h

has a mean of 1 at most for all shares and rates that keep the limit. **Proof.** :math:`f_h` is the
tangent at :math:`x_h` of :math:`g_h^{r_h}`, which is convex, so that
:math:`(E f_h)^{n_h} \le g_h(p_h)^{M_h}`. A stratum without labels has the factor
:math:`g_h^{M_h}` at its worst, p = 1 where C > 0 and else 0. So

.. math:: E[e] \le E\Big[\prod_h g_h(p_h)^{M_h}\Big] = \Big(\sum_h w_h g_h(p_h)\Big)^N
    = \Big(1 - K \sum_h w_h s_h(p_h)\Big)^N \le 1.

**Also for the window's own shares**: these keep the limit where :math:`\sum_h M_h s_h \ge 0`, and
then :math:`\prod_h g_h^{M_h} \le (\sum_h M_h g_h / N)^N \le 1`. And for its own items, whose labels
are drawn without replacement: the product of :math:`f_h` is the exponential of a line in the
positives found, so its mean is at most the one above (Hoeffding 1963, Theorem 4).

To second order :math:`\sum_h M_h \ln g_h(x_h)` is :math:`-K^2 \sum_h M_h s_h^2 / 2`: the noise of
the shares, Rao's term of ``double_sampling``, and 0 if strata are equal. Strata are score
cells, verdicts, or both; no column is taken for more than a way to cut.

**Blocks.** Up to block k the product of :math:`f_h` over its mean :math:`\prod_h f_h(p_h)^{n_{kh}}`
is a martingale, as in ``blocks``, and read is the product less

.. math:: c_k = \max_{\sum_h M_h g_h \le N} \sum_h n_{kh} \ln f_h(p_h) \le
    \sum_h \max_{f_h} (n_{kh} \ln f_h - s b_h f_h) + s \Big(N - \sum_h a_h\Big)

for any s > 0, with :math:`M_h g_h = a_h + b_h f_h`, which both are lines in :math:`p_h`. So what is
read before a round's end has a mean of 1 at most, at every stop, for rates that keep the limit at
the window's own shares. For the shares of the process that holds at the end only.

**Logs that are samples.** If a log keeps the items of stratum h with probability :math:`k_h`, its
rows are draws of another process, with shares in proportion to :math:`w_h k_h`, in which the same
limit is kept while :math:`\sum_h w_h k_h (s_h/k_h) \ge 0`. So all of this holds for the rows, with
:math:`C_h/k_h` and :math:`D_h/k_h`. If chances differ within a stratum, M is the expected number of
the rows that are left when all are thinned to the least of these; :math:`g^M` is convex in M, so
the mean over thinned rows is at least as large.

**Groups.** Labels of one group (``label_groups``) may depend on each other in any way. Group g, of
whose :math:`n_g` labels :math:`n_{gh}` lie in stratum h, has the factor

.. math:: F_g = \prod_h \Big(\frac{1}{n_{gh}} \sum_{i \in gh} f_h(y_i)\Big)^{n_{gh}/n_g}.

Its exponents sum to 1, so :math:`E[F_g] \le \prod_h (E f_h)^{n_{gh}/n_g}` (Hölder), and the product
over independent groups has a mean of 1 at most if f is made for the votes
:math:`\nu_h = \sum_g n_{gh}/n_g` in place of :math:`n_h`: for the window's own shares, and rates of
strata that do not depend on the size of a group. Sizes are scaled by :math:`\sum\nu_h/\sum n_h`, or
less, so that :math:`r_h \ge 1`: shares of a window vary as if it had fewer items by this factor.

Missing answers count in favor of the limit, by the proof in ``e_detector``. The alternative's x is
where :math:`\ln e` is expected to be largest: the factors are then :math:`g^r` times its
likelihood ratio against x. K is where that is largest at the usual shares of earlier rounds. A
first round has none: its K follows its own sizes, so its mean is 1 at most for the window's own
shares. A limit on a judge is about the items that have a verdict: K takes how many of a window's
items and labels these are as known before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from monitor.stats.core.counts import Counts, completed
from monitor.stats.detection.alternatives import (
    DECAY,
    ERRORS,
    alternatives,
    decayed_labels,
    steps,
)
from monitor.stats.detection.half_space import (
    Limit,
    LimitCannotBeTested,
    inside,
    per_item,
    tilted,
)
from monitor.stats.detection.recovery import ERRORS as WITHIN
from monitor.stats.detection.recovery import opposite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.design.label_groups import LabelGroups


_LARGEST_BET = 1 - 1e-6  # of the K at which a factor would be 0
_FARTHEST = 8.0  # times the bet by variances
_HALVINGS = 40
_FAR = 700.0  # log of the largest and smallest floats


def log_e_path_of_shares(
    limit: Limit,
    blocks: Sequence[Counts],
    rates: Floats | None,
    missing: Sequence[Ints] | None = None,
    earlier: Sequence[Counts] = (),
    errors: Sequence[float] = ERRORS,
    groups: LabelGroups | None = None,
) -> Floats:
    """Log e after each block of a round, ``(blocks, alternatives)``; 0.0 without evidence.

    Parameters
    ----------
    blocks
        The round's labels and answers up to each of its blocks, and the sizes of the window.
    rates
        The guess, by what was there before the round alone; None if nothing was.
    missing
        Of each block the items without an answer, by stratum; none if not given.
    earlier
        Rounds of the same strata before this one, in slot order, by which the bets are chosen.
    errors
        How far beyond the limit each alternative lies, in standard errors of a round's estimate.
    groups
        The round's items by group, where some belong together: only the last block is then read.
    """
    if groups is not None:
        blocks, missing = blocks[-1:], missing and missing[-1:]
    now = blocks[-1]
    nothing = np.zeros((len(blocks), len(errors)))
    labels = now.labeled + (0 if missing is None else missing[-1])
    planned, share = labels.astype(np.float64), 1.0
    if groups is not None:
        planned = groups.votes(len(now.size))
        share = _share_of_items(planned, labels, now.size)
    usual = _Usual.of(now, earlier, planned, share)
    if rates is None or usual is None:
        return nothing
    try:
        items = _Items.of(limit, now, share)
        if not planned[items.c != 0].any():
            return nothing
        beyond, bets = _bets(limit, items, usual, rates, errors)
    except LimitCannotBeTested:  # in windows such as these
        return nothing
    rows = alternatives(limit, usual.size, items.is_flagged, rates, beyond, labeled=labels)
    pairs = zip(bets, rows, strict=True)
    if groups is not None:
        own = groups.completed(items.c > 0)
        return np.array([[_of_groups(items, k, row, planned, own) for k, row in pairs]])
    full = _with_missing(blocks, missing, items.c > 0)
    return np.stack([_path(items, k, row, full) for k, row in pairs], axis=1)


def log_recovery_of_shares(
    limit: Limit,
    counts: Counts,
    rates: Floats | None,
    missing: Ints | None = None,
    earlier: Sequence[Counts] = (),
    groups: LabelGroups | None = None,
) -> float:
    """Log e of a round that the metric of an alert keeps its limit again; as above."""
    lost = None if missing is None else [missing]
    about = opposite(limit), [counts], rates, lost, earlier, (WITHIN,), groups
    return float(log_e_path_of_shares(*about)[0, 0])


def _share_of_items(votes: Floats, labeled: Ints, size: Ints) -> float:
    """Return what the sizes of the window are scaled by where items belong to groups."""
    seen = votes > 0
    least = (votes[seen] / size[seen]).max(initial=0.0)
    return float(max(votes.sum() / max(int(labeled.sum()), 1), least))


def _rows_of(counts: Counts) -> tuple[Floats, Floats]:
    """Rows of each stratum, ``(H,)``, and how many items each of them stands for."""
    held = np.abs(np.asarray(counts.size if counts.rows is None else counts.rows, np.float64))
    return held, np.divide(counts.size, held, out=np.ones(len(held)), where=held > 0)


@dataclass(frozen=True, slots=True, eq=False)
class _Usual:
    """What earlier rounds lead to expect of a round: sizes and labels of strata, ``(H,)``.

    ``total`` are the labels of the round itself.
    """

    size: Ints
    labeled: Floats
    total: float

    @classmethod
    def of(
        cls, now: Counts, earlier: Sequence[Counts], planned: Floats, share: float
    ) -> _Usual | None:
        """Take the shares of earlier rounds, or of the first round itself, for a ``share`` of it.

        There are as many rows as in the round, so a log's random number of items decides nothing.
        """
        total = float(planned.sum())
        own = np.ceil(now.size * share - 1e-9).astype(np.int64)
        if not any(counts.labeled.any() for counts in earlier):
            return cls(own, planned, total) if total else None
        size = np.zeros(len(now.size))
        for counts in earlier:
            size = DECAY * size + counts.size / max(int(counts.size.sum()), 1)
        _, labeled = decayed_labels(earlier)
        held, per_row = _rows_of(now)
        items = share * held.sum() * size / (size / per_row).sum()
        usual = np.ceil(items - 1e-9).astype(np.int64)
        return cls(usual, total * labeled / labeled.sum(), total) if total else None


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    """C and D of a limit in each stratum, ``(H,)``, and what counts of the stratum's items.

    ``held`` is M. Each of these rows stands for ``per_row`` items, by which C and D are multiplied.
    """

    c: Floats
    d: Floats
    held: Floats
    per_row: Floats
    is_flagged: Bools

    @classmethod
    def of(cls, limit: Limit, counts: Counts, share: float) -> _Items:
        c, d = per_item(limit, counts.is_flagged)
        held, per_row = _rows_of(counts)
        return cls(c * per_row, d * per_row, held * share, per_row, counts.is_flagged)

    @property
    def largest(self) -> float:
        """The K at which a factor would be 0."""
        most = np.maximum(np.maximum(self.c - self.d, -self.d), 0.0).max(initial=0.0)
        return float(_LARGEST_BET / most) if most > 0 else 0.0


def _bets(
    limit: Limit, items: _Items, usual: _Usual, rates: Floats, errors: Sequence[float]
) -> tuple[Floats, list[float]]:
    """Choose r, by which alternatives lie beyond the limit, and K for each, by earlier rounds."""
    labeled = np.ceil(usual.labeled - 1e-9).astype(np.int64)
    window = limit, usual.size, items.is_flagged, rates
    at_usual = replace(items, held=usual.size / items.per_row)
    n = np.minimum(usual.labeled, at_usual.held)
    at_limit = alternatives(*window, beyond=(0.0,), labeled=labeled)[0]
    variance, of_shares = _variances(at_usual, n, at_limit)
    widened = np.sqrt(1 + of_shares / variance) if variance > 0 else 1.0
    beyond = steps(*window, labeled, errors) * widened
    rows = alternatives(*window, beyond, labeled=labeled)
    return beyond, [_best(at_usual, n, row, variance + of_shares) for row in rows]


def _variances(items: _Items, labeled: Floats, rates: Floats) -> tuple[float, float]:
    """Variance of the sum of s over a window: by its labels, and by its shares."""
    seen = labeled > 0
    total = (items.held * items.c)[seen]
    of_labels = float((total**2 / labeled[seen]) @ (rates * (1 - rates))[seen])
    mean = items.c * rates - items.d
    return of_labels, float(items.held @ mean**2)


def _best(items: _Items, labeled: Floats, alternative: Floats, variance: float) -> float:
    """Find the K with the largest expected log e at an alternative; 0 if that keeps the limit."""
    mean = items.c * alternative - items.d
    lacking = -float(items.held @ mean)
    if not (lacking > 0 and variance > 0):
        return 0.0
    alt = inside(alternative)

    def loss(k: float) -> float:
        of_yes, of_no, unlabeled = _log_factors(items, k, labeled, alt)
        return -float(labeled @ (alt * of_yes + (1 - alt) * of_no) + unlabeled.sum())

    most = min(items.largest, _FARTHEST * lacking / variance)
    best = optimize.minimize_scalar(loss, bounds=(0.0, most), method="bounded")
    return float(best.x) if best.fun < 0 else 0.0


def _log_factors(
    items: _Items, k: float, labeled: Floats, alternative: Floats
) -> tuple[Floats, Floats, Floats]:
    """Log of f of a yes and of a no in each stratum, and of the factor of one without labels."""
    u, a = k * items.c, 1 + k * items.d
    seen = labeled > 0
    n = np.where(seen, labeled, 1.0)
    ratio = items.held / n
    moved = a - (1 - alternative) * u  # > 0
    near = tilted(inside(alternative * a / moved), n * moved, np.maximum(items.held - n, 0) * u)
    x = np.where(u == 0, alternative, inside(near))
    tangent = ratio * np.log(a - u * x)
    of_yes = tangent + np.log(alternative / x)
    of_no = tangent + np.log1p(-alternative) - np.log1p(-x)
    worst = items.held * np.log(np.where(u > 0, a - u, a))
    nothing = np.zeros(len(n))
    return (
        np.where(seen, of_yes, nothing),
        np.where(seen, of_no, nothing),
        np.where(seen, nothing, worst),
    )


def _path(items: _Items, k: float, alternative: Floats, blocks: Sequence[Counts]) -> Floats:
    """Log e after each block of a round, ``(blocks,)``, the last of which counts all labels."""
    y, n = (np.array([getattr(of, name) for of in blocks]) for name in ("positive", "labeled"))
    whole = n[-1].astype(np.float64)
    of_yes, of_no, unlabeled = _log_factors(items, k, whole, inside(alternative))
    log_e = y @ of_yes + (n - y) @ of_no + unlabeled.sum()
    if len(blocks) > 1:
        log_e[:-1] -= _correction(items, k, n, of_yes, of_no)[:-1]
    result: Floats = log_e
    return result


def _of_groups(
    items: _Items, k: float, alternative: Floats, votes: Floats, groups: LabelGroups
) -> float:
    of_yes, of_no, unlabeled = _log_factors(items, k, votes, inside(alternative))
    return groups.log_product(of_yes, of_no) + float(unlabeled.sum())


def _correction(items: _Items, k: float, labeled: Ints, of_yes: Floats, of_no: Floats) -> Floats:
    """Bound c of the module's docstring after each block, ``(blocks,)``, 0 or more."""
    u, a = k * items.c, 1 + k * items.d
    moves = (labeled[-1] > 0) & (u != 0) & (of_yes != of_no)
    n, held = labeled[:, moves].astype(np.float64), items.held[moves]
    yes, no = (np.exp(np.clip(of[moves], -_FAR, _FAR)) for of in (of_yes, of_no))
    slope = -held * u[moves] / (yes - no)
    start = held * a[moves] - slope * no
    least = (items.held * np.minimum(a, a - u))[~moves].sum()  # of strata that no label moves
    room = float(items.held.sum() - start.sum() - least)
    low, high = np.minimum(yes, no), np.maximum(yes, no)

    def factors(log_s: Floats) -> Floats:
        return np.asarray(np.clip(n / (np.exp(log_s)[:, np.newaxis] * slope), low, high))

    below, above = np.full(len(n), -30.0), np.full(len(n), 30.0)
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        is_over = factors(middle) @ slope > room
        below, above = np.where(is_over, middle, below), np.where(is_over, above, middle)
    f, s = factors(above), np.exp(above)
    bound = (n * np.log(f)).sum(axis=1) - s * (f @ slope - room)
    return np.asarray(np.maximum(bound, 0.0))


def _with_missing(
    blocks: Sequence[Counts], missing: Sequence[Ints] | None, positive: Bools
) -> list[Counts]:
    """Answer what is missing in favor of the limit."""
    if missing is None:
        return list(blocks)
    return [completed(of, lost, positive) for of, lost in zip(blocks, missing, strict=True)]
