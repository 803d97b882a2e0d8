"""What speaks against the way in which a set is said to be drawn, as far as its labels can tell.

Of a set alone little can be known: 1,013 flagged and 987 passed items may be all there are of a
classifier that flags half, or drawn from one that flags a percent. Only balances that hardly come
about by chance are reported, and those that contradict a flagged rate, where one is stated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from monitor.domain.errors import InputRefused
from monitor.presentation.numbers import percent_text

if TYPE_CHECKING:
    from monitor.evaluation.designs import EvaluationSample
    from monitor.evaluation.rows import LabeledRows

_LEAST_CHANCE = 1e-3  # Below this a plain random sample is not believed to have come out so

_ROUND = 100
_FEWEST = 20  # of each kind; of fewer, equal counts are no news

_ADVICE = "say how the labels were drawn: by sizes, weight or prevalence"


def balance_warnings(rows: LabeledRows, drawn: EvaluationSample) -> list[str]:
    """Describe what looks as if the labels were drawn otherwise; mostly nothing.

    Raises `InputRefused` if nothing is said of how the labels were drawn, and their balance was
    chosen: recall or precision would describe the set.
    """
    if drawn.sizes is not None or rows.weight is not None:
        return []
    flagged, passed = int(rows.flagged.sum()), int((~rows.flagged).sum())
    if drawn.prevalence is not None:
        return _of_actual_classes(flagged, passed)
    if drawn.flagged_rate is not None:
        return _near_the_rate(flagged, len(rows), drawn.flagged_rate)
    positive, negative = int(rows.positive.sum()), int((~rows.positive).sum())
    problem = None
    if by := _drawn_evenly(flagged, passed):
        problem = (
            f"{flagged:,} flagged and {passed:,} passed items are labeled: {by}, so recall would "
            "be that of the set, not of the classifier's traffic"
        )
    elif by := _drawn_evenly(positive, negative):
        problem = (
            f"{positive:,} positive and {negative:,} negative items are labeled: {by}, so "
            "precision would describe the set"
        )
    if problem is None:
        return []
    sure = f"{problem}; {_ADVICE}. If they are a plain random sample all the same, give"
    if not drawn.random:
        message = f"{sure} random=True, or the flagged_rate of all items"
        raise InputRefused(message)
    return [f"{sure} its flagged_rate"]


def _of_actual_classes(flagged: int, passed: int) -> list[str]:
    problem = _drawn_evenly(flagged, passed)
    if not problem:
        return []
    return [
        f"{flagged:,} flagged and {passed:,} passed items are labeled: {problem}, by predicted "
        "class. A prevalence adjusts labels drawn by actual class or at random; of these recall "
        "would be wrong: give sizes instead"
    ]


def _near_the_rate(flagged: int, labeled: int, rate: float) -> list[str]:
    chance = float(stats.binomtest(flagged, labeled, rate).pvalue)
    if chance >= _LEAST_CHANCE:
        return []
    return [
        f"{percent_text(flagged / labeled)} of the labeled items are flagged, but "
        f"{percent_text(rate)} of all: they are no plain random sample; {_ADVICE}"
    ]


def _drawn_evenly(first: int, second: int) -> str | None:
    """Describe why two counts look chosen; None if they may be chance."""
    if min(first, second) < _FEWEST:
        return None
    if first == second:
        return "as many of each"
    if np.all(np.array([first, second]) % _ROUND == 0):
        return "round numbers of each"
    return None
