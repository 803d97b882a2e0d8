"""Intervals of other methods for many simulated rounds at once, to set beside the monitor's.

Ends have the shape ``(2, rounds)``, NaN where a method has no value. Shang et al. (AISTATS
2023) Eq. 4 and 5 need one stratum per class. The survey ratio is that of samplics, R's survey
and SAS (`tests/stats/test_independent.py`).
"""

from collections.abc import Callable

import numpy as np
from scipy import special, stats

from benchmarks.fast_rounds import Design
from benchmarks.harness import Flags, Values, Whole

Method = Callable[[Design, Whole], Values | None]


Z = float(special.ndtri(0.975))


def _one_stratum_each(design: Design) -> bool:
    return len(design.size) == 2 and design.rate is not None


def _rates(design: Design, positive: Whole) -> tuple[Values, Values]:
    rate = positive / design.labeled
    return rate[:, 0], rate[:, 1]


def _log_ratio_variance(design: Design, positive: Whole) -> Values:
    one, zero = _rates(design, positive)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(
            (1 - one) / (design.labeled[0] * one) + (1 - zero) / (design.labeled[1] * zero)
        )


def log_ratio(design: Design, positive: Whole) -> Values | None:
    """Recall by Eq. 4 of Shang et al., symmetric in the log of the ratio of the rates."""
    if not _one_stratum_each(design):
        return None
    one, zero = _rates(design, positive)
    spread = Z * np.sqrt(_log_ratio_variance(design, positive))
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = zero * design.size[1] / (one * design.size[0])
        ends = np.array([1 / (1 + odds * np.exp(spread)), 1 / (1 + odds * np.exp(-spread))])
    return _without_value(ends, (one == 0) | (zero == 0))


def delta(design: Design, positive: Whole) -> Values | None:
    """Recall by Eq. 5 of Shang et al., symmetric in recall itself."""
    if not _one_stratum_each(design):
        return None
    one, zero = _rates(design, positive)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = zero * design.size[1] / (one * design.size[0])
        half = Z * odds / (1 + odds) ** 2 * np.sqrt(_log_ratio_variance(design, positive))
        ends = np.array([1 / (1 + odds) - half, 1 / (1 + odds) + half])
    return _without_value(ends, (one == 0) | (zero == 0))


def _without_value(ends: Values, nothing: Flags) -> Values:
    ends[:, nothing] = np.nan
    return ends


def _survey(of_recall: bool) -> Method:
    def ends(design: Design, positive: Whole) -> Values | None:
        if np.any(design.labeled < 2):
            return None
        rate = positive / design.labeled
        total = rate * design.size
        tp = total[:, : design.flagged].sum(axis=1)
        in_base = np.arange(len(design.size)) < design.flagged
        base = total.sum(axis=1) if of_recall else np.full(len(tp), design.size[in_base].sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            value = tp / base
            slope = np.where(in_base, 1 - value[:, None], -value[:, None]) if of_recall else in_base
            per_label = rate * (1 - rate) / (design.labeled - 1) * design.open_items
            variance = np.sum((design.size * slope) ** 2 * per_label, axis=1) / base**2
        freedom = int(design.labeled.sum()) - len(design.size)
        half = stats.t.ppf(0.975, freedom) * np.sqrt(variance)
        return np.array([value - half, value + half])

    return ends


OTHERS: dict[str, tuple[int, Method]] = {
    "survey ratio": (0, _survey(of_recall=False)),
    "log ratio, Shang Eq. 4": (1, log_ratio),
    "delta, Shang Eq. 5": (1, delta),
    "survey ratio ": (1, _survey(of_recall=True)),
}
"""Method by name: which metric it is for (0 precision, 1 recall), and its ends."""
