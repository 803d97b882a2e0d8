r"""The first round of a history in two waves, whose total is fixed before either.

Before it nobody knows what the score is worth, so its plan trusts the score little and spends
labels where a good score needs none. Wave 1 is a share of that plan. Its answers show how the rates
run along the score, and wave 2 brings each stratum to a mean of two numbers of labels: the optimum
by what wave 1 found, and the plan, which counts the more the less there was to learn from. Nothing
is stopped: all labels of the plan are spent.

**Each stratum's second size comes from a fit without its own first answers**
(``rates_without_own``). Otherwise y/n over both waves would be biased: given wave 1 the second
answers are not, so that

.. math:: E[y/n] - \pi_h = \mathrm{Cov}\big(n_{1h}/n_h,\ y_{1h}/n_{1h}\big)

which is negative where few positives at first mean few labels afterwards. What remains of it comes
by way of the fixed total, which ties the sizes together.

With rates :math:`\pi` the optimum is Neyman's within each predicted class c,
:math:`n_h = \phi_c s_h/S_c` with :math:`s_h = N_h\sqrt{\pi_h(1-\pi_h)}` and :math:`S_c` their sum.
Both variances then depend on the flagged class's share :math:`\phi` of the labels alone: with the
margins m as units, precision's is :math:`A/\phi` and recall's :math:`B/\phi + C/(1-\phi)`,

.. math:: A = \Big(\frac{S_+}{N_+ m_P}\Big)^2,\quad B = \Big(\frac{(1-R)S_+}{(TP+FN)\,m_R}\Big)^2,
    \quad C = \Big(\frac{R\,S_-}{(TP+FN)\,m_R}\Big)^2

and the larger of the two is least at :math:`\sqrt B/(\sqrt B + \sqrt C)`, the optimum of recall, or
where both are equal, :math:`(A-B)/(A-B+C)`, if that is more, and at most 1 - ``LEAST_PASSED``: wave
1 may have hardly seen what is missed. As in ``neyman``, a stratum that looks
pure needs more than that, for its few labels never show it: the prior count a of the estimate adds
:math:`2\kappa a/n_h` to :math:`\pi_h(1-\pi_h)`, which is what the last label takes off
:math:`\kappa a/n_h^2`. Score cells have no prior count and need no more. Both of their
waves become whole as their plan does, by systematic rounding (``cell_sizes``): rounded up, wave 1
of 60 cells with a few labels each would be more than half of the plan.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from monitor.stats.core.beta_mixture import prior_count
from monitor.stats.design.allocation import DEFAULT_MARGIN, LEAST_PASSED
from monitor.stats.design.cell_sizes import CELL_FLOOR, systematic_sizes
from monitor.stats.design.logit_fit import SLOPE_PRECISION, fitted_log_odds
from monitor.stats.design.neyman import FLOOR, PRIOR_PART, prior_counts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from monitor.stats.core.arrays import Bools, Floats, Ints


FIT_WORTH = 10.0
"""Labels that the line is worth beside a band's own answers, where these may count."""


def rates_without_own(
    position: Floats,
    is_flagged: Bools,
    labeled: Floats,
    positive: Floats,
    terms: Floats | None = None,
) -> Floats:
    r"""Rates of all bands as each band would see them without its own answers.

    One line for all bands of a round, with an intercept for each predicted class,

    .. math:: \mathrm{logit}\,\pi_h = a_{c(h)} + b z_h

    z the bands' positions, centred in their class and scaled to a standard deviation of 1. It is
    fitted by penalised maximum likelihood: half a count of each answer is shared out over the bands
    of a class, so that no intercept is infinite, and b has a normal prior of mean 0. That prior is
    weak: a few answers tilt the line, up or down.

    Row h of the result, shape ``(..., H, H)`` and strictly between 0 and 1, leaves out the answers
    of band h. There band h has its rate from the line; every other band k has :math:`(y_k + w
    p_k)/(n_k + w)`, its answers and the line's :math:`p_k` at the worth of w = ``FIT_WORTH``
    labels.

    ``position`` is where each band lies along the score, ``(H,)``; NaN is the middle of its class,
    of which each has two bands or more. Answers have the shape ``(..., H)``: of one round, or of
    many at once. ``terms``, such as a judge's verdict, are added to the line, ``(H, Q)``, as of
    ``recalibration.Cut``.
    """
    bands = len(position)
    out = ~np.eye(bands, dtype=np.bool_)
    x = _regressors(position, is_flagged)
    if terms is not None:
        x = np.column_stack([x, terms])
    line = _line(x, is_flagged, labeled, positive, out)
    n, y = labeled[..., np.newaxis, :], positive[..., np.newaxis, :]
    return np.asarray(np.where(out, (y + FIT_WORTH * line) / (n + FIT_WORTH), line))


