"""Prior rates as some rounds leave them whose labels are known only by their number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.stats.design.prior import PriorRates

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def after_labels(
    positive: NDArray[np.float64], labeled: NDArray[np.float64], is_flagged: NDArray[np.bool_]
) -> PriorRates:
    """Add counts, which may be means, to the prior of each class."""
    prior = PriorRates.nothing(is_flagged)
    return PriorRates(prior.alpha + positive, prior.beta + labeled - positive, "rounds")
