r"""Evidence on a limit where the sizes of strata are estimated from a first-phase sample.

Of the :math:`N_h` items of score cell h a judge was asked about :math:`m_h`, of which
:math:`M_{hv}` have verdict v, and people label :math:`n_{hv}` of these (``double_sampling``). The
limit is kept while :math:`\sum_{hv} C_{hv} w_{hv} p_{hv} \ge d`. Not known are the shares
:math:`w_{hv}` of the verdicts and their rates :math:`p_{hv}`; :math:`C_{hv}` is the half-space's
coefficient as if all items of the cell had verdict v:

- limits on the classifier have the same :math:`C_h` for all verdicts of a cell;
- limits on the judge have one sign for yes, the other for no, and 0 for items without a verdict,
  which do not count. Only recall has no term in the shares alone (d = 0, no sizes by verdict): a
  TPR of t is recall with yes as "flagged", an FPR of f is recall 1 - f of the negatives with no as
  "flagged".

The bet K > 0 is chosen before the round, from earlier rounds, with :math:`K C_{hv} < m_h`. Then

.. math:: e = \exp\Big(K d - \sum_{hv} q_{hv} x_{hv}\Big)
    \prod_{\text{labels}} \Big(1 - \frac{q_{hv}}{n_{hv}} (y - x_{hv})\Big), \qquad
    q_{hv} = \kappa_{hv} M_{hv}, \quad \kappa_{hv} = -\ln\Big(1 - \frac{K C_{hv}}{m_h}\Big)

has a mean of 1 at most for all shares and rates that keep the limit. **Proof.** Given the first
phase, labels are draws at rates :math:`p_{hv}`, and :math:`1 + u \le e^u` gives

.. math:: E[e \mid M] \le \exp\Big(K d - \sum_{hv} q_{hv} x_{hv}
    - \sum_{hv} q_{hv} (p_{hv} - x_{hv})\Big)
    = \exp\Big(K d - \sum_{hv} \kappa_{hv} M_{hv} p_{hv}\Big)

for any :math:`x_{hv}` and :math:`n_{hv}`, which may follow M. The :math:`M_{hv}` of a cell are
multinomial, and :math:`e^{-\kappa p} \le 1 - p(1 - e^{-\kappa})` for p in [0, 1] and
:math:`\kappa` of either sign, since the left is convex in p and both agree at 0 and 1. So

.. math:: E\Big[e^{-\sum_v \kappa_{hv} M_{hv} p_{hv}}\Big]
    = \Big(\sum_v w_{hv} e^{-\kappa_{hv} p_{hv}}\Big)^{m_h}
    \le \Big(1 - \sum_v w_{hv} p_{hv} (1 - e^{-\kappa_{hv}})\Big)^{m_h}
    \le e^{-m_h \sum_v w_{hv} p_{hv} (1 - e^{-\kappa_{hv}})}
    = e^{-K \sum_v C_{hv} w_{hv} p_{hv}}.

Cells are independent: :math:`E[e] \le \exp(K (d - \sum_{hv} C_{hv} w_{hv} p_{hv})) \le 1`.

It also holds for the window's own items, drawn without replacement in both phases. Given the judged
items, the factors of a stratum are the exponential of a line in the positives that its labels find,
so convex, and their mean is at most the one of draws with replacement (Hoeffding 1963, Theorem 4).
What remains is :math:`E\,e^{-S}`, where S sums :math:`\kappa_{hv(i)} y_i` over the judged items i
of a cell. These are fixed numbers, of any signs, of the cell's items, and :math:`e^{-S}` is convex
in their sum: by the same theorem its mean is at most the one for items drawn with replacement,
which are multinomial as above. The same holds for :math:`\kappa_{hv(i)} p_{hv(i)}`: the window's
own shares with the rates behind them.

A stratum without labels has x at its worst, 1 where :math:`C_{hv} > 0` and 0 where
:math:`C_{hv} < 0`. Elsewhere x is the ``half_space.tilted`` one: the factors are then the
likelihood ratio of the alternative against x, the largest expected log e for this K. Missing
answers count in favor of the limit, by the proof in ``e_detector``. A cell that was judged whole,
or that no verdict cuts, has counted sizes: there :math:`q_{hv} = K c_{hv}`, as in ``e_detector``,
whose e-value this is where that holds for all cells and K is the multiplier of the projection.
Nothing about M may make a round uninformative, and with its shares there is no alternative to a
limit on the judge where the judge never says yes. So these are made with the shares of earlier
rounds. The proof takes m as fixed before the round: asking that a budget of tokens or time ends
early must not end by what the judged items are, which no one here can check.

**Waves.** The first phase enters once: wave j, with :math:`n_j` of the round's n labels, has the
share :math:`a_j = n_j/n` of K d and of all q. Given M and the waves before it, its mean is at most
:math:`\exp(a_j (K d - \sum_{hv} \kappa_{hv} M_{hv} p_{hv}))` for any sizes by stratum and any x
that follow them, so the mean of the product is at most the same without :math:`a_j`, and the rest
of the proof is as for one wave. The total n must not depend on the answers, as a plan's does not;
so labels of items without a verdict are part of it.

K is chosen with the shares and the labels of earlier rounds, so that log e is expected to be
largest at the alternative. So the first round of a history says nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from monitor.stats.core.counts import Counts, FirstPhase, completed
from monitor.stats.detection.alternatives import DECAY, alternatives, decayed_labels, steps
from monitor.stats.detection.half_space import (
    Limit,
    LimitCannotBeTested,
    half_space,
    inside,
    tilted,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Bools, Floats, Ints


_LARGEST_BET = 1 - 1e-6  # of the K at which a factor would be 0


def log_e_of_first_phase(
    limit: Limit,
    waves: Sequence[Counts],
    rates: Sequence[Floats | None],
    missing: Sequence[Ints | None],
    earlier: Sequence[Counts],
    errors: Sequence[float],
) -> Floats:
    """Log e over the waves of one round, ``(alternatives,)``; 0.0 where uninformative.

    ``waves`` have their own labels and answers, and the sizes and the first phase of the round;
    ``rates`` is the guess for each, by the rounds and the waves before it, ``missing`` its items
    without an answer, by stratum. ``earlier`` rounds of the same strata are in slot order;
    ``errors`` is how far beyond the limit each alternative lies, in standard errors of a round's
    estimate.
    """
    nothing, planned = np.zeros(len(errors)), [int(wave.labeled.sum()) for wave in waves]
    for i, lost in enumerate(missing):
        planned[i] += 0 if lost is None else int(lost.sum())
    if rates[0] is None or not any(counts.labeled.any() for counts in earlier):
        return nothing
    try:
        bets, beyond, usual = _bets(limit, waves[0], rates[0], earlier, errors)
        parts = [
            _log_e(limit, wave, usual, guess, lost, bets, beyond, part=items / max(sum(planned), 1))
            for wave, guess, lost, items in zip(waves, rates, missing, planned, strict=True)
            if guess is not None
        ]
        return np.asarray(np.sum(parts, axis=0))
    except LimitCannotBeTested:  # in this week's window
        return nothing


@dataclass(frozen=True, slots=True, eq=False)
class _CellCoefficients:
    """Score cells of a round as they are before the judge; an entry for each stratum, ``(H,)``.

    ``coefficient`` is C and ``d`` the other side of the limit, ``judged`` is m, and ``is_counted``
    says whether sizes by verdict are counted.
    """

    sample: FirstPhase
    coefficient: Floats
    d: float
    judged: Ints
    is_counted: Bools

    @classmethod
    def of(cls, limit: Limit, counts: Counts) -> _CellCoefficients:
        sample, size, up = _sample(counts), counts.size, counts.is_flagged
        strata, judged, items = (
            sample.summed(each) for each in (np.ones_like(size), sample.judged, size)
        )
        is_counted = (strata == 1) | (judged >= items)
        if sample.has_verdict is None:
            space = half_space(limit, size, up)
            return cls(sample, sample.summed(space.c), space.d, judged, is_counted)
        if limit.metric != "recall":
            message = f"with shares by verdict a limit is on recall, not on {limit.metric}"
            raise ValueError(message)
        space = half_space(limit, items * sample.has_verdict, up)
        return cls(sample, space.c, space.d, judged, is_counted)

    @property
    def largest(self) -> float:
        """The K at which a factor of the first phase would be 0."""
        bounded = ~self.is_counted & (self.coefficient > 0)
        return float(np.min(self.judged[bounded] / self.coefficient[bounded], initial=np.inf))

    def weight(self, k: float, share: Floats) -> Floats:
        """Give q of each stratum, which has a share of its cell's sample."""
        sampled = ~self.is_counted
        weight: Floats = k * self.coefficient * share
        m, c = self.judged[sampled], self.coefficient[sampled]
        weight[sampled] = -np.log1p(-k * c / np.maximum(m, 1)) * m * share[sampled]
        return weight

    def slope(self, k: float, share: Floats) -> Floats:
        """Give dq/dK."""
        ratio = np.where(self.is_counted, 0.0, k * self.coefficient / np.maximum(self.judged, 1))
        return np.asarray(self.coefficient * share / (1 - ratio))