def _line(x: Floats, is_flagged: Bools, labeled: Floats, positive: Floats, used: Bools) -> Floats:
    """Fit the line once for each row of ``used``; shape ``(..., rows, H)``."""
    classes = (is_flagged, ~is_flagged)
    half = np.where(is_flagged, *(prior_count(int(members.sum())) for members in classes))
    n = used * (labeled + 2 * half)[..., np.newaxis, :]
    y = used * (positive + half)[..., np.newaxis, :]
    at = np.zeros((*y.shape[:-1], x.shape[1]))
    for i, members in enumerate(classes):
        at[..., i] = special.logit(y[..., members].sum(-1) / n[..., members].sum(-1))
    penalty = np.array([0.0, 0.0, *[SLOPE_PRECISION] * (x.shape[1] - 2)])
    return np.asarray(special.expit(fitted_log_odds(x, n, y, at, penalty)))


def _regressors(position: Floats, is_flagged: Bools) -> Floats:
    """One column for each class, and the positions centred in their class, scaled together."""
    z = np.zeros(len(position))
    for members in (is_flagged, ~is_flagged):
        existing = members & ~np.isnan(position)
        if existing.any():
            z[existing] = position[existing] - position[existing].mean()
    spread = float(z.std())
    return np.stack([is_flagged, ~is_flagged, z / spread if spread > 0 else z], axis=1)


FIRST_SHARE = 0.4
"""Share of the plan that wave 1 labels."""

LEARNED_SHARE = 0.8
"""Weight of the optimum by wave 1 in the round's labels, however much wave 1 found; the rest is the
plan's, for strata whose rate the line misses, such as misses far from the threshold."""

RARER_ANSWERS = 2.0
"""So many of the rarer answer of a class in wave 1 halve that weight. In a class with hardly any
positives a heavy band may look pure by chance; were its labels given away, recall would hang on
fewer positives than in one wave."""

METRICS = ("precision", "recall")

_FEWEST = 2  # strata of a class: one has no others from which its rate could be learned
_LARGEST = 1 / (1 - LEARNED_SHARE)  # factor at which every target is its stratum's plan or more
_ROUNDS = 4  # of the doubt, which hangs on the labels that it moves
_HALVINGS = 60
_NOISE = 1e-6  # a number this little under a whole one means that one


def first_wave(plan: ArrayLike, uniform: float | None = None) -> Ints:
    """Labels of wave 1: ``FIRST_SHARE`` of each stratum's plan, whole.

    Bands are rounded up; score cells by ``uniform``, u of the round in [0, 1).
    """
    share = FIRST_SHARE * np.asarray(plan, dtype=np.int64)
    if uniform is not None:
        return systematic_sizes(share, uniform)
    return np.asarray(np.ceil(share - 1e-9), dtype=np.int64)


