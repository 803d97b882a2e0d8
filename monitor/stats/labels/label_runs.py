r"""Runs of equal labels among items in the order of time, as items that belong together make them.

Of :math:`n_1` positive and :math:`n_0` negative labels that are independent of their order, all
orders are equally likely. The number R of runs, stretches of equal labels, then has (Wald &
Wolfowitz, "On a test whether two samples are from the same population", *Annals of Mathematical
Statistics* 11, 1940)

.. math:: P(R = 2k) = 2 \binom{n_1-1}{k-1} \binom{n_0-1}{k-1} \Big/ \binom{n_1+n_0}{n_1}, \qquad
    P(R = 2k+1) = \Big[\binom{n_1-1}{k} \binom{n_0-1}{k-1}
    + \binom{n_1-1}{k-1} \binom{n_0-1}{k}\Big] \Big/ \binom{n_1+n_0}{n_1}.

Few runs mean that neighbours are alike. How much less n such labels tell than independent ones is
read off sums of :math:`b = \lceil\sqrt n\rceil` neighbours (batch means: Conway, "Some tactical
problems in digital simulation", *Management Science* 10, 1963): their variance over the variance
if labels were independent. Groups whose items are spread over the whole time make no runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class LabelRuns:
    """Number of runs of some labels, its mean in a random order, and the probability of as few.

    ``effect`` is the design effect, 1 or more.
    """

    labels: int
    runs: int
    expected: float
    probability: float
    effect: float


def label_runs(positive: Bools) -> LabelRuns:
    """Count the runs of labels in the order of time, ``(n,)``; a ValueError without any label.

    >>> labels = np.repeat([True, False, True, False], [30, 10, 40, 20])
    >>> runs = label_runs(labels)
    >>> runs.runs, runs.expected, runs.probability < 1e-20, round(runs.effect, 1)
    (4, 43.0, True, 11.1)
    """
    if not len(positive):
        message = "there is no label, so there are no runs to count"
        raise ValueError(message)
    runs = 1 + int(np.count_nonzero(positive[1:] != positive[:-1]))
    labels, ones = len(positive), int(positive.sum())
    expected = 1 + 2 * ones * (labels - ones) / labels
    if ones in (0, labels):
        return LabelRuns(labels, runs, expected, probability=1.0, effect=1.0)
    probability = _at_most(runs, ones, labels - ones)
    return LabelRuns(labels, runs, expected, probability, _batch_effect(positive))


def _at_most(runs: int, ones: int, zeros: int) -> float:
    """Return the probability of this number of runs or fewer."""
    each = np.arange(2, runs + 1)
    k = each // 2
    paired = math.log(2) + _log_choose(ones - 1, k - 1) + _log_choose(zeros - 1, k - 1)
    unpaired = np.logaddexp(
        _log_choose(ones - 1, k) + _log_choose(zeros - 1, k - 1),
        _log_choose(ones - 1, k - 1) + _log_choose(zeros - 1, k),
    )
    all_orders = _log_choose(ones + zeros, np.array([ones]))
    log_probability = np.where(each % 2 == 0, paired, unpaired) - all_orders
    return min(float(np.exp(log_probability).sum()), 1.0)


def _log_choose(n: int, k: Ints) -> Floats:
    inside = np.clip(k, 0, n)
    log = special.gammaln(n + 1) - special.gammaln(inside + 1) - special.gammaln(n - inside + 1)
    return np.asarray(np.where(k == inside, log, -np.inf))


def _batch_effect(positive: Bools) -> float:
    length = math.ceil(math.sqrt(len(positive)))
    batches = len(positive) // length
    rate = float(positive.mean())
    if batches < 2:  # noqa: PLR2004  one sum has no variance
        return 1.0
    sums = positive[: batches * length].reshape(batches, length).sum(axis=1)
    return max(float(sums.var(ddof=1)) / (length * rate * (1 - rate)), 1.0)
