"""Worst-case bounds of one rate, as rounds compute them of all."""

from monitor.stats.estimation.missing import completions, worst_case
from monitor.stats.estimation.posterior import estimates


def missing_bounds(counts, missing, name, *, cells=False):
    """Bounds on a rate when drawn items stayed without an answer, in each stratum ``missing``."""

    def estimated(of):
        return estimates(of, metrics=(name,), estimands=("rate",), cells=cells)

    corners = [estimated(corner) for corner in completions(counts, missing)]
    return worst_case(estimated(counts), corners)[0]
