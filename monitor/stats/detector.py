r"""Alerts with a promised false-alarm rate: a mixture Shiryaev-Roberts e-detector.

Each round multiplies in an e-value: the likelihood ratio of an alternative beyond the limit against
its projection x onto the rates that keep the limit, :math:`c\cdot\pi \ge d`. At x,
:math:`n_h (\mathrm{alt}_h - x_h) / (x_h (1 - x_h)) = -\lambda c_h` with :math:`\lambda \ge 0`, so

.. math:: \ln E_\pi[e] = \sum_h n_h \ln\Big(1 + \frac{(\pi_h - x_h)(\mathrm{alt}_h - x_h)}
    {x_h (1 - x_h)}\Big) \le -\lambda\, c\cdot(\pi - x) \le 0

for *every* :math:`\pi` that keeps the limit, whatever the guess. Then :math:`M_t` of the first t
rounds has mean at most t, and fired at N it gives at most T/N false alarms in T rounds.

Sources: reverse information projection, Grünwald, de Heide & Koolen 2024
(doi:10.1093/jrsssb/qkae011); Shiryaev-Roberts e-detectors and their mixtures, Shin, Ramdas &
Rinaldo (https://nejsds.nestat.org/journal/NEJSDS/article/59); labels drawn without replacement,
Hoeffding 1963 (doi:10.1080/01621459.1963.10500830, Theorem 4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import optimize

from monitor.stats.half_space import HalfSpace, Limit, LimitCannotBeTested, half_space
from monitor.stats.mixture import prior_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from monitor.stats.counts import Counts

    Floats: TypeAlias = NDArray[np.float64]

BEYOND = (0.15, 0.3, 0.6, 1.0)
"""How far beyond the limit each alternative lies, as a share of the rates at the limit."""

CAP = 0.999
"""Largest rate of wrong answers that an alternative supposes."""

_SCALED_CLASSES = {
    "precision": (True, False),
    "specificity": (True, False),
    "recall": (False, True),
    "npv": (False, True),
    "accuracy": (True, True),
    "f_beta": (True, True),
}
_DOUBLINGS = 200


def guess(
    rounds: Sequence[Counts], reference: Counts | None = None, decay: float = 0.8
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
    >>> from monitor.stats.counts import Counts
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
    layout = known[0].is_flagged
    positive, labeled = np.zeros(layout.size), np.zeros(layout.size)
    for counts in known:
        if not np.array_equal(counts.is_flagged, layout):
            message = "all rounds and the reference need the same strata; found another layout"
            raise ValueError(message)
        positive = decay * positive + counts.positive
        labeled = decay * labeled + counts.labeled
    flagged, passed = len(known[0].flagged), len(known[0].passed)
    prior = np.where(layout, prior_count(flagged), prior_count(passed))
    return np.asarray((prior + positive) / (2 * prior + labeled))


def alternatives(
    limit: Limit,
    size: NDArray[np.int64],
    is_flagged: NDArray[np.bool_],
    rates: Floats,
) -> Floats:
    r"""Four sets of rates beyond the limit, in the direction in which the metric goes wrong.

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
        The guess g, shape ``(H,)``, each strictly between 0 and 1.

    Returns
    -------
    Rates of shape ``(4, H)``, one row per entry of ``BEYOND``.

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
    towards = float(space.c @ slope)
    at_limit = (space.d - float(space.c @ base)) / towards
    beyond = 1 + np.array(BEYOND)
    f = at_limit * beyond if towards < 0 else at_limit / beyond
    moved = np.minimum(f[:, np.newaxis] * np.abs(slope), CAP)
    rows: Floats = base + np.sign(slope) * moved
    return rows


