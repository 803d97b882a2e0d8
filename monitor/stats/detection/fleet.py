r"""One promise about false alarms, kept over many monitors together.

A monitor with :math:`m_i` limits that fires at :math:`A_i = N_i m_i` gives at most :math:`T_i/N_i`
false alarms in :math:`T_i` rounds (see ``e_detector``). Means add up even if the monitors
depend on one another, so the fleet gives at most :math:`\sum_i T_i/N_i`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def shared_promise(rounds: Sequence[float], *, at_most: float) -> float:
    r"""Find the rounds per false alarm of each monitor that keep a promise over all.

    Shared out in proportion to the monitors' rounds :math:`T_i` in the time that the promise of
    ``at_most`` false alarms, a, is about, which makes N the same for all:

    .. math:: N = \frac{1}{a}\sum_i T_i

    Raises
    ------
    ValueError
        If there is no monitor, or a number is not positive.

    Examples
    --------
    >>> shared_promise([26, 26, 182], at_most=2)  # half a year: two weekly monitors, one daily
    117.0
    """
    if not rounds or min(rounds) <= 0:
        message = f"every monitor needs rounds in the time of the promise, got {list(rounds)}"
        raise ValueError(message)
    if not at_most > 0:
        message = f"a promise of {at_most!r} false alarms cannot be kept; give more than 0"
        raise ValueError(message)
    return sum(rounds) / at_most
