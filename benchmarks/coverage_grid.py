"""The cells of the coverage benchmark: populations with known precision and recall, cut in bands.

logit p is normal, and an item is flagged where p passes a threshold. A *good* score is p itself. A
*weak* one claims p where the truth has a quarter of its spread within each class.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy import optimize, special, stats

from benchmarks.fast_rounds import Design
from benchmarks.harness import Flags, Values, Whole
from benchmarks.strata import cut_classes, shifted
from monitor.stats import FLAGGED_BANDS, PASSED_BANDS, PriorRates, Prospect, allocate, band_edges
from monitor.stats.design.score_bands import affordable_bands

Known = Literal["scores", "rounds"]

NODES = 4000
"""Equally probable points that stand for the items of one predicted class."""

INFINITE = 10**9
WEAK = 0.25


@dataclass(frozen=True)
class Setting:
    """What a cell is asked to be.

    ``bands`` are those of the flagged and of the passed, None for as many as the monitor makes;
    ``times`` is the window's size in labels, None for infinite.
    """

    k: float
    precision: float
    recall: float
    labels: int
    bands: tuple[int, int] | None = None
    times: int | None = None
    score: str = "good"
    plan: Known = "rounds"
    ratio: float | None = None  # Shang et al.'s over-sampling ratio s, in place of a plan
    named: bool = False

    @property
    def cut(self) -> tuple[int, int]:
        """Bands of the two classes."""
        if self.bands is not None:
            return self.bands
        return affordable_bands(FLAGGED_BANDS, PASSED_BANDS, self.labels)

    @property
    def is_of_use(self) -> bool:
        """Whether it passes less than it should flag, and is no census of the flagged."""
        if false_omission_rate(self.k, self.precision, self.recall) > 0.6 * self.precision:
            return False
        return self.times is None or self.times * self.k / (1 + self.k) >= 0.25


@dataclass(frozen=True)
class Cell:
    """A setting and the strata, labels and true rates made of it."""

    setting: Setting
    design: Design

    @property
    def name(self) -> str:
        """The setting in a few words."""
        s = self.setting
        bands = f"{s.cut[0]}+{s.cut[1]}"
        plan = f"s={s.ratio:g}" if s.ratio is not None else s.plan
        window = "rates" if s.times is None else f"x{s.times}"
        return (
            f"{s.k:<6.3g} {s.precision:4.2f} {s.recall:4.2f} {s.labels:6d} {bands:>5} {window:>5} "
            f"{s.score if s.cut != (1, 1) else '-':>4} {plan:>6}"
        )


def false_omission_rate(k: float, precision: float, recall: float) -> float:
    """Rate of actual positives among the passed (Shang et al., 2023, Eq. 9)."""
    return k * precision * (1 / recall - 1)


@cache
def class_probabilities(k: float, precision: float, recall: float) -> tuple[Values, Values]:
    """Probabilities of the items of both classes, shape ``(NODES,)``, from a logit-normal law."""
    share = 1 / (1 + k)  # of the passed
    middle = (np.arange(NODES) + 0.5) / NODES
    z_passed, z_flagged = special.ndtri(share * middle), -special.ndtri((1 - share) * middle[::-1])
    omission = false_omission_rate(k, precision, recall)

    def gaps(parameters: Values) -> list[float]:
        mean, spread = parameters[0], np.exp(parameters[1])
        return [
            float(special.logit(np.clip(special.expit(mean + spread * z).mean(), 1e-12, 1 - 1e-12)))
            - float(special.logit(target))
            for z, target in ((z_flagged, precision), (z_passed, omission))
        ]

    for start in ([-3.0, 1.0], [-8.0, 1.6], [0.0, 0.0], [-1.0, 2.0], [-15.0, 2.5], [2.0, 1.5]):
        optimum = optimize.root(gaps, start)
        if optimum.success and np.max(np.abs(optimum.fun)) < 1e-6:
            mean, spread = optimum.x[0], np.exp(optimum.x[1])
            return special.expit(mean + spread * z_flagged), special.expit(mean + spread * z_passed)
    message = f"no population has k={k}, precision={precision}, recall={recall}"
    raise ValueError(message)


def weakened(claimed: Values) -> Values:
    """Give the true probabilities behind over-confident claims: a quarter of the spread."""
    return shifted(WEAK * special.logit(claimed), float(claimed.mean()))


def make_cell(setting: Setting) -> Cell:
    """Cut the setting's population into bands and plan its labels as the monitor does."""
    claims = class_probabilities(setting.k, setting.precision, setting.recall)
    return cut_cell(
        setting,
        [
            (claimed, claimed if setting.score == "good" else weakened(claimed))
            for claimed in claims
        ],
    )


