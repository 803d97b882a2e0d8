"""Counts of labeled samples, written short, what rounds compute of them, and stored numbers."""

import json
from pathlib import Path

from monitor.stats.core.counts import Counts
from monitor.stats.estimation.missing import completions, worst_case
from monitor.stats.estimation.posterior import estimates


def reference(name):
    """Numbers of papers and of other programs."""
    return json.loads((Path(__file__).parent / "reference" / f"{name}.json").read_text())


def known(found):
    """What may be missing, and is there; of an estimate its interval."""
    interval = getattr(found, "interval", found)
    assert interval is not None
    return interval


def of_matrix(tp, fp, fn, tn, flagged_size=10_000, passed_size=100_000):
    """One stratum for each predicted class."""
    return Counts.of_matrix(
        tp=tp, fp=fp, fn=fn, tn=tn, flagged_size=flagged_size, passed_size=passed_size
    )


def of_answers(y1, n1, y0, n0, *, flagged_size=46_000, passed_size=1_000_000):
    """The same, of the positives among the labels of either class."""
    return of_matrix(y1, n1 - y1, y0, n0 - y0, flagged_size, passed_size)


def of_strata(size, labeled, positive, is_flagged):
    """Parallel arrays over strata."""
    return Counts.of_arrays(size=size, labeled=labeled, positive=positive, is_flagged=is_flagged)


def missing_bounds(counts, missing, name, *, cells=False):
    """Bounds on a rate when drawn items stayed without an answer, in each stratum ``missing``."""

    def estimated(of):
        return estimates(of, metrics=(name,), estimands=("rate",), cells=cells)

    corners = [estimated(corner) for corner in completions(counts, missing)]
    return worst_case(estimated(counts), corners)[0]
