"""How many items of each stratum a round labels."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.model import Frame
from monitor.domain.settings import RoundSettings
from monitor.rounds.sampling.prior_rates import cells_of, prior_rates_of
from monitor.stats.design.allocation import Allocation, allocate
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect

if TYPE_CHECKING:
    from numpy.typing import NDArray


def plan_labels(
    frame: Frame, prior_rates: PriorRates | None, settings: RoundSettings, seed: str
) -> Allocation:
    """Plan a round within its margins and budget.

    Without ``prior_rates`` the launch matrix steers the plan, else the scores, given the verdicts
    of a judge, else nothing.
    """
    return allocate(
        prospect_of(frame, prior_rates, settings, seed),
        margins=settings.sample.margin.wanted() or None,
        max_labels=settings.sample.budget,
        assurance=settings.sample.assurance,
    )


def prospect_of(
    frame: Frame, prior_rates: PriorRates | None, settings: RoundSettings, seed: str
) -> Prospect:
    """Return the window as a round will sample it; prior_rates as for `plan_labels`."""
    is_flagged, cost = [part.stratum.flagged for part in frame.strata], settings.sample.cost
    size = [part.size for part in frame.strata]
    return Prospect.of(
        size,
        is_flagged,
        prior_rates_of(frame, prior_rates, settings),
        cost=[cost.flagged if flagged else cost.passed for flagged in is_flagged],
        share_by_size=settings.sample.share_by_size,
        uniform=uniform_of(settings, seed),
        is_free=free_strata(is_flagged, settings),
        most=[part.available for part in frame.strata]
        if any(part.has_fewer for part in frame.strata)
        else None,
        cell=cells_of(frame),
    )


def free_strata(
    is_flagged: Sequence[bool] | NDArray[np.bool_], settings: RoundSettings
) -> NDArray[np.bool_] | None:
    """Return the strata whose labels are all counted; None if there are none."""
    is_free = np.isin(np.asarray(is_flagged, dtype=np.bool_), list(settings.counted_whole))
    return is_free if is_free.any() else None


_BITS = 52  # of a float's fraction


def uniform_of(settings: RoundSettings, seed: str) -> float | None:
    """Return the uniform number by which a plan over cells is rounded; None with bands."""
    if settings.sample.cells is None:
        return None
    digest = hashlib.sha256(f"{seed}/cells/1".encode()).digest()
    return math.ldexp(int.from_bytes(digest[:8]) >> (64 - _BITS), -_BITS)
