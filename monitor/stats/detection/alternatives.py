r"""What a limit that no longer holds would look like: the alternatives that the detector tests.

From what earlier rounds found, the guess; from the guess, rates that miss the limit by a few
standard errors of one round's estimate. The detector's promise never depends on them: in every
case, its e-values have a mean of at most 1 (see ``e_detector``). How soon it fires does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from monitor.stats.core.beta_mixture import prior_count
from monitor.stats.core.metrics import Matrix, metric
from monitor.stats.detection.half_space import Limit, LimitCannotBeTested, family, half_space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.core.counts import Counts
    from monitor.stats.core.metrics import Metric


ERRORS = (0.75, 1.5, 3.0)
"""How far beyond the limit each alternative lies, in standard errors of one round's estimate: so
few labels do not look for drops that they could never show, nor many for none but large ones."""

WEIGHTS = (0.1, 0.8, 0.1)
"""Share of each alternative in the evidence. A drop of 1.5 standard errors is one that takes about
four rounds, where an alternative close by saves most; larger and smaller ones need little weight
(measured beside other sets in benchmarks/results/tried.txt)."""

DECAY = 0.8
"""Weight of a round against the one after it, in the guess: five rounds' worth in all. A guess that
forgets more slowly found drops no sooner (benchmarks/results/tried.txt)."""

CAP = 0.999
"""Share of wrong answers beyond which no alternative looks; at 1 a single right one would make its
likelihood 0."""

_FAR = 800.0  # log odds of floats between 0 and 1 lie within 745 of 0
_STEPS = 100
_CLOSE = 1e-14

_SCALED_CLASSES = {
    "precision": (True, False),
    "specificity": (True, False),
    "recall": (False, True),
    "npv": (False, True),
    "accuracy": (True, True),
    "f_beta": (True, True),
}


def guess(rounds: Sequence[Counts], reference: Counts | None = None) -> Floats | None:
    r"""Rates to expect in the next round, ``(H,)``, from earlier rounds only; None without a label.

    .. math:: g_h = \frac{a_0 + \sum_j \delta^{t-1-j} y_{jh}}{2a_0 + \sum_j \delta^{t-1-j} n_{jh}}

    with j = 0 the reference, :math:`\delta` = ``DECAY`` and :math:`a_0 = 1/(2H)` for the H strata
    of the class. Never 0 or 1. The promise does not depend on the guess, only the delay does.
    ``rounds`` of the same strata are in slot order, without the round to be judged; ``reference``
    has counts from before launch.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> before = Counts.of_matrix(tp=79, fp=20, fn=9, tn=490, flagged_size=99, passed_size=9901)
    >>> print(guess([], reference=before))
    [0.795 0.019]
    """
    earlier = [*([] if reference is None else [reference]), *rounds]
    if not any(counts.labeled.any() for counts in earlier):
        return None
    positive, labeled = decayed_labels(earlier)
    layout = earlier[0].is_flagged
    flagged = int(layout.sum())
    prior = np.where(layout, prior_count(flagged), prior_count(layout.size - flagged))
    return np.asarray((prior + positive) / (2 * prior + labeled))


def decayed_labels(rounds: Sequence[Counts]) -> tuple[Floats, Floats]:
    """Add up the labels of rounds in slot order, each worth ``DECAY`` of the one after it.

    Positive and labeled, shape ``(H,)`` each; a ValueError if the strata differ between rounds.
    """
    layout = rounds[0].is_flagged
    positive, labeled = np.zeros(layout.size), np.zeros(layout.size)
    for counts in rounds:
        if counts.is_flagged is not layout and not np.array_equal(counts.is_flagged, layout):
            message = "all rounds and the reference need the same strata; found another layout"
            raise ValueError(message)
        positive = DECAY * positive + counts.positive
        labeled = DECAY * labeled + counts.labeled
    return positive, labeled


def alternatives(
    limit: Limit,
    size: Ints,
    is_flagged: Bools,
    rates: Floats,
    beyond: ArrayLike,
    *,
    labeled: Ints | None = None,
) -> Floats:
    r"""Make rates beyond the limit, where the metric goes wrong, ``(..., alternatives, H)``.

    The odds of a wrong answer grow by one factor in all strata that move. With b the share of wrong
    answers at the guess (:math:`1-g` in flagged and g in passed strata),

    .. math:: b_h(f) = \frac{f b_h}{1 - b_h + f b_h}, \qquad B(f) = \sum_h |c_h|\,b_h(f),

    :math:`B(f_L) = B_L` puts the metric exactly at the limit, and the alternatives have
    :math:`B = B_L(1+r)`, or :math:`B_L/(1+r)` where the metric goes wrong as B falls. Precision and
    specificity move the flagged strata only, recall and NPV the passed ones; prevalence moves the
    odds of a positive in both. Where a class has one stratum this is a factor on its wrong answers.

    Odds have no end, so strata that look pure and strata that do not reach any limit together. A
    factor on the shares themselves has to stop at 1 in the latter first, and then leaves rates that
    keep the limit or that one right answer refutes. ``B`` stops where all shares are ``CAP``: an
    alternative keeps the limit only where even those do (see :func:`check_testable`).

    Parameters
    ----------
    limit, size, is_flagged
        As for ``half_space.half_space``.
    rates
        The guess g, shape ``(..., H)``, each strictly between 0 and 1.
    beyond
        r of each alternative, shape ``(alternatives,)`` or one row per guess, shape
        ``(..., alternatives)``; 0 is exactly at the limit. See :func:`steps`.
    labeled
        Labels in each stratum, shape ``(H,)``. A stratum without any is supposed at its best for
        the limit, as it is in ``half_space.project``: no label could refute that. Without it all
        strata have labels.

    Raises LimitCannotBeTested if the window lacks a predicted class that the metric needs.

    Examples
    --------
    >>> limit = Limit("precision", 0.8, "at_least")
    >>> sizes, is_flagged = np.array([100, 900]), np.array([True, False])
    >>> rows = alternatives(limit, sizes, is_flagged, np.array([0.9, 0.01]), (0.15, 1.0))
    >>> print(rows[:, 0].round(3))
    [0.77 0.6 ]
    """
    wrong = _WrongAnswers.of(limit, size, is_flagged, rates, labeled)
    scale = 1 + np.asarray(beyond, dtype=np.float64)
    at_limit = wrong.at_limit[..., np.newaxis]
    target = at_limit * scale if wrong.grow else at_limit / scale
    guessed, most = ((b @ wrong.weight)[..., np.newaxis] for b in (wrong.share, wrong.worst))
    target = np.where(at_limit > 0, np.minimum(target, most), guessed)
    shares = _with_odds_moved(wrong.share[..., np.newaxis, :], wrong.weight, target)
    return np.asarray(wrong.base[..., np.newaxis, :] + wrong.sign[..., np.newaxis, :] * shares)


def scaled_to_limit(limit: Limit, size: Ints, is_flagged: Bools, rates: Floats) -> Floats:
    """Scale the wrong answers by one factor, each up to ``CAP``, until the metric is at the limit.

    Rates of shape ``(H,)``; all that move are at ``CAP`` if even those keep the limit. Raises as
    :func:`alternatives` does.
    """
    wrong = _WrongAnswers.of(limit, size, is_flagged, rates, None)
    capped = np.zeros(wrong.share.shape, dtype=np.bool_)
    while True:
        room = float(wrong.at_limit) - CAP * float(wrong.weight[capped].sum())
        free = float(wrong.share[~capped] @ wrong.weight[~capped])
        factor = room / free if free > 0 else 0.0
        over = ~capped & (factor * wrong.share > CAP)
        if not over.any():
            result = np.where(capped, CAP, factor * wrong.share)
            return np.asarray(wrong.base + wrong.sign * result)
        capped |= over


def steps(
    limit: Limit,
    size: Ints,
    is_flagged: Bools,
    rates: Floats,
    labeled: Ints,
    errors: Sequence[float] = ERRORS,
) -> Floats:
    r"""How far beyond the limit to look with these labels: ``ERRORS`` standard errors.

    With the rates p of :func:`alternatives` at the limit, and its :math:`B_L`,

    .. math:: r = z\,\frac{\sqrt{\sum_h c_h^2 p_h (1-p_h)/n_h}}{B_L}

    over the labeled strata, 0 or more, one per entry z of ``errors``, shape ``(...,
    alternatives)``: the alternative then misses the limit by z standard errors of one round's
    estimate of :math:`c\cdot\pi`. Parameters and errors are as for :func:`alternatives`.

    Examples
    --------
    >>> limit = Limit("precision", 0.8, "at_least")
    >>> sizes, is_flagged = np.array([100, 900]), np.array([True, False])
    >>> guess, labeled = np.array([0.9, 0.01]), np.array([64, 0])
    >>> print(steps(limit, sizes, is_flagged, guess, labeled))  # .05 is one standard error
    [0.1875 0.375  0.75  ]
    """
    about, c = (limit, size, is_flagged, rates), half_space(limit, size, is_flagged).c
    p = alternatives(*about, beyond=(0.0,), labeled=labeled)[..., 0, :]
    seen = labeled > 0
    variance = np.asarray((p * (1 - p))[..., seen] @ (c[seen] ** 2 / labeled[seen]))
    at_limit = np.asarray(_WrongAnswers.of(*about, labeled).at_limit)
    error = np.divide(np.sqrt(variance), at_limit, out=np.zeros_like(variance), where=at_limit > 0)
    return np.asarray(error[..., np.newaxis] * np.array(errors))


def check_testable(
    limit: Limit, size: Ints, is_flagged: Bools, rates: Floats | None = None
) -> None:
    """Refuse a limit that no labels could count against in a window of these sizes.

    For set-up and for reports; a round in service uses :func:`log_e_factor`, which calls such a
    round uninformative instead. Raises LimitCannotBeTested if the window lacks a predicted class
    that the metric needs or, with the guess ``rates``, ``(H,)``, if the metric keeps the limit even
    where ``CAP`` of all answers that the limit is about are wrong.
    """
    space = half_space(limit, size, is_flagged)
    if rates is None:
        return
    wrong = _WrongAnswers.of(limit, size, is_flagged, rates, None)
    if not wrong.grow:
        return  # no wrong answers at all are always beyond such a limit
    worst = wrong.base + wrong.sign * wrong.worst
    if bool(space.contains(worst)):
        still = metric_at(metric(limit.metric), size, is_flagged, worst)
        flagged, passed = int(size[is_flagged].sum()), int(size[~is_flagged].sum())
        message = (
            f"{limit} cannot be tested in a window of {flagged} flagged and {passed} passed items: "
            f"with {_worst_answers(limit)} {limit.metric} would still be {still:.3g}; move the "
            "limit closer to the level you expect"
        )
        raise LimitCannotBeTested(message)


@dataclass(frozen=True, slots=True, eq=False)
class _WrongAnswers:
    r"""A guess seen from a limit: :math:`\pi = \mathrm{base} + \mathrm{sign}\,b`.

    ``share`` is b at the guess, 0 in strata that stay where they are, and ``weight`` is
    :math:`|c|`. ``at_limit`` is :math:`B_L`, 0 or less where even no wrong answer at all reaches
    the limit. ``grow`` is whether the metric goes wrong as wrong answers grow, not as they become
    fewer. For prevalence the positives take their place.
    """

    base: Floats
    sign: Floats
    share: Floats
    weight: Floats
    at_limit: Floats
    grow: bool

    @classmethod
    def of(
        cls, limit: Limit, size: Ints, is_flagged: Bools, rates: Floats, labeled: Ints | None
    ) -> _WrongAnswers:
        space, direct = half_space(limit, size, is_flagged), limit.direct()
        base, slope = _line(direct.metric, is_flagged, rates)
        if labeled is not None:
            is_fixed = (labeled == 0) & (space.c != 0)
            base = np.where(is_fixed, space.c > 0, base)
            slope = np.where(is_fixed, 0.0, slope)
        grow = (direct.side == "at_least") != (direct.metric == "prevalence")
        room = base @ space.c - space.d
        return cls(
            base=base,
            sign=np.sign(slope),
            share=np.abs(slope),
            weight=np.abs(space.c),
            at_limit=np.asarray(room if grow else -room),
            grow=grow,
        )

    @property
    def worst(self) -> Floats:
        """``CAP`` in all strata that move."""
        return np.where(self.share > 0, np.maximum(self.share, CAP), 0.0)


def _with_odds_moved(share: Floats, weight: Floats, target: Floats) -> Floats:
    """Multiply the odds of shares by one factor until their weighted sum is as wanted.

    By Newton's method in the log of the factor, with a bracket for each sum. Shares have the shape
    ``(..., 1, H)``, and 0 stays 0; weights ``(H,)``; targets ``(..., sums)``, each between 0 and
    the sum of the weights of shares above 0.
    """
    moved = np.where(share > 0, weight, 0.0)
    logit, total = special.logit(share), (share * moved).sum(axis=-1)
    low, high = np.full(target.shape, -_FAR), np.full(target.shape, _FAR)
    with np.errstate(divide="ignore", invalid="ignore"):
        start = np.log(target / total)  # the root, as far as all shares are small
    by = np.clip(np.nan_to_num(start), -_FAR, _FAR)
    for _ in range(_STEPS):
        shares = special.expit(logit + by[..., np.newaxis])
        excess = (shares * moved).sum(axis=-1) - target
        if (np.abs(excess) <= _CLOSE * target).all():
            break
        low, high = np.where(excess < 0, by, low), np.where(excess > 0, by, high)
        slope = (shares * (1 - shares) * moved).sum(axis=-1)
        step = by - np.divide(excess, slope, out=np.zeros_like(excess), where=slope > 0)
        by = np.where((step > low) & (step < high), step, (low + high) / 2)
    return np.asarray(shares)


def _line(metric: str, is_flagged: Bools, rates: Floats) -> tuple[Floats, Floats]:
    """Rates as base + f slope, shapes ``(H,)``; strata that stay at the guess have slope 0."""
    if metric == "prevalence":
        return np.zeros_like(rates), rates
    flagged, passed = _SCALED_CLASSES[family(metric)]
    is_scaled = np.where(is_flagged, flagged, passed)
    base = np.where(is_scaled, np.where(is_flagged, 1.0, 0.0), rates)
    slope = np.where(is_scaled, np.where(is_flagged, rates - 1, rates), 0.0)
    return base, slope


def _worst_answers(limit: Limit) -> str:
    """Name the answers that :func:`check_testable` supposes."""
    name = limit.direct().metric
    if name == "prevalence":
        return f"{CAP:.1%} of all items positive"
    flagged, passed = _SCALED_CLASSES[family(name)]
    items = "all" if flagged and passed else "the flagged" if flagged else "the passed"
    return f"{CAP:.1%} of {items} items classified wrongly"


def metric_at(chosen: Metric, size: Ints, is_flagged: Bools, rates: Floats) -> float:
    """Compute a metric at rates of shape ``(H,)``; NaN if it is undefined."""
    positive = size * rates
    negative, up = size - positive, is_flagged
    cells = positive[up].sum(), negative[up].sum(), positive[~up].sum(), negative[~up].sum()
    return float(chosen(Matrix(*cells)))
