r"""Density of a share from draws of its posterior, for a figure.

A Gaussian kernel estimate whose bandwidth is Silverman's ("Density Estimation", 1986, Eq. 3.31),

.. math:: \hat f(x) = \frac{1}{n h} \sum_i \phi\Big(\frac{x - x_i}{h}\Big), \quad
    h = 0.9 \min\Big(s, \frac{\mathrm{IQR}}{1.34}\Big)\, n^{-1/5}

with the draws reflected at 0 and 1 (section 2.10), since a share lies between them and a kernel
would leak over the edge. Draws are counted in bins first (section 3.5), about a tenth of a
bandwidth wide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats


GRID_POINTS = 41
"""Enough for a smooth line in a figure."""

_OUTSIDE = 0.001  # share of the draws left out at either end
_BINS = 512
_NARROWEST = 1e-6  # spread under which a value is known, so that it has no density
_FEWEST = 64


@dataclass(frozen=True, slots=True)
class Density:
    """A density at evenly spaced places; areas under it are probabilities."""

    x: Floats
    density: Floats


def share_density(draws: ArrayLike, *, points: int = GRID_POINTS) -> Density | None:
    """Estimate the density of a share in [0, 1] from equally likely draws; NaN ones are left out.

    It is given at evenly spaced values, from the lowest draws to the highest but for one in a
    thousand at either end. None if there are fewer than 64 draws, or (all but) one value.

    >>> rng = np.random.default_rng(7)
    >>> found = share_density(rng.beta(80, 20, 2**12))
    >>> bool(abs(found.x[found.density.argmax()] - 79 / 98) < 0.01)  # the mode
    True
    """
    values = np.asarray(draws, dtype=np.float64)
    values = values[np.isfinite(values)]
    if values.size < _FEWEST:
        return None
    low, lower, upper, high = np.quantile(values, [_OUTSIDE, 0.25, 0.75, 1 - _OUTSIDE])
    if high - low < _NARROWEST:
        return None
    spread = min(float(values.std()), float(upper - lower) / 1.34) or float(values.std())
    bandwidth = 0.9 * spread * values.size**-0.2
    x = np.linspace(max(0.0, low - bandwidth), min(1.0, high + bandwidth), points)
    count, edges = np.histogram(values, bins=_BINS)
    middle = (edges[:-1] + edges[1:]) / 2
    kernels = sum(
        np.exp(-0.5 * ((x[:, np.newaxis] - mirrored) / bandwidth) ** 2)
        for mirrored in (middle, -middle, 2 - middle)
    )
    scale = values.size * bandwidth * math.sqrt(2 * math.pi)
    return Density(x, np.asarray(kernels @ count / scale))
