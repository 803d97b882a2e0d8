"""Did a class's rates change just before a round? What the pooled history says of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monitor.stats.history.change_point import PoolingStep


def change_probability(step: PoolingStep, index: int, hazard: float) -> float:
    r"""Probability that a class changed just before a round, had it been as likely as not.

    With w the weight of the components that began in this round,

    .. math:: \frac{b}{1+b}, \quad b = \frac{w}{1-w} \cdot \frac{1-\text{hazard}}{\text{hazard}}

    where b is the Bayes factor of "changed now" against "not". The hazard of pooling is set for
    the coverage of its intervals and says little of how often classifiers change, so it is
    taken out again; b is what the labels say.

    Parameters
    ----------
    step
        What :func:`monitor.stats.history.change_point.pooling_steps` gave for the round.
    index
        Its place among the rounds given there, from 1.
    hazard
        As given there, in (0, 1).

    Returns
    -------
    float
        0 where the class could not have changed: it had no label before, or has none now.

    Raises
    ------
    ValueError
        If ``hazard`` lies outside (0, 1).

    Examples
    --------
    >>> from monitor.stats.history.change_point import pooling_steps
    >>> same, drop = ([81], [100]), ([50], [100])
    >>> quiet = pooling_steps([same, same, same], hazard=0.5)[-1]
    >>> fell = pooling_steps([same, same, drop], hazard=0.5)[-1]
    >>> change_probability(quiet, 3, 0.5) < 0.5, change_probability(fell, 3, 0.5) > 0.99
    (True, True)
    """
    if not 0 < hazard < 1:
        message = f"hazard must lie strictly between 0 and 1, got {hazard!r}"
        raise ValueError(message)
    changed = float(step.mixture.weight[step.started == index].sum())
    if changed >= 1:  # by rounding; the odds below would divide by 0
        return 1.0
    factor = changed / (1 - changed) * math.exp(math.log1p(-hazard) - math.log(hazard))
    return factor / (1 + factor)
