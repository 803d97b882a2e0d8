"""Counts of labeled samples, written short."""

from monitor.stats.core.counts import Counts


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
