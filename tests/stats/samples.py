"""Counts of labeled samples, written short, and what rounds compute of them."""

from monitor.stats.core.counts import Counts
from monitor.stats.estimation.missing import completions, worst_case
from monitor.stats.estimation.posterior import estimates


def of_matrix(tp, fp, fn, tn, flagged_size, passed_size):
    """One stratum for each predicted class."""
    return Counts.of_matrix(
        tp=tp, fp=fp, fn=fn, tn=tn, flagged_size=flagged_size, passed_size=passed_size
    )


def of_strata(size, labeled, positive, is_flagged, first_phase=None):
    """Parallel arrays over strata."""
    return Counts.of_arrays(
        size=size,
        labeled=labeled,
        positive=positive,
        is_flagged=is_flagged,
        first_phase=first_phase,
    )


def missing_bounds(counts, missing, name, *, cells=False):
    """Bounds on a rate when drawn items stayed without an answer, in each stratum ``missing``."""

    def estimated(of):
        return estimates(of, metrics=(name,), estimands=("rate",), cells=cells)

    corners = [estimated(corner) for corner in completions(counts, missing)]
    return worst_case(estimated(counts), corners)[0]
