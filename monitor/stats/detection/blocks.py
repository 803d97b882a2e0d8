r"""Evidence before the end of a round: the first answers of each stratum, block by block.

A round's items have an order that is fixed before the first answer: by the draw within a
stratum, over the strata in proportion. Block k ends after :math:`n_{kh}` of the :math:`n_h` items
of stratum h. With alternative and projection x of the *whole* round (``e_detector``), the
likelihood ratio of one label has at rates :math:`\pi` the mean

.. math:: f_h(\pi) = 1 + (\pi_h - x_h)\,g_h, \qquad
    g_h = \frac{\mathrm{alt}_h - x_h}{x_h (1 - x_h)},

so that the product :math:`S_k` of the ratios up to block k, over :math:`\prod_h f_h(\pi)^{n_{kh}}`,
is a martingale that starts at 1. For all rates that keep the limit it is at least

.. math:: S_k e^{-c_k}, \qquad
    c_k = \max_{c\cdot\pi \ge d} \sum_h n_{kh} \ln f_h(\pi) \ge 0,

which is what is read after block k. **So** :math:`E[S_\tau e^{-c_\tau}] \le 1` **for every rule by
which to stop at a block**, for all rates that keep the limit. After the last block :math:`c = 0`:
that is the proof in ``e_detector``.

**The correction.** There :math:`n_h g_h = -\lambda c_h`, so rates that keep the limit have
:math:`\sum_h n_h (f_h - 1) \le 0`. For any s > 0 therefore

.. math:: c_k \le \sum_h \max_{f_h} \big(n_{kh} \ln f_h - s\,n_h (f_h - 1)\big),

where each maximum is at :math:`f_h = n_{kh}/(s n_h)`, moved into the range that rates from 0 to 1
give: between :math:`(1-\mathrm{alt}_h)/(1-x_h)` and :math:`\mathrm{alt}_h/x_h`. Every s gives a
bound, the best one :math:`c_k` itself. Strata in proportion have :math:`c_k = 0`.

**Over rounds** 1 is added to M at the start of a round only. Up to block k of round t the detector
reads at most :math:`(M_{t-1} + 1)` times this martingale, which, less the rounds begun, is a
supermartingale over all blocks: at the firing :math:`A \le E[M] \le E[\text{rounds begun}]`, as
without blocks.

**Missing answers** up to a block count in favor of the limit: what is read is at most what all
answers would give, after that block too. It may then be read before they are there.

That is about the classifier's *rates*, behind the window's items. About the window's own metric it
says less: after a block the items left are those that it did not take, and where these kept the
limit with room to spare the rest may miss it, though the window does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Floats, Ints

BLOCKS = 20
"""Blocks of a round. More find little sooner: each has a twentieth of what a round can show."""

_GOLDEN = (5**0.5 - 1) / 2
_STEPS = 6  # of the search for s
_FARTHEST = 2.0  # factor of one of them
_CLOSE = 1e-9


def prefix_sizes(items: Sequence[int] | Ints, blocks: int = BLOCKS) -> Ints:
    r"""Items of each stratum up to the end of each block, shape ``(blocks, H)``.

    :math:`n_{kh} = \lfloor n_h k/K + u_h \rfloor` with :math:`u_h` the fractional part of
    :math:`h (\sqrt 5 - 1)/2`, so that strata do not all get their next item in the same block.
    """
    offset = np.arange(len(items)) * _GOLDEN % 1
    share = np.arange(1, blocks + 1)[:, np.newaxis] / blocks
    # Rounded first, since 3 * (1 / 3) may be a little under 1.
    return np.floor((np.asarray(items) * share + offset).round(9)).astype(np.int64)


def correction(labeled: Ints, alternative: Floats, x: Floats) -> Floats:
    """How much of log S after each block the labels that are still to come may take back.

    At least c of the module's docstring, ``(..., blocks)``: 0 or more, and 0 at the end.
    ``labeled`` are the items of each stratum up to each block, ``(blocks, S)``, the whole round's
    last, which are 1 or more; alternative and x are for the whole round, ``(..., S)``, strictly
    between 0 and 1.
    """
    moves = (alternative != x).reshape(-1, x.shape[-1]).any(axis=0)
    labeled, alternative, x = labeled[:, moves], alternative[..., moves], x[..., moves]
    n = labeled[-1].astype(np.float64)
    share, total = labeled / n, max(n.sum(), 1.0)
    ends = np.stack([(1 - alternative) / (1 - x), alternative / x])[..., np.newaxis, :]
    low, high = ends.min(axis=0), ends.max(axis=0)
    s = np.broadcast_to(np.maximum(share @ n / total, _CLOSE), (*low.shape[:-2], len(labeled)))
    below, above = np.zeros(s.shape), np.full(s.shape, np.inf)
    for _ in range(_STEPS):
        inner = share / s[..., np.newaxis]
        excess = (np.clip(inner, low, high) - 1) @ n  # falls as s grows
        is_off = np.abs(excess) > _CLOSE * total
        if not is_off.any():
            break
        below, above = np.where(excess > 0, s, below), np.where(excess < 0, s, above)
        free = np.where((inner > low) & (inner < high), share, 0.0) @ n / s
        step = s * np.divide(free, free - excess, out=np.zeros_like(s), where=free > excess)
        nearest, farthest = np.maximum(below, s / _FARTHEST), np.minimum(above, s * _FARTHEST)
        is_between = (step > nearest) & (step < farthest)
        step = np.where(is_between, step, (nearest + farthest) / 2)
        s = np.where(is_off, step, s)
    f = np.clip(share / s[..., np.newaxis], low, high)
    return np.asarray((share * np.log(f) - s[..., np.newaxis] * (f - 1)) @ n)
