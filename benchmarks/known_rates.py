"""Prior rates as some rounds leave them whose labels are known only by their number."""

import numpy as np
from numpy.typing import NDArray

from monitor.stats.design.prior import PriorRates


def after_labels(
    positive: NDArray[np.float64], labeled: NDArray[np.float64], is_flagged: NDArray[np.bool_]
) -> PriorRates:
    """Add counts, which may be means, to the prior of each class."""
    prior = PriorRates.nothing(is_flagged)
    return PriorRates(prior.alpha + positive, prior.beta + labeled - positive, "rounds")
