r"""Looks at a round that ends once its margins hold.

The labels of a round come in a random order, and at a few numbers of labels that are fixed with the
plan the intervals of the first so many are computed. The round ends at the first look at which half
of each interval is within its margin. Which labels those are depends on no time: answers that take
longer, or come from somebody who is slower, are waited for. So at each look the labels are a random
part of the plan, and what is left of the bias is that of the rule itself, which ends rather where
an interval is narrow by chance. That is most where hardly a positive has been found yet, since few
make recall look both high and certain: so no round ends before each class is worth ``FEW_LABELS``
plain labels of either answer. Simulated, the intervals at the stop then hold the truth as often as
those of the whole plan (``benchmarks/stopped_rounds.py``).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.estimation.cell_matrix import class_counts
from monitor.stats.estimation.small_counts import FEW_LABELS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FIRST_LOOK = 0.25
"""Share of the plan at the first look. Of rounds planned with assurance few could end sooner."""

LOOKS = 16
"""Looks, the whole plan among them: one at every twentieth of the plan. Twice as many save about
one more label in a hundred."""


def looks(planned: int, first: float = FIRST_LOOK, count: int = LOOKS) -> list[int]:
    """Numbers of labels at which a plan of so many is looked at, less than all of them.

    Parameters
    ----------
    planned
        Labels of the whole round.
    first, count
        Share of them at the first look, and how many looks there are with that at the end.

    Examples
    --------
    >>> looks(100)
    [25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95]
    >>> looks(4)
    [1, 2, 3]
    """
    shares = (first + (1 - first) * place / (count - 1) for place in range(count - 1))
    found = {math.ceil(share * planned - 1e-9) for share in shares}
    return sorted(look for look in found if 0 < look < planned)


def shows_both_answers(
    size: ArrayLike, labeled: ArrayLike, positive: ArrayLike, is_flagged: ArrayLike
) -> bool:
    """Whether both classes have enough labels of either answer for a round to end by them.

    Parameters
    ----------
    size, labeled, positive, is_flagged
        As for ``cell_matrix.class_counts``, of one round, shape ``(H,)``.

    Examples
    --------
    >>> shows_both_answers([160, 4840], [60, 300], [48, 6], [True, False])
    True
    >>> shows_both_answers([160, 4840], [60, 300], [48, 4], [True, False])
    False
    """
    found = class_counts(size, labeled, positive, is_flagged)
    either = np.minimum(found.positive, found.labeled - found.positive)
    return bool((either >= FEW_LABELS).all())
