"""Labeled sets of the classifier of Table 1 of Shang et al., to the item."""

import numpy as np
import pandas as pd

SIZES = {"flagged": 160_000, "passed": 4_840_000}


def cells(tp, fp, fn, tn):
    """Make a table with so many items in each cell, each with a score on its side of .5."""
    many = [tp, fp, fn, tn]
    predicted = np.repeat([1, 1, 0, 0], many)
    label = np.repeat([1, 0, 1, 0], many)
    rank = np.arange(len(label)) % 17 / 40
    return pd.DataFrame(
        {"predicted": predicted, "label": label, "score": 0.5 * predicted + 0.04 * label + rank}
    )


def drawn_by_class():
    """1,000 flagged and 1,000 passed items, of which as many are positive as one expects."""
    return cells(862, 138, 22, 978)
