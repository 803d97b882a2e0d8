"""A second set of cells for the coverage benchmark, on which nothing was chosen.

Other numbers, drawn from ranges and not from lists, and other scores than `coverage_grid.py` has.
What the score claims follows in each predicted class

- `beta`: a Beta law, from nearly all items alike to most of them near 0 or 1, or
- `tails`: a Student law of 2 degrees of freedom on the logit scale, in which a small cluster of
  items lies 4 logits off the others: good items among the flagged, or missed ones among the passed.

The truth behind the claims keeps each class's rate and is

- `true`: what is claimed,
- `half`: over-confident claims, half of their spread on the logit scale,
- `kink`: turned round in the upper 30 % of each class, the highest claim the least probable, or
- `turn`: turned round among all of the flagged.
"""

import numpy as np
from scipy import optimize, special, stats

from benchmarks.coverage_grid import NODES, Cell, Setting, cut_cell, false_omission_rate
from benchmarks.harness import Values

CELLS = 120
SEED = 2
BANDS = ((1, 2), (2, 4), (3, 6), (4, 10), (5, 15), None)
TIMES = (None, None, None, 6, 40)
LAWS = ("beta", "tails")
TRUTHS = ("true", "half", "kink", "turn")

_MIDDLE = (np.arange(NODES) + 0.5) / NODES


def second_cells(cells: int = CELLS, seed: int = SEED) -> list[Cell]:
    """Draw cells, each law and truth as likely as any other."""
    return [cut_cell(*each) for each in second_populations(cells, seed)]


def second_populations(
    settings: int, seed: int
) -> list[tuple[Setting, list[tuple[Values, Values]]]]:
    """Draw settings and their populations: claims and true probabilities of both classes."""
    rng = np.random.default_rng(seed)
    made: list[tuple[Setting, list[tuple[Values, Values]]]] = []
    while len(made) < settings:
        setting = _setting(rng)
        omission = false_omission_rate(setting.k, setting.precision, setting.recall)
        if omission > 0.6 * setting.precision:
            continue  # no classifier: it would pass what it should flag
        if setting.times is not None and setting.times * setting.k / (1 + setting.k) < 0.25:
            continue  # a census of the flagged
        claims = _claims(setting, omission, rng)
        truth = setting.score.split("-")[1]
        classes = [
            (claimed, _truth(claimed, truth, flagged=up))
            for claimed, up in zip(claims, (True, False), strict=True)
        ]
        made.append((setting, classes))
    return made


def _setting(rng: np.random.Generator) -> Setting:
    def log_uniform(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    return Setting(
        k=log_uniform(0.001, 1),
        precision=float(rng.uniform(0.35, 0.98)),
        recall=float(rng.uniform(0.25, 0.97)),
        labels=round(log_uniform(80, 4000)),
        bands=BANDS[rng.integers(len(BANDS))],
        times=TIMES[rng.integers(len(TIMES))],
        score=f"{rng.choice(LAWS)}-{rng.choice(TRUTHS)}",
        plan="rounds" if rng.random() < 0.5 else "scores",
    )


def _claims(setting: Setting, omission: float, rng: np.random.Generator) -> tuple[Values, Values]:
    """Claimed probabilities of both classes, rising, shape ``(NODES,)`` each."""
    if setting.score.startswith("beta"):
        count, shape = float(rng.choice([0.5, 2, 8])), float(rng.choice([0.3, 1, 3]))
        rate = setting.precision
        flagged = stats.beta.ppf(_MIDDLE, count * rate, count * (1 - rate))
        passed = stats.beta.ppf(_MIDDLE, shape, shape * (1 - omission) / omission)
        return np.asarray(flagged), np.asarray(passed)
    spread, share = float(rng.choice([0.5, 1.0])), float(rng.choice([0.02, 0.1]))
    return (
        _tails(setting.precision, spread, share, -4.0),
        _tails(omission, spread, share, 4.0),
    )


def _tails(mean: float, spread: float, share: float, off: float) -> Values:
    """Probabilities with heavy tails and a cluster so far off, of this mean."""
    logit = spread * stats.t.ppf(_MIDDLE, 2)
    logit[np.random.default_rng(0).permutation(NODES)[: round(share * NODES)]] += off
    return np.sort(_shifted(logit, mean))


def _truth(claimed: Values, truth: str, *, flagged: bool) -> Values:
    if truth == "half":
        logit = np.clip(special.logit(np.clip(claimed, 1e-12, 1 - 1e-12)), -25, 25)
        return _shifted(0.5 * logit, float(claimed.mean()))
    if truth == "kink":
        first = round(0.7 * NODES)
        return np.concatenate([claimed[:first], claimed[first:][::-1]])
    if truth == "turn" and flagged:
        return claimed[::-1]
    return claimed


def _shifted(logit: Values, mean: float) -> Values:
    """Probabilities of this mean whose log odds are those given but for a common shift."""

    def gap(shift: float) -> float:
        return float(special.expit(shift + logit).mean()) - mean

    return np.asarray(special.expit(optimize.brentq(gap, -100, 100) + logit))
