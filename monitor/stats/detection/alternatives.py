r"""What a limit that no longer holds would look like: the alternatives that the detector tests.

From what earlier rounds found, the guess; from the guess, rates that miss the limit by a few
standard errors of one round's estimate. The detector's promise never depends on them: whatever
they are, its e-values have a mean of at most 1 (see ``e_detector``). How soon it fires does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from monitor.stats.core.beta_mixture import prior_count
from monitor.stats.detection.half_space import Limit, LimitCannotBeTested, half_space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from monitor.stats.core.counts import StratumArrays

    Floats: TypeAlias = NDArray[np.float64]

ERRORS = (0.75, 1.5, 3.0)
"""How far beyond the limit each alternative lies, in standard errors of one round's estimate: so
few labels do not look for drops that they could never show, nor many for none but large ones."""

WEIGHTS = (0.1, 0.8, 0.1)
"""Share of each alternative in the evidence. A drop of 1.5 standard errors is one that takes about
four rounds, where an alternative close by saves most; larger and smaller ones need little weight
(measured beside other sets in docs/benchmarks.md)."""

BEYOND = (0.15, 0.3, 0.6, 1.0)
"""Fixed steps beyond the limit, as shares of the rates at the limit: what ``ERRORS`` replaced."""

DECAY = 0.8
"""Weight of a round against the one after it, in the guess: five rounds' worth in all. A guess that
forgets more slowly found drops no sooner (benchmarks/alternatives.py)."""

CAP = 0.999
"""Largest rate of wrong answers that an alternative supposes; at 1 a single right one would make
its likelihood 0."""

_SCALED_CLASSES = {
    "precision": (True, False),
    "specificity": (True, False),
    "recall": (False, True),
    "npv": (False, True),
    "accuracy": (True, True),
    "f_beta": (True, True),
}


def guess(
    rounds: Sequence[StratumArrays],
    reference: StratumArrays | None = None,
    decay: float = DECAY,
) -> Floats | None:
    r"""Rates to expect in the next round, from earlier rounds only.

    .. math:: g_h = \frac{a_0 + \sum_j \delta^{t-1-j} y_{jh}}{2a_0 + \sum_j \delta^{t-1-j} n_{jh}}

    with j = 0 the reference, :math:`a_0 = 1/(2H)` for the H strata of the class. Never 0 or 1.
    The promise does not depend on the guess, only the delay does.

    Parameters
    ----------
    rounds
        Earlier rounds of the same strata in slot order, without the round to be judged.
    reference
        Counts from before launch in the same strata.
    decay
        Weight :math:`\delta` of a round against the one after it, in (0, 1].

    Returns
    -------
    Rates of shape ``(H,)``, flagged strata first, or None when there is no label to go by.

    Raises
    ------
    ValueError
        If ``decay`` is out of range or the strata differ between rounds.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> before = Counts.of_matrix(tp=79, fp=20, fn=9, tn=490, flagged_size=99, passed_size=9901)
    >>> print(guess([], reference=before))
    [0.795 0.019]
    """
    if not 0 < decay <= 1:
        message = f"decay must lie in (0, 1], got {decay!r}"
        raise ValueError(message)
    known = [*([] if reference is None else [reference]), *rounds]
    if not any(counts.labeled.any() for counts in known):
        return None
    positive, labeled = decayed_labels(known, decay)
    layout = known[0].is_flagged
    flagged = int(layout.sum())
    prior = np.where(layout, prior_count(flagged), prior_count(layout.size - flagged))
    return np.asarray((prior + positive) / (2 * prior + labeled))


def decayed_labels(rounds: Sequence[StratumArrays], decay: float = DECAY) -> tuple[Floats, Floats]:
    """Add up the labels of rounds, each worth ``decay`` of the one after it.

    Parameters
    ----------
    rounds
        One or more of the same strata, in slot order.
    decay
        In (0, 1].

    Returns
    -------
    Positive and labeled, shape ``(H,)`` each.

    Raises
    ------
    ValueError
        If the strata differ between rounds.
    """
    layout = rounds[0].is_flagged
    positive, labeled = np.zeros(layout.size), np.zeros(layout.size)
    for counts in rounds:
        if counts.is_flagged is not layout and not np.array_equal(counts.is_flagged, layout):
            message = "all rounds and the reference need the same strata; found another layout"
            raise ValueError(message)
        positive = decay * positive + counts.positive
        labeled = decay * labeled + counts.labeled
    return positive, labeled


def alternatives(
    limit: Limit,
    size: NDArray[np.int64],
    is_flagged: NDArray[np.bool_],
    rates: Floats,
    beyond: ArrayLike = BEYOND,
) -> Floats:
    r"""Make sets of rates beyond the limit, in the direction in which the metric goes wrong.

    Along :math:`\pi(f)`, with :math:`\pi = 1-f(1-g)` in flagged and :math:`\pi = fg` in passed
    strata, :math:`f_L` puts the metric exactly at the limit; the alternatives are at
    :math:`f_L(1+r)`, or :math:`f_L/(1+r)` where the metric goes wrong as f falls. Precision and
    specificity move the flagged strata only, recall and NPV the passed ones; prevalence moves
    :math:`\pi = fg` in both. What f scales stops at ``CAP``, so an alternative may end up within
    the limit: it is then of no use (see :func:`check_testable`).

    Parameters
    ----------
    limit, size, is_flagged
        As for ``half_space.half_space``.
    rates
        The guess g, shape ``(..., H)``, each strictly between 0 and 1.
    beyond
        r of each alternative, shape ``(alternatives,)`` or one row per guess, shape
        ``(..., alternatives)``; 0 is exactly at the limit. See :func:`steps`.

    Returns
    -------
    Rates of shape ``(..., alternatives, H)``.

    Raises
    ------
    LimitCannotBeTested
        If the window lacks a predicted class that the metric needs.

    Examples
    --------
    >>> limit = Limit("precision", 0.8, "at_least")
    >>> sizes, is_flagged = np.array([100, 900]), np.array([True, False])
    >>> print(alternatives(limit, sizes, is_flagged, np.array([0.9, 0.01]))[:, 0].round(3))
    [0.77 0.74 0.68 0.6 ]
    """
    space = half_space(limit, size, is_flagged)
    base, slope = _line(limit.direct().metric, is_flagged, rates)
    towards = (slope @ space.c)[..., np.newaxis]
    at_limit = (space.d - base @ space.c)[..., np.newaxis] / towards
    scale = 1 + np.asarray(beyond, dtype=np.float64)
    f = np.where(towards < 0, at_limit * scale, at_limit / scale)[..., np.newaxis]
    base, slope = base[..., np.newaxis, :], slope[..., np.newaxis, :]
    return np.asarray(base + np.sign(slope) * np.minimum(f * np.abs(slope), CAP))


def steps(
    limit: Limit,
    size: NDArray[np.int64],
    is_flagged: NDArray[np.bool_],
    rates: Floats,
    labeled: NDArray[np.int64],
    errors: Sequence[float] = ERRORS,
) -> Floats:
    r"""How far beyond the limit to look with so many labels: ``ERRORS`` standard errors.

    With rates p at the limit on the line of :func:`alternatives`, of slope b in f,

    .. math:: r = z\,\frac{\sqrt{\sum_h c_h^2 p_h (1-p_h)/n_h}}{f_L\,|c\cdot b|}

    over the labeled strata: near the limit the alternative then misses it by z standard errors of
    one round's estimate of :math:`c\cdot\pi`.

    Parameters
    ----------
    limit, size, is_flagged, rates
        As for :func:`alternatives`.
    labeled
        Labels in each stratum, shape ``(H,)``.
    errors
        z of each alternative.

    Returns
    -------
    r of shape ``(..., alternatives)``, one per entry of ``errors``, 0 or more.

    Raises
    ------
    LimitCannotBeTested
        If the window lacks a predicted class that the metric needs.

    Examples
    --------
    >>> limit = Limit("precision", 0.8, "at_least")
    >>> sizes, is_flagged = np.array([100, 900]), np.array([True, False])
    >>> guess, labeled = np.array([0.9, 0.01]), np.array([64, 0])
    >>> print(steps(limit, sizes, is_flagged, guess, labeled))  # .05 is one standard error
    [0.1875 0.375  0.75  ]
    """
    space = half_space(limit, size, is_flagged)
    base, _ = _line(limit.direct().metric, is_flagged, rates)
    at_limit = alternatives(limit, size, is_flagged, rates, beyond=(0.0,))[..., 0, :]
    seen = labeled > 0
    spread = (at_limit * (1 - at_limit))[..., seen]
    variance = np.asarray(spread @ (space.c[seen] ** 2 / labeled[seen]))
    to_limit = np.abs(space.d - base @ space.c)  # f_L |c.b|; 0 only by rounding
    error = np.divide(np.sqrt(variance), to_limit, out=np.zeros_like(variance), where=to_limit > 0)
    return np.asarray(error[..., np.newaxis] * np.array(errors))


def check_testable(
    limit: Limit,
    size: NDArray[np.int64],
    is_flagged: NDArray[np.bool_],
    rates: Floats | None = None,
) -> None:
    """Refuse a limit that no labels could count against in a window of these sizes.

    For set-up and for reports; a round in service uses :func:`log_e_factor`, which calls such a
    round uninformative instead.

    Parameters
    ----------
    limit, size, is_flagged
        As for ``half_space.half_space``.
    rates
        The guess, shape ``(H,)``, each strictly between 0 and 1; without one only the sizes are
        looked at.

    Raises
    ------
    LimitCannotBeTested
        If the window lacks a predicted class that the metric needs or, with the guess ``rates``
        given, if twice the wrong answers at the limit keep it once they stop at ``CAP``.

    Examples
    --------
    >>> nothing_flagged = np.array([0, 900]), np.array([True, False])
    >>> try:
    ...     check_testable(Limit("precision", 0.8, "at_least"), *nothing_flagged)
    ... except LimitCannotBeTested as refused:
    ...     print(str(refused)[:64])
    precision at least 0.8 says nothing in a window of 0 flagged and
    """
    space = half_space(limit, size, is_flagged)
    if rates is None:
        return
    if bool(space.contains(alternatives(limit, size, is_flagged, rates)).all()):
        message = (
            f"{limit} cannot be tested: even rates of {CAP} wrong answers keep it in a window of "
            f"{int(size[is_flagged].sum())} flagged and {int(size[~is_flagged].sum())} passed "
            "items; move the limit closer to the level you expect"
        )
        raise LimitCannotBeTested(message)


def _line(metric: str, is_flagged: NDArray[np.bool_], rates: Floats) -> tuple[Floats, Floats]:
    """Rates as base + f slope, shapes ``(H,)``; strata that stay at the guess have slope 0."""
    if metric == "prevalence":
        return np.zeros_like(rates), rates
    flagged, passed = _SCALED_CLASSES[metric]
    is_scaled = np.where(is_flagged, flagged, passed)
    base = np.where(is_scaled, np.where(is_flagged, 1.0, 0.0), rates)
    slope = np.where(is_scaled, np.where(is_flagged, rates - 1, rates), 0.0)
    return base, slope