def _bets(
    limit: Limit, counts: Counts, rates: Floats, earlier: Sequence[Counts], errors: Sequence[float]
) -> tuple[list[float], Floats, Ints]:
    """Choose K for each alternative, by earlier rounds and the counted items of the cells alone.

    With them come r, by which alternatives lie beyond the limit, and the usual sizes of strata.
    """
    sample, cells = _sample(counts), _CellCoefficients.of(limit, counts)
    share, labeled = _usual(sample, earlier)
    usual = np.rint(sample.summed(counts.size) * share).astype(np.int64)
    usual = usual if sample.has_verdict is None else usual * sample.has_verdict
    window = limit, usual, counts.is_flagged, rates
    at_limit = alternatives(*window, beyond=(0.0,), labeled=labeled)[0]
    beyond = steps(*window, labeled, errors) * _widened(cells, share, at_limit, labeled)
    rows = alternatives(*window, beyond, labeled=labeled)
    return [_best(cells, share, row, labeled) for row in rows], beyond, usual


def _sample(counts: Counts) -> FirstPhase:
    sample = counts.first_phase
    assert sample is not None  # noqa: S101  asked by the caller
    return sample


def _usual(sample: FirstPhase, earlier: Sequence[Counts]) -> tuple[Floats, Ints]:
    """Shares of the verdicts in each cell, and labels of each stratum, in earlier rounds."""
    judged = np.zeros(len(sample.parent))
    for counts in earlier:
        own = counts.size if counts.first_phase is None else counts.first_phase.judged
        judged = DECAY * judged + own / np.maximum(sample.summed(own), 1)
    of_cell, strata = sample.summed(judged), sample.summed(np.ones_like(judged))
    share = np.where(of_cell > 0, judged / np.maximum(of_cell, 1e-9), 1 / strata)
    _, labeled = decayed_labels(earlier)
    usual = labeled / (DECAY ** np.arange(len(earlier))).sum()
    return share, np.ceil(usual - 1e-9).astype(np.int64)


