r"""Score bands: how the items of one predicted class are cut into strata by their score.

Within a class the edges share out the items' sum of :math:`(p(1-p))^{0.65}`, p the score. The
power 1/2, the standard deviation of a label, would have every band ask for about the same
number of labels; but a band that is nearly pure asks for more than that, since the interval
doubts that it is. Scores only steer where labels go. The estimate stays valid for any
scores, since bands are known before labels are.

Score cells (``cell_sizes``) are cut finer and by the power 1/2: their interval takes neighbours
together, so that a nearly pure cell asks for no more than its own share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats, Ints

FLAGGED_BANDS = 4
"""Predicted positives are few, and precision needs few labels: more bands leave each with a
handful."""

PASSED_BANDS = 10
"""Missed positives hide in a thin layer under the threshold, which more bands cut out better:
4+10 need 7 to 13 % fewer labels than 3+5, and more save little (benchmarks/results/tried.txt)."""

POWER = 0.65
"""Of p(1-p) in the share of a band: between .6 and .7 plans need the fewest labels."""


CELL_POWER = 0.5
"""The same of a cell: the standard deviation of a label."""


LABELS_PER_BAND = 25
"""Labels that a band should have on average: with fewer, intervals miss more often than they
say, and the floors leave a plan nothing to choose."""

LABELS_PER_CELL = 6
"""The same of a cell: three times its floor, so that a plan can choose."""


def affordable_bands(
    flagged: int, passed: int, labels: int, each: int = LABELS_PER_BAND
) -> tuple[int, int]:
    """Cut the bands wanted of both classes so far that each can have its share of a round's labels.

    ``flagged`` and ``passed``, each 1 or more, are rounded down in the same proportion; ``each`` is
    how many labels a band should have on average.
    """
    share = min(1.0, labels / (each * (flagged + passed)))
    return max(1, int(flagged * share)), max(1, int(passed * share))


def resemble_probabilities(scores: ArrayLike) -> bool:
    """Whether all scores are in [0, 1] and one lies strictly inside; missing ones are ignored.

    Scores that fail this, such as margins, log-odds or 0/1 decisions, say nothing about how
    uncertain a label is.
    """
    values = _present(scores)
    inside = np.all((values >= 0) & (values <= 1))
    return bool(inside and np.any((values > 0) & (values < 1)))


def band_edges(scores: ArrayLike, bands: int) -> tuple[float, ...]:
    """Inner edges of the score bands of one predicted class, in rising order.

    Band i holds the scores with ``edges[i - 1] <= score < edges[i]``; ``bands``, 1 or more, are
    aimed for. The edges, scores that occur, lie where the running sum of :math:`(p(1-p))^{0.65}`
    comes closest to equal parts, if the scores look like probabilities, else where the running
    number of items does. Equal edges merge, so that there may be fewer bands than asked for, but no
    band is empty. Scores of NaN are left out.

    The equal share of :math:`(p(1-p))^{0.65}` takes the place of Dalenius & Hodges' cumulative root
    frequency rule ("Minimum Variance Stratification", JASA 54, 1959): here the variance of the
    label follows from the score itself.

    Examples
    --------
    >>> band_edges([0.5, 0.1, 0.2, 0.4, 0.3, 0.45], bands=2)
    (0.4,)
    """
    return _edges(scores, bands, POWER)


def cell_edges(scores: ArrayLike, cells: int) -> tuple[float, ...]:
    r"""Inner edges of score cells: ``band_edges`` by the running sum of :math:`\sqrt{p(1-p)}`."""
    return _edges(scores, cells, CELL_POWER)


def band_of(scores: ArrayLike, edges: Sequence[float]) -> Ints:
    """Band of each score: 0 to ``len(edges)``, and ``len(edges) + 1`` where it is NaN.

    ``scores`` have any shape; a score on one of the ``edges`` (``band_edges``) belongs above it.

    Raises
    ------
    ValueError
        If the edges do not rise strictly.

    Examples
    --------
    >>> band_of([0.1, 0.4, 0.7, float("nan")], edges=(0.4,))
    array([0, 1, 1, 2])
    """
    inner = np.asarray(edges, dtype=np.float64)
    if not np.all(np.diff(inner) > 0) or np.isnan(inner).any():
        message = f"edges must rise strictly, got {tuple(edges)!r}"
        raise ValueError(message)
    values = np.asarray(scores, dtype=np.float64)
    bands = np.searchsorted(inner, values, side="right")
    return np.where(np.isnan(values), len(inner) + 1, bands).astype(np.int64)


def _edges(scores: ArrayLike, bands: int, power: float) -> tuple[float, ...]:
    """Edges at equal parts of the running sum of (p(1-p)) to a power."""
    if bands < 1:
        message = f"a class needs 1 band or more, got {bands!r}"
        raise ValueError(message)
    values, counts = np.unique(_present(scores), return_counts=True)
    if len(values) < 2:  # noqa: PLR2004
        return ()
    spread = (values * (1 - values)) ** power if resemble_probabilities(values) else 1.0
    below = np.cumsum(counts * spread)
    cut, below = values[1:], below[:-1]  # cutting at values[i + 1] leaves below[i] under it
    total = float(np.sum(counts * spread))
    targets = total * np.arange(1, bands) / bands
    nearest = {int(np.abs(below - target).argmin()) for target in targets}
    return tuple(float(cut[i]) for i in sorted(nearest) if np.isfinite(cut[i]))


def _present(scores: ArrayLike) -> Floats:
    """Flat array of the scores that are there."""
    values = np.asarray(scores, dtype=np.float64).ravel()
    return values[~np.isnan(values)]