def second_wave(
    sizes: ArrayLike,
    is_flagged: ArrayLike,
    position: ArrayLike,
    *,
    plan: ArrayLike,
    first: ArrayLike,
    labeled: ArrayLike,
    positive: ArrayLike,
    margins: Mapping[str, float] | None = None,
    uniform: ArrayLike | None = None,
    terms: ArrayLike | None = None,
    most: ArrayLike | None = None,
) -> Ints:
    """Labels of wave 2 in each stratum, all that the plan had and wave 1 left.

    Whole numbers of shape ``(..., H)``, 0 or more, that sum to ``plan`` less ``first``, the labels
    of the whole round by its prior and of wave 1, ``(H,)``. A class with one stratum has no other
    answers to go by; the rest of the plan is then wave 2.

    Parameters
    ----------
    position
        Where each stratum lies along the score, shape ``(H,)``, on a scale on which log odds are
        about a line: the log odds of its mean score, or its place 0, 1, ... where scores are no
        probabilities. NaN without a score.
    labeled, positive
        Answers of wave 1, shape ``(..., H)``; ``labeled`` is less than ``first`` where some are
        missing.
    margins
        As for ``allocation.allocate``; only their ratio matters. Default: equal ones.
    uniform
        u of the wave, in [0, 1), where strata are score cells, another than that of wave 1; one for
        each of many rounds, shape ``(...)``.
    terms
        What the log odds depend on besides, shape ``(H, Q)`` (``recalibration.Cut``).

    A ValueError if shapes disagree, not ``positive <= labeled <= first <= plan <= sizes``, a margin
    is for something else than precision and recall or not positive, or u is not in [0, 1).
    """
    size, up = np.asarray(sizes, dtype=np.int64), np.asarray(is_flagged, dtype=np.bool_)
    location, whole = np.asarray(position, dtype=np.float64), np.asarray(plan, dtype=np.int64)
    before = np.asarray(first, dtype=np.int64)
    n, y = np.asarray(labeled, dtype=np.float64), np.asarray(positive, dtype=np.float64)
    arrays = {"position": location, "plan": whole, "first": before, "labeled": n, "positive": y}
    _check(size, up, arrays)
    expected = dict.fromkeys(METRICS, DEFAULT_MARGIN) if margins is None else margins
    _check_margins(expected)
    u = None if uniform is None else _checked(np.asarray(uniform, dtype=np.float64))
    there = size > 0
    more = np.broadcast_to(whole - before, y.shape).copy()
    if min(int((there & members).sum()) for members in (up, ~up)) < _FEWEST:
        return more
    others = None if terms is None else np.asarray(terms, dtype=np.float64)[there]
    rates = rates_without_own(location[there], up[there], n[..., there], y[..., there], others)
    more[..., there] = towards_optimum(
        size[there],
        up[there],
        rates,
        _learned(up[there], n[..., there], y[..., there]),
        plan=whole[there],
        first=before[there],
        margins=expected,
        uniform=u,
        most=size[there] if most is None else np.asarray(most, dtype=np.int64)[there],
    )
    return more


def towards_optimum(
    size: Ints,
    is_flagged: Bools,
    rates: Floats,
    learned: Floats,
    *,
    plan: Ints,
    first: Ints,
    margins: Mapping[str, float],
    uniform: Floats | None = None,
    most: Ints | None = None,
) -> Ints:
    """Spend what wave 1 left of a plan so that it comes near the optimum by these rates.

    Row h of ``rates``, shape ``(..., H, H)``, are those that decide the labels of stratum h, and
    ``learned``, shape ``(..., H)``, the weight of the optimum there; the rest is the plan's. Others
    as for :func:`second_wave`; no stratum is empty.
    """
    items, total = size.astype(np.float64), int(plan.sum())
    prior = prior_counts(size, is_flagged) if uniform is None else np.zeros(len(size))
    doubt = 2 * PRIOR_PART * prior  # what it adds to a label's variance, times the labels
    expected = np.broadcast_to(plan.astype(np.float64), rates.shape)
    weight = learned[..., np.newaxis]
    for _ in range(_ROUNDS):
        variance = rates * (1 - rates) + doubt / expected
        share = _optimum_shares(items, is_flagged, rates, variance, margins)
        expected = weight * total * share + (1 - weight) * plan
    own = np.diagonal(share, axis1=-2, axis2=-1)
    own = own / own.sum(axis=-1, keepdims=True)
    target = learned * total * own + (1 - learned) * plan
    floor = FLOOR if uniform is None else CELL_FLOOR
    least = np.maximum(first, np.minimum(floor, plan)).astype(np.float64)
    labels = _filled(target, least, items if most is None else most.astype(np.float64), total)
    if uniform is not None:
        return systematic_sizes(labels - first, uniform)
    return np.asarray(_whole_numbers(labels, total) - first)


def _learned(is_flagged: Bools, labeled: Floats, positive: Floats) -> Floats:
    r"""Weigh the optimum by what there is to learn from, for each stratum without its own answers.

    With m the least number of either answer in a class, :math:`.8\,m/(m + 2)`.
    """
    negative = labeled - positive
    fewest = np.min(
        [
            (answers * members).sum(axis=-1, keepdims=True) - answers * members
            for members in (is_flagged, ~is_flagged)
            for answers in (positive, negative)
        ],
        axis=0,
    )
    return np.asarray(LEARNED_SHARE * fewest / (fewest + RARER_ANSWERS))