def cut_cell(setting: Setting, classes: Sequence[tuple[Values, Values]]) -> Cell:
    """Cut a population by what its score claims: claims and true probabilities of each class."""
    is_flagged, size, rate, claim = strata_of(setting, classes, setting.cut, band_edges)
    labeled = _labels(setting, size, is_flagged, rate, claim)
    flagged = int(is_flagged.sum())
    if setting.times is None:
        return Cell(setting, Design(size, labeled, flagged, rate=rate))
    positive = np.rint(size * rate).astype(np.int64)
    return Cell(setting, Design(size, labeled, flagged, positive=positive))


def strata_of(
    setting: Setting,
    classes: Sequence[tuple[Values, Values]],
    counts: tuple[int, int],
    edges: Callable[[Values, int], Sequence[float]],
) -> tuple[Flags, Whole, Values, Values]:
    """Cut a population into so many strata of each class: class, size, true rate and claim."""
    is_flagged, nodes, (rate, claim) = cut_classes(
        (claimed, edges(claimed, count), true, claimed)
        for (claimed, true), count in zip(classes, counts, strict=True)
    )
    total = INFINITE if setting.times is None else setting.times * setting.labels
    weight = np.where(is_flagged, setting.k, 1.0) / (1 + setting.k) * (nodes / NODES)
    return is_flagged, np.maximum(np.rint(total * weight), 1).astype(np.int64), rate, claim


def _labels(setting: Setting, size: Whole, is_flagged: Flags, rate: Values, claim: Values) -> Whole:
    if setting.ratio is not None:
        odds = setting.k * setting.ratio
        flagged = round(setting.labels * odds / (1 + odds))
        return np.array([flagged, setting.labels - flagged])
    if setting.plan == "scores":
        known = PriorRates.of_scores(claim, is_flagged)
    else:  # about what a few rounds of this size have found
        found, prior = 3 * setting.labels / len(size), PriorRates.nothing(is_flagged)
        known = PriorRates(prior.alpha + found * rate, prior.beta + found * (1 - rate), "rounds")
    return allocate(Prospect.of(size, is_flagged, known), max_labels=setting.labels).labels


TABLE_3 = tuple(
    Setting(1 / odds, 0.9, recall, labels, (1, 1), ratio=ratio, named=True)
    for labels, odds in ((5000, 20), (10_000, 100))
    for ratio in (1, 2, 5)
    for recall in (0.9, 0.7)
)
"""The twelve rows of Table 3 of Shang et al., 2023."""

_PHI = ((0.046, 0.79, 0.67), (0.033, 0.86, 0.56), (0.458, 0.90, 0.66))

NAMED = (
    *TABLE_3,
    *(Setting(*phi, labels, named=True) for phi in _PHI for labels in (360, 1250)),
    *(Setting(*phi, 1250, score="weak", named=True) for phi in _PHI),
    *(Setting(*phi, 1250, (1, 1), named=True) for phi in _PHI),
    *(Setting(*phi, 300, times=10, plan="scores", named=True) for phi in _PHI),
    *(Setting(*phi, 1250, (3, 5), named=True) for phi in _PHI),
    *(Setting(*phi, 1250, times=4, named=True) for phi in _PHI),
    Setting(0.01, 0.99, 0.9, 600, named=True),
    Setting(0.01, 0.99, 0.9, 600, score="weak", named=True),
    Setting(0.001, 0.9, 0.2, 2500, named=True),
    Setting(0.1, 0.97, 0.99, 300, named=True),
    Setting(0.1, 0.3, 0.6, 120, plan="scores", named=True),
    Setting(1.0, 0.97, 0.97, 1250, named=True),
    Setting(0.3, 0.7, 0.9, 60, (1, 1), named=True),
)
"""The settings of most use, replicated most."""

K = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
PRECISION = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99)
RECALL = (0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.97, 0.99)
LABELS = (60, 120, 250, 500, 1250, 2500, 5000)
BANDS = ((1, 1), (1, 3), (2, 3), (3, 5), (3, 10), None)
TIMES = (None, None, None, 4, 20, 200)


def grid(cells: int = 210, seed: int = 1) -> list[Setting]:
    """Draw settings from the ranges above, each value of a range as likely as any other."""
    rng = np.random.default_rng(seed)
    settings: list[Setting] = []
    while len(settings) < cells:
        k, precision, recall = (float(rng.choice(values)) for values in (K, PRECISION, RECALL))
        setting = Setting(
            k,
            precision,
            recall,
            int(rng.choice(LABELS)),
            BANDS[rng.integers(len(BANDS))],
            TIMES[rng.integers(len(TIMES))],
            "good" if rng.random() < 0.6 else "weak",
            "rounds" if rng.random() < 0.7 else "scores",
        )
        if setting.is_of_use:
            settings.append(setting)
    return settings


def every_cell() -> list[Cell]:
    """Make the 40 named cells and the grid."""
    return [make_cell(setting) for setting in (*NAMED, *grid())]


SECOND_CELLS = 120
SECOND_SEED = 2
SECOND_BANDS = ((1, 2), (2, 4), (3, 6), (4, 10), (5, 15), None)
SECOND_TIMES = (None, None, None, 6, 40)
LAWS = ("beta", "tails")
TRUTHS = ("true", "half", "kink", "turn")

_MIDDLE = (np.arange(NODES) + 0.5) / NODES


def second_cells(cells: int = SECOND_CELLS) -> list[Cell]:
    """Draw cells, each law and truth as likely as any other."""
    return [cut_cell(*each) for each in second_populations(cells, SECOND_SEED)]


def second_populations(
    settings: int, seed: int
) -> list[tuple[Setting, list[tuple[Values, Values]]]]:
    """Draw settings and their populations: claims and true probabilities of both classes."""
    rng = np.random.default_rng(seed)
    made: list[tuple[Setting, list[tuple[Values, Values]]]] = []
    while len(made) < settings:
        setting = _setting(rng)
        if not setting.is_of_use:
            continue
        claims = _claims(setting, rng)
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
        bands=SECOND_BANDS[rng.integers(len(SECOND_BANDS))],
        times=SECOND_TIMES[rng.integers(len(SECOND_TIMES))],
        score=f"{rng.choice(LAWS)}-{rng.choice(TRUTHS)}",
        plan="rounds" if rng.random() < 0.5 else "scores",
    )


def _claims(setting: Setting, rng: np.random.Generator) -> tuple[Values, Values]:
    """Claimed probabilities of both classes, rising, shape ``(NODES,)`` each."""
    omission = false_omission_rate(setting.k, setting.precision, setting.recall)
    if setting.score.startswith("beta"):
        count, shape = float(rng.choice([0.5, 2, 8])), float(rng.choice([0.3, 1, 3]))
        rate = setting.precision
        flagged = stats.beta.ppf(_MIDDLE, count * rate, count * (1 - rate))
        passed = stats.beta.ppf(_MIDDLE, shape, shape * (1 - omission) / omission)
        return np.asarray(flagged), np.asarray(passed)
    spread, share = float(rng.choice([0.5, 1.0])), float(rng.choice([0.02, 0.1]))
    return (_tails(setting.precision, spread, share, -4.0), _tails(omission, spread, share, 4.0))


def _tails(mean: float, spread: float, share: float, off: float) -> Values:
    """Probabilities with heavy tails and a cluster so far off, of this mean."""
    logit = spread * stats.t.ppf(_MIDDLE, 2)
    logit[np.random.default_rng(0).permutation(NODES)[: round(share * NODES)]] += off
    return np.sort(shifted(logit, mean))


def _truth(claimed: Values, truth: str, *, flagged: bool) -> Values:
    if truth == "half":
        logit = np.clip(special.logit(np.clip(claimed, 1e-12, 1 - 1e-12)), -25, 25)
        return shifted(0.5 * logit, float(claimed.mean()))
    if truth == "kink":
        first = round(0.7 * NODES)
        return np.concatenate([claimed[:first], claimed[first:][::-1]])
    if truth == "turn" and flagged:
        return claimed[::-1]
    return claimed
