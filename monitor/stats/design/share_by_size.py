r"""The share of the passed labels that is spread over the passed strata by size.

The optimum sends labels to where positives are expected, so that a label in the band with the
lowest scores comes to stand for very many items, and misses that appear there are hardly ever
seen. So with optimal labels :math:`o_h`, :math:`n_- = \sum o_h` of them in the passed class, and a
share s,

.. math:: n_h = (1-s)\, o_h + s\, n_- N_h / N_-,

within the floor and :math:`N_h`. No label then stands for more than about 1/s times as many items
as in a sample spread by size throughout (a defensive mixture, Hesterberg, *Technometrics* 37,
1995, doi:10.1080/00401706.1995.10484303).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Floats


SHARE_BY_SIZE = 0.25
"""Of the passed labels of a round, unless its settings say otherwise (benchmarks/misses.py)."""


MOST_BY_SIZE = 0.5
"""The largest share there may be. With more, a stratum might not be labeled whole by the rest."""


def mixed_by_size(optimal: Floats, low: Floats, size: Floats, share: float) -> Floats:
    """Spread a share of the labels of one class by size, the rest as the optimum has them.

    Optimal labels are at least ``low``, the floor. They are more than the size where the optimum
    would label yet more: so a stratum is labeled whole though a part goes by size.
    """
    total = float(size.sum())
    spread = share * float(np.minimum(optimal, size).sum()) / total * size if total > 0 else 0.0
    return np.minimum(np.maximum((1 - share) * optimal + spread, low), size)