def _optimum_shares(
    size: Floats, is_flagged: Bools, rates: Floats, variance: Floats, margins: Mapping[str, float]
) -> Floats:
    """Shares of all labels that are best by each row of rates, shape ``(..., H, H)``."""
    up, down = is_flagged, ~is_flagged
    spread, result = size * np.sqrt(variance), size * rates
    of_up, of_down = (spread[..., members].sum(-1, keepdims=True) for members in (up, down))
    tp, positives = result[..., up].sum(-1, keepdims=True), result.sum(-1, keepdims=True)
    per_precision, per_recall = (1 / margins.get(name, np.inf) for name in METRICS)
    flagged = _flagged_share(
        a=of_up / size[up].sum() * per_precision,
        b=(1 - tp / positives) * of_up / positives * per_recall,
        c=tp / positives * of_down / positives * per_recall,
    )
    return np.asarray(spread * np.where(up, flagged / of_up, (1 - flagged) / of_down))


def _flagged_share(a: Floats, b: Floats, c: Floats) -> Floats:
    """Least of the larger of a^2/x and b^2/x + c^2/(1-x), at x from 0 to 1 - LEAST_PASSED."""
    by_recall = np.divide(b, b + c, out=np.zeros_like(b), where=b + c > 0)
    excess = np.maximum(a**2 - b**2, 0.0)
    equal = np.divide(excess, excess + c**2, out=np.zeros_like(b), where=excess + c**2 > 0)
    return np.minimum(np.maximum(by_recall, equal), 1 - LEAST_PASSED)


def _filled(target: Floats, least: Floats, most: Floats, total: int) -> Floats:
    """Scale targets by one factor to a total, no stratum under its least or over its most."""
    low, high = np.zeros((*target.shape[:-1], 1)), np.full((*target.shape[:-1], 1), _LARGEST)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        labels = np.clip(middle * target, least, most)
        too_many = labels.sum(axis=-1, keepdims=True) > total
        low, high = np.where(too_many, low, middle), np.where(too_many, middle, high)
    return np.asarray(np.clip(low * target, least, most))


def _whole_numbers(labels: Floats, total: int) -> Ints:
    """Round down, then give what remains of the total to the largest remainders."""
    whole = np.floor(labels + _NOISE)
    order = np.argsort(whole - labels, axis=-1, kind="stable")
    rank = np.argsort(order, axis=-1, kind="stable")
    remaining = total - whole.sum(axis=-1, keepdims=True)
    return np.asarray((whole + (rank < remaining)).astype(np.int64))


def _check(size: Ints, is_flagged: Bools, fixed: Mapping[str, NDArray[Any]]) -> None:
    shapes = {name: values.shape for name, values in fixed.items()}
    if size.ndim != 1 or any(shape[-1:] != size.shape for shape in shapes.values()):
        message = f"every array must end in the shape of sizes, {size.shape}; got {shapes}"
        raise ValueError(message)
    if is_flagged.shape != size.shape:
        message = f"is_flagged {is_flagged.shape} must have the shape of sizes, {size.shape}"
        raise ValueError(message)
    steps = ("positive", "labeled", "first", "plan", "sizes")
    rising = [np.zeros(1), *(fixed[name] for name in steps[:-1]), size]
    for at, (less, more) in enumerate(pairwise(rising)):
        if not np.all(less <= more):
            names = " <= ".join(("0", *steps))
            message = f"wave 1 needs {names} in every stratum; {steps[at]} is too small somewhere"
            raise ValueError(message)


def _checked(uniform: Floats) -> Floats:
    if not np.all((uniform >= 0) & (uniform < 1)):
        message = f"uniform must lie in [0, 1), got {uniform!r}"
        raise ValueError(message)
    return uniform


def _check_margins(margins: Mapping[str, float]) -> None:
    wrong = {name: margin for name, margin in margins.items() if name not in METRICS or margin <= 0}
    if wrong or not margins:
        message = f"margins are of {' and '.join(METRICS)}, above 0; got {dict(margins)}"
        raise ValueError(message)