def _widened(cells: _CellCoefficients, share: Floats, rates: Floats, labeled: Ints) -> float:
    """Divide the standard error of a round's estimate by that with counted sizes."""
    c, seen = cells.coefficient * share, labeled > 0
    of_labels = float((c**2 * rates * (1 - rates))[seen] @ (1 / labeled[seen]))
    of_item = cells.coefficient * rates
    between = share * (of_item - cells.sample.summed(share * of_item)) ** 2
    more = float((between / np.maximum(cells.judged, 1))[~cells.is_counted].sum())
    return math.sqrt(1 + more / of_labels) if of_labels > 0 else 1.0


def _best(cells: _CellCoefficients, share: Floats, alternative: Floats, labeled: Ints) -> float:
    """Find the K with the largest expected log e at an alternative; 0 if that keeps the limit."""
    seen = labeled > 0
    n = labeled[seen].astype(np.float64)
    at_worst = cells.coefficient > 0

    def excess(k: float) -> float:
        x = np.where(at_worst, 1.0, 0.0)
        weight = cells.weight(k, share)
        x[seen] = tilted(inside(alternative[seen]), n, weight[seen])
        return float(cells.slope(k, share) @ x) - cells.d

    if excess(0.0) >= 0:
        return 0.0
    high = _LARGEST_BET * cells.largest
    if math.isinf(high):
        high = next((k for k in 2.0 ** np.arange(-60, 200) if excess(k) >= 0), 0.0)
    if excess(high) <= 0:
        return high
    return float(optimize.brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-9))


def _log_e(
    limit: Limit,
    counts: Counts,
    usual: Ints,
    rates: Floats,
    missing: Ints | None,
    bets: Sequence[float],
    beyond: Floats,
    *,
    part: float,
) -> Floats:
    """Log e of a wave that has a part of the round's labels."""
    sample, cells = _sample(counts), _CellCoefficients.of(limit, counts)
    for_limit = cells.coefficient > 0
    if missing is not None and missing.any():
        counts = completed(counts, missing, for_limit)
    seen = counts.labeled > 0
    size = counts.size if sample.has_verdict is None else usual
    window = limit, size, counts.is_flagged, rates
    rows = alternatives(*window, beyond, labeled=counts.labeled)
    share = sample.judged / np.maximum(sample.of_parent, 1)
    y, n = (each[seen].astype(float) for each in (counts.positive, counts.labeled))
    result = []
    for k, row in zip(bets, rows, strict=True):
        weight, alt = part * cells.weight(k, share), inside(row[seen])
        x = np.where(for_limit, 1.0, 0.0)
        x[seen] = inside(tilted(alt, n, weight[seen]))
        first = part * k * cells.d - float(weight @ x)
        of_yes, of_no = np.log(alt / x[seen]), np.log1p(-alt) - np.log1p(-x[seen])
        result.append(first + float(y @ of_yes + (n - y) @ of_no))
    return np.array(result)