def check_testable(
    limit: Limit,
    size: NDArray[np.int64],
    is_flagged: NDArray[np.bool_],
    rates: Floats | None = None,
) -> None:
    """Refuse a limit that no labels could speak against in a window of these sizes.

    For set-up and for reports; a round in service uses :func:`log_e_factor`, which calls such a
    round uninformative instead.

    Raises
    ------
    LimitCannotBeTested
        If the window lacks a predicted class that the metric needs or, with the guess ``rates``
        given, if even the furthest alternative keeps the limit once its rates stop at ``CAP``.
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


def project(space: HalfSpace, alternative: Floats, labeled: NDArray[np.int64]) -> Floats:
    r"""Rates within the limit that the labels tell apart from the alternative least.

    .. math:: x = \arg\min_{c\cdot x \ge d} \sum_h n_h\,\mathrm{KL}(\mathrm{alt}_h \| x_h)

    with multiplier :math:`\lambda` solved from :math:`c\cdot x = d`, and :math:`q = \lambda c_h`:

    .. math:: x_h = \frac{2 n_h \mathrm{alt}_h}{n_h - q + s}
        = \frac{q - n_h + s}{2q}, \quad s = \sqrt{(n_h - q)^2 + 4 q n_h \mathrm{alt}_h}.

    A stratum without labels sits at its best value: 1 where c > 0, 0 where c < 0.

    Parameters
    ----------
    space
        Rates that keep the limit; some rates in :math:`[0,1]^H` must lie strictly inside.
    alternative
        Rates of shape ``(H,)``, strictly between 0 and 1.
    labeled
        Labels really given in each stratum, shape ``(H,)``: the e-value has mean 1 only with these.

    Returns
    -------
    x of shape ``(H,)``: the alternative itself in labeled strata where that keeps the limit.

    Raises
    ------
    LimitCannotBeTested
        If no rates lie strictly inside the half-space.
    """
    scale = float(np.abs(space.c).max())
    c, d = space.c / scale, space.d / scale
    x = np.where(c > 0, 1.0, np.where(c < 0, 0.0, alternative))
    seen = labeled > 0
    n, alt, c_seen = labeled[seen].astype(np.float64), alternative[seen], c[seen]
    missing = d - float(c[~seen] @ x[~seen])

    def excess(multiplier: float) -> float:
        return float(c_seen @ _tilted(alt, n, multiplier * c_seen)) - missing

    multiplier = _root(excess, start=float(n.max(initial=1.0)))
    x[seen] = _tilted(alt, n, multiplier * c_seen)
    return x


def log_e_factor(limit: Limit, counts: Counts, rates: Floats | None) -> Floats:
    r"""Evidence of one round against a limit: log e for each alternative.

    .. math:: \log e_r = \sum_h y_h\log\frac{\mathrm{alt}_{rh}}{x_{rh}}
        + (n_h-y_h)\log\frac{1-\mathrm{alt}_{rh}}{1-x_{rh}}

    :math:`E[e_r] \le 1` for all rates that keep the limit, if the numbers of labels do not depend
    on the round's own answers. Labels added in blocks of fixed size multiply: add their log e.

    Uninformative is e = 1, not an error, since a service calls this every round: without a guess,
    in a window where the metric is undefined or constant, when no stratum that matters was
    labeled, and for an alternative that keeps the limit.

    Parameters
    ----------
    limit
        The limit watched.
    counts
        The round's strata, labels and answers.
    rates
        The :func:`guess` made before the round, shape ``(H,)``, or None.

    Returns
    -------
    log e of shape ``(4,)``, one per entry of ``BEYOND``; 0.0 where uninformative.

    Raises
    ------
    ValueError
        If ``rates`` has another shape than the strata, or a rate is not strictly within (0, 1).

    Examples
    --------
    >>> from monitor.stats.counts import Counts
    >>> limit = Limit("precision", 0.8, "at_least")
    >>> poor = Counts.of_matrix(tp=60, fp=40, fn=0, tn=0, flagged_size=160, passed_size=4840)
    >>> print(log_e_factor(limit, poor, np.array([0.86, 0.02])).round(2))
    [ 3.3   5.82  9.05 10.46]
    """
    nothing = np.zeros(len(BEYOND))
    if rates is None:
        return nothing
    _check_rates(rates, counts)
    try:
        space = half_space(limit, counts.size, counts.is_flagged)
        if not np.any(space.c[counts.labeled > 0]):
            return nothing
        rows = alternatives(limit, counts.size, counts.is_flagged, rates)
        return np.array([_log_e(space, row, counts) for row in rows])
    except LimitCannotBeTested:  # in this week's window
        return nothing


def update(log_m: ArrayLike, log_e: ArrayLike) -> Floats:
    r"""One Shiryaev-Roberts step, :math:`M \leftarrow (M + 1)\,e`, in logs.

    Examples
    --------
    >>> print(update([-np.inf, 0.0], [0.0, 0.0]).round(4))
    [0.     0.6931]
    """
    return np.asarray(np.logaddexp(log_m, 0.0) + np.asarray(log_e, dtype=np.float64))


def log_threshold(every: float, watched: int) -> float:
    """Log of the evidence at which to fire, log(N m).

    Parameters
    ----------
    every
        The promise N: at most one false alarm per N rounds, over all that is watched.
    watched
        Metrics m of the monitor under a limit; two sides of one metric count twice.

    Examples
    --------
    >>> round(log_threshold(52, 2), 4)
    4.6444
    """
    if not (every >= 1 and math.isfinite(every)):
        message = f"a false alarm every {every!r} rounds cannot be promised; give 1 or more"
        raise ValueError(message)
    if watched < 1:
        message = f"at least one limit must be watched, got {watched!r}"
        raise ValueError(message)
    return math.log(every * watched)


@dataclass(frozen=True, slots=True)
class Evidence:
    r"""Running evidence against one limit: log M of each alternative.

    :math:`M = \frac14 \sum_r M_r` is compared with the threshold. The rounds' log e, which are
    finite, are what to store; :meth:`replay` makes the evidence from them.

    Every step adds 1 to M before the factor, so a step with e = 1 is a step all the same: leave
    out rounds that were skipped or abandoned, and, from a firing until its alert resolves, all.

    Examples
    --------
    >>> evidence = Evidence().after([0.1, 0.2, 0.4, 0.3]).after([1.0, 2.0, 3.0, 4.0])
    >>> round(evidence.log_mean, 3), evidence.fires(log_threshold(52, 1))
    (3.914, False)
    """

    log_m: tuple[float, ...] = (-math.inf,) * len(BEYOND)

    def __post_init__(self) -> None:
        if len(self.log_m) != len(BEYOND) or any(math.isnan(value) for value in self.log_m):
            message = f"evidence has {len(BEYOND)} numbers, one per alternative; got {self.log_m}"
            raise ValueError(message)

    @classmethod
    def replay(cls, log_e: Iterable[ArrayLike]) -> Evidence:
        """Evidence after rounds with these log e, shape ``(4,)`` each, in slot order."""
        evidence = cls()
        for row in log_e:
            evidence = evidence.after(row)
        return evidence

    @property
    def log_mean(self) -> float:
        """Log of M, the mean over the alternatives."""
        return float(np.logaddexp.reduce(np.array(self.log_m))) - math.log(len(self.log_m))

    def after(self, log_e: ArrayLike) -> Evidence:
        """Evidence after one more round with this log e, shape ``(4,)``."""
        return Evidence(tuple(update(self.log_m, log_e).tolist()))

    def fires(self, threshold: float) -> bool:
        """Whether log M has reached :func:`log_threshold`."""
        return self.log_mean >= threshold


def _line(metric: str, is_flagged: NDArray[np.bool_], rates: Floats) -> tuple[Floats, Floats]:
    """Rates as base + f slope, shapes ``(H,)``; strata that stay at the guess have slope 0."""
    if metric == "prevalence":
        return np.zeros_like(rates), rates
    flagged, passed = _SCALED_CLASSES[metric]
    is_scaled = np.where(is_flagged, flagged, passed)
    base = np.where(is_scaled, np.where(is_flagged, 1.0, 0.0), rates)
    slope = np.where(is_scaled, np.where(is_flagged, rates - 1, rates), 0.0)
    return base, slope


def _tilted(alternative: Floats, n: Floats, q: Floats) -> Floats:
    """Stationary x of n KL(alternative || x) - q x for n > 0, without cancellation for any q."""
    far = np.where(q >= 0, alternative, 1 - alternative)
    s = np.sqrt((n - np.abs(q)) ** 2 + 4 * np.abs(q) * n * far)
    top = np.where(q > n, (q - n) + s, 2 * n * alternative)
    bottom = np.where(q > n, 2 * q, (n - q) + s)
    return np.asarray(top / bottom)


def _root(excess: Callable[[float], float], start: float) -> float:
    """Zero of an increasing function on [0, inf); 0 if it is not negative there."""
    if excess(0.0) >= 0:
        return 0.0
    high = start
    for _ in range(_DOUBLINGS):
        if excess(high) >= 0:
            return float(optimize.brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-15))
        high *= 2
    message = "no rates lie strictly within the limit, so there is nothing to test against"
    raise LimitCannotBeTested(message)


def _log_e(space: HalfSpace, alternative: Floats, counts: Counts) -> float:
    if bool(space.contains(alternative)):
        return 0.0
    seen = counts.labeled > 0
    x = _inside(project(space, alternative, counts.labeled)[seen])
    alt = _inside(alternative[seen])
    y, n = counts.positive[seen], counts.labeled[seen]
    return float(y @ np.log(alt / x) + (n - y) @ (np.log1p(-alt) - np.log1p(-x)))


def _inside(rates: Floats) -> Floats:
    """Rates that rounding put on 0 or 1, moved back to the nearest float between."""
    return np.clip(rates, np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).epsneg)


def _check_rates(rates: Floats, counts: Counts) -> None:
    if rates.shape != counts.size.shape:
        message = f"the guess has shape {rates.shape}, the round {counts.size.shape}"
        raise ValueError(message)
    if not np.all((rates > 0) & (rates < 1)):
        message = f"a guess lies strictly between 0 and 1 in each stratum, got {rates.tolist()}"
        raise ValueError(message)
