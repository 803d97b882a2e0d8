"""Rounds that stop once their margins hold: coverage, labels saved, and the alert's evidence.

    PYTHONPATH=. python benchmarks/stopped_rounds.py [--replicates 800] [--tables 1 2 3 4]

A round is planned as `sample.margin` does, with the probability .8, by what six rounds before it
found; its labels come in the random order of the labeling page. At each look the 95 % intervals of
precision and recall are computed from the first answers in that order, as the monitor does it for a
window of any size, and the round stops at the first look at which half of both is within the
margin, once both classes are worth five plain labels of either answer. Populations and cells as in
benchmarks/cells.py; `no score` is one stratum a class.

1.  How it was chosen, on two cells: looks from 5, 25 and 50 % of the plan on, how many, and from
    how many labels of the rarer answer on. Coverage of the intervals at the stop, with the shares
    of rounds whose truth lies below / above, the labels, and how far the point is off in
    half-widths; `whole` is the whole plan.
2.  The same on cells that it was not chosen on, with the rule chosen.
3.  Several people with ten items on the screen each, where "yes" takes four times as long as "no".
    `order` stops by the first answers in the order of the page, however late they came in (what the
    monitor does); `arrival` by those that came in first, whatever is still on the screens.
4.  Evidence against a limit on precision that is kept exactly, enumerated: mean of the e-value at
    the stop, of all answers together and as a product over the looks' blocks. A mean of more than 1
    breaks the promise. `growth` is the mean of log e, for the alternative that gains most, when
    precision is ten points under the limit.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special
from scipy.stats import binom, qmc

from benchmarks.cells import cut, probability_under, scored
from benchmarks.label_cost import METRICS
from monitor.stats.core.counts import Counts
from monitor.stats.design.allocation import allocate
from monitor.stats.design.assurance import ASSURANCE
from monitor.stats.design.cell_counts import cell_counts
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.recalibration import recalibrated_prior
from monitor.stats.design.score_bands import LABELS_PER_CELL, affordable_bands
from monitor.stats.detection.alternatives import DECAY, WEIGHTS
from monitor.stats.detection.e_detector import log_e_factor
from monitor.stats.detection.half_space import Limit
from monitor.stats.estimation.cell_matrix import class_counts
from monitor.stats.estimation.small_counts import FEW_LABELS
from monitor.stats.estimation.stopping import FIRST_LOOK, LOOKS, looks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.cells import CellDesign

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]
    Flags = NDArray[np.bool_]

SAME_PLAN = 50  # rounds with one history and one plan
HISTORY = 6
AT_ONCE = 10  # items on a screen
SLOW = 4.0
POINTS = 256
LIMITS = (0.8, 0.2)
FLAGGED_LABELS = 160


@dataclass(frozen=True)
class Cell:
    """A classifier, what its score is worth, and the margin asked of both metrics."""

    classifier: str
    score: str
    margin: float

    def __str__(self) -> str:
        return f"{self.classifier} {self.score} +-{self.margin:g}"


NO_SCORE = "no score"
CHOSEN = (Cell("Phi1", "good", 0.10), Cell("Phi2", NO_SCORE, 0.20))
CELLS = (
    Cell("Phi1", "good", 0.05),
    Cell("Phi1", "weak", 0.10),
    Cell("Phi1", "weak", 0.20),
    Cell("Phi1", NO_SCORE, 0.10),
    Cell("Phi2", "good", 0.08),
    Cell("Phi2", "overconfident", 0.10),
    Cell("Phi3", "good", 0.05),
    Cell("Phi3", "good", 0.10),
    Cell("Phi3", "overconfident", 0.08),
    Cell("Phi3", NO_SCORE, 0.10),
)
RULES = (
    ("5 %, 39 looks", 0.05, 39, 0.0),
    ("25 %, 31 looks", FIRST_LOOK, 31, 0.0),
    ("25 %, 16 looks", FIRST_LOOK, LOOKS, 0.0),
    ("25 %, 16, 3 of each", FIRST_LOOK, LOOKS, 3.0),
    ("25 %, 16, 5 of each", FIRST_LOOK, LOOKS, FEW_LABELS),
    ("25 %, 16, 8 of each", FIRST_LOOK, LOOKS, 8.0),
    ("50 %, 11, 5 of each", 0.50, 11, FEW_LABELS),
)
BY_PEOPLE = (Cell("Phi3", "good", 0.10), Cell("Phi1", "good", 0.10))
PEOPLE = (1, 4, 8)


@dataclass(frozen=True, eq=False)
class Rounds:
    """Rounds of one plan: stratum and answer of each label in the order of the page, (R, n)."""

    design: CellDesign
    stratum: Whole
    positive: Flags

    def by(self, order: Whole) -> Rounds:
        """Put the labels into another order, shape (R, n)."""
        stratum = np.take_along_axis(self.stratum, order, axis=1)
        return replace(self, stratum=stratum, positive=np.take_along_axis(self.positive, order, 1))

    def until(self, labels: int) -> tuple[Whole, Whole]:
        """Count labels and positives of the first so many, shape (R, H)."""
        rounds, cells = len(self.stratum), len(self.design.size)
        place = self.stratum[:, :labels] + cells * np.arange(rounds)[:, np.newaxis]
        n = np.bincount(place.ravel(), minlength=rounds * cells)
        y = np.bincount(place[self.positive[:, :labels]], minlength=rounds * cells)
        return n.reshape(rounds, cells), y.reshape(rounds, cells)


@dataclass(frozen=True, eq=False)
class Judged:
    """Of many rounds: labels used and planned (R,), and of both metrics (2, R) each."""

    labels: Values
    planned: Values
    below: Flags
    above: Flags
    error: Values
    half_width: Values


def looks_at(total: int, first: float = FIRST_LOOK, count: int = LOOKS) -> list[int]:
    """Numbers of labels at which a plan is looked at, the whole plan last."""
    return [*looks(total, first, count), total]


def designs(cell: Cell) -> CellDesign:
    """Cut a classifier into as many cells as its labels afford."""
    if cell.score == NO_SCORE:
        return cut(scored(cell.classifier, "flat"), (1, 1))
    whole = scored(cell.classifier, cell.score)
    few = planned(cut(whole, (4, 10)), cell.margin, np.random.default_rng(1))
    return cut(whole, affordable_bands(20, 40, int(few.sum()), LABELS_PER_CELL))


def planned(design: CellDesign, margin: float, rng: np.random.Generator) -> Whole:
    """Plan a round by the rounds before it."""
    up, size = design.is_flagged, design.size.astype(np.int64)
    known = PriorRates.of_scores(design.claim, up)
    n, y = np.zeros((2, len(up)))
    labels = np.zeros(len(up), dtype=np.int64)
    for number in range(HISTORY + 1):
        # Those before are planned for the expected width, which costs less time.
        last = number == HISTORY
        labels = allocate(
            size,
            up,
            known,
            margins=dict.fromkeys(METRICS, margin),
            max_labels=20_000,
            estimand="rate",
            assurance=ASSURANCE if last else None,
            uniform=rng.random(),
        ).labels
        n, y = DECAY * n + labels, DECAY * y + rng.binomial(labels, design.rate)
        known = recalibrated_prior(design.size, up, n, y)
    return labels


def drawn(design: CellDesign, plan: Whole, rounds: int, rng: np.random.Generator) -> Rounds:
    """Draw the labels of rounds with one plan, in random orders."""
    of_plan = np.repeat(np.arange(len(plan)), plan)
    stratum = rng.permuted(np.broadcast_to(of_plan, (rounds, len(of_plan))), axis=1)
    return Rounds(design, stratum, rng.random(stratum.shape) < design.rate[stratum])


def arrivals(rounds: Rounds, people: int, rng: np.random.Generator) -> Whole:
    """Order in which answers come in from people with ten items on the screen each, (R, n)."""
    replicates, total = rounds.stratum.shape
    takes = rng.exponential(size=(replicates, total)) * np.where(rounds.positive, SLOW, 1.0)
    row, out = np.arange(replicates), np.empty((replicates, total), dtype=np.int64)
    here = min(people * AT_ONCE, total)
    dealt = np.full(people * AT_ONCE, -1)
    dealt[:here] = np.arange(here)
    screens = np.tile(dealt.reshape(people, AT_ONCE), (replicates, 1, 1))
    head = np.zeros((replicates, people), dtype=np.int64)
    first = dealt.reshape(people, AT_ONCE)[:, 0]
    done = np.where(first >= 0, takes[:, first], np.inf)
    for at in range(total):
        who = done.argmin(axis=1)
        place = head[row, who]
        out[:, at] = screens[row, who, place]
        screens[row, who, place] = at + here if at + here < total else -1
        head[row, who] = after = (place + 1) % AT_ONCE
        item = screens[row, who, after]
        done[row, who] += np.where(item >= 0, takes[row, item], np.inf)
    return out


def laws_of(design: CellDesign, n: Whole, y: Whole) -> list[tuple[Values, Values]]:
    """Beta laws of the rates of both classes from labels of shape (R, H)."""
    up = design.is_flagged
    worth = [cell_counts(design.size[of], n[:, of], y[:, of]) for of in (up, ~up)]
    return [(0.5 + w.positive[:, 0], 0.5 + (w.labeled - w.positive)[:, 0]) for w in worth]


def rarer(design: CellDesign, n: Whole, y: Whole) -> Values:
    """Labels of the rarer answer that the classes are worth, of the class with fewer, (R,)."""
    found = class_counts(design.size, n, y, design.is_flagged)
    return np.asarray(np.minimum(found.positive, found.labeled - found.positive).min(axis=-1))


def open_ends(design: CellDesign, n: Whole, y: Whole) -> Flags:
    """Which ends reach to 0 or 1, since a class never showed an answer: (2 metrics, 2 ends, R)."""
    up = design.is_flagged
    none, every = (
        [y[:, of].sum(axis=1) == (n[:, of].sum(axis=1) if full else 0) for of in (up, ~up)]
        for full in (False, True)
    )
    return np.array([[none[0], every[0]], [none[0] | every[1], every[0] | none[1]]])


def half_widths(design: CellDesign, n: Whole, y: Whole, margin: float = 0.0) -> Values:
    """Half of the intervals of rounds, shape (2, R); that of recall only where precision holds."""
    laws, open_ = laws_of(design, n, y), open_ends(design, n, y)
    found = np.full((2, len(n)), np.inf)
    found[0] = _half(precision_ends(laws[0]), open_[0])
    holds = found[0] <= (margin or np.inf)
    if holds.any():
        mine = [(a[holds], b[holds]) for a, b in laws]
        found[1, holds] = _half(recall_ends(design, *mine), open_[1][:, holds])
    return found


def _half(ends: Values, is_open: Flags) -> Values:
    low, high = np.where(is_open[0], 0.0, ends[0]), np.where(is_open[1], 1.0, ends[1])
    return np.asarray((high - low) / 2)


def precision_ends(flagged: tuple[Values, Values]) -> Values:
    """Quantiles of precision, shape (2, R)."""
    return np.asarray(special.betaincinv(*flagged, np.array([[0.025], [0.975]])))


def recall_ends(
    design: CellDesign, flagged: tuple[Values, Values], passed: tuple[Values, Values]
) -> Values:
    """Quantiles of recall over Sobol points, shape (2, R)."""
    points = qmc.Sobol(2, scramble=True, rng=3).random(POINTS) + 2.0**-31
    tp, fn = (
        size * special.betaincinv(a[:, np.newaxis], b[:, np.newaxis], points[:, i])
        for i, (size, (a, b)) in enumerate(zip(design.classes, (flagged, passed), strict=True))
    )
    return np.asarray(np.quantile(tp / (tp + fn), [0.025, 0.975], axis=1))


def stopped(rounds: Rounds, margin: float, at: list[int], seen: float = FEW_LABELS) -> Judged:
    """Stop each round at its first look at which the margins hold, or at the last.

    ``seen`` are the plain labels of either answer that both classes must be worth before.
    """
    design, replicates = rounds.design, len(rounds.stratum)
    n, y = np.zeros((2, replicates, len(design.size)), dtype=np.int64)
    going = np.arange(replicates)
    for look in at:
        now = replace(rounds, stratum=rounds.stratum[going], positive=rounds.positive[going])
        n[going], y[going] = now.until(look)
        ready = rarer(design, n[going], y[going]) >= seen
        holds = ready.copy()
        if ready.any():
            some = going[ready]
            holds[ready] = (half_widths(design, n[some], y[some], margin) <= margin).all(axis=0)
        going = going[~holds]
        if not len(going):
            break
    return judged(rounds, n, y, half_widths(design, n, y))


def judged(rounds: Rounds, n: Whole, y: Whole, widths: Values) -> Judged:
    """Hold the intervals of these labels against the truth."""
    design = rounds.design
    laws = laws_of(design, n, y)
    under, open_ = probability_under(design, *laws), open_ends(design, n, y)
    rates = [(a - 0.5) / (a + b - 1) for a, b in laws]
    tp, fn = (size * rate for size, rate in zip(design.classes, rates, strict=True))
    points = np.array([rates[0], tp / np.maximum(tp + fn, 1e-300)])
    return Judged(
        labels=n.sum(axis=1).astype(np.float64),
        planned=np.full(len(n), float(rounds.stratum.shape[1])),
        below=(under < 0.025) & ~open_[:, 0],
        above=(under > 0.975) & ~open_[:, 1],
        error=points - np.array(design.truth)[:, np.newaxis],
        half_width=widths,
    )


def joined(parts: list[Judged]) -> Judged:
    """Join what was judged."""
    names = Judged.__dataclass_fields__
    return Judged(**{n: np.concatenate([getattr(p, n) for p in parts], axis=-1) for n in names})


def line(text: str, found: Judged) -> str:
    """Coverage, tails, labels and the point's error in units of the half-width."""
    low, high = found.below.mean(axis=1), found.above.mean(axis=1)
    saved = 1 - found.labels / found.planned
    error = saved.std() / math.sqrt(len(saved))
    off = found.error.mean(axis=1) / found.half_width.mean(axis=1)
    covered = "  ".join(
        f"{1 - a - b:.3f} ({a:.3f}/{b:.3f})" for a, b in zip(low, high, strict=True)
    )
    return (
        f"{text:<32}{covered}{found.labels.mean():7.0f} of{found.planned.mean():5.0f}"
        f"{100 * saved.mean():7.1f} ({100 * error:.1f})   {off[0]:+.2f} {off[1]:+.2f}"
    )


def drawn_rounds(cell: Cell, replicates: int, seed: int) -> list[Rounds]:
    """Draw the rounds of a cell, a plan of its own for every so many."""
    design, rng = designs(cell), np.random.default_rng(seed)
    sizes = [min(SAME_PLAN, replicates - at) for at in range(0, replicates, SAME_PLAN)]
    return [drawn(design, planned(design, cell.margin, rng), some, rng) for some in sizes]


def every(parts: list[Rounds], margin: float, first: float, count: int, seen: float) -> Judged:
    """Stop all rounds by one rule; by none where there is one look."""
    total = [part.stratum.shape[1] for part in parts]
    at = [[n] if count == 1 else looks_at(n, first, count) for n in total]
    pairs = zip(parts, at, strict=True)
    return joined([stopped(part, margin, mine, seen) for part, mine in pairs])


def say_rules(replicates: int) -> None:
    """Print table 1."""
    for cell in CHOSEN:
        parts = drawn_rounds(cell, replicates, seed=4)
        print(line(f"{cell}, whole", every(parts, cell.margin, 1.0, 1, 0.0)), flush=True)
        for text, first, count, seen in RULES:
            found = every(parts, cell.margin, first, count, seen)
            print(line(f"  {text}", found), flush=True)


def say_cells(replicates: int) -> None:
    """Print table 2."""
    covered = []
    for cell in CELLS:
        parts = drawn_rounds(cell, replicates, seed=5)
        for text, count in ((f"{cell}, whole", 1), ("  stopped", LOOKS)):
            found = every(parts, cell.margin, FIRST_LOOK, count, FEW_LABELS)
            print(line(text, found), flush=True)
            covered.append(1 - (found.below | found.above).mean(axis=1))
    for text, mine in (("whole", covered[::2]), ("stopped", covered[1::2])):
        means, lowest = np.mean(mine, axis=0), np.min(mine, axis=0)
        print(f"{text}: mean {means[0]:.3f} {means[1]:.3f}, lowest {lowest[0]:.3f} {lowest[1]:.3f}")


def say_people(replicates: int) -> None:
    """Print table 3."""
    for cell in BY_PEOPLE:
        parts = drawn_rounds(cell, replicates, seed=6)
        rule = (cell.margin, FIRST_LOOK, LOOKS, FEW_LABELS)
        print(line(f"{cell}, order", every(parts, *rule)), flush=True)
        for people in PEOPLE:
            rng = np.random.default_rng(7)
            came = [part.by(arrivals(part, people, rng)) for part in parts]
            print(line(f"  arrival, {people} people", every(came, *rule)), flush=True)


@dataclass(frozen=True)
class Evidence:
    """Means over all outcomes of a round that stops: e and the largest log e, both ways."""

    labels: float
    together: float
    product: float
    growth_together: float
    growth_product: float


def evidence(count: int, at_least: float, true: float, *, margin: float = 0.08) -> Evidence:
    """Enumerate a round that watches a precision, expected .06 above its limit and at ``true``.

    ``count`` looks from a quarter of the plan on; one of them is the whole plan.
    """
    limit, rates = Limit("precision", at_least, "at_least"), np.array([at_least + 0.06, 0.02])
    planned_ = FLAGGED_LABELS
    weights = np.array(WEIGHTS)

    def log_e(n: int) -> Values:
        """Log e of each alternative for 0 to n positives, shape (alternatives, n + 1)."""
        counted = (
            Counts.of_matrix(tp=y, fp=n - y, fn=0, tn=0, flagged_size=10_000, passed_size=300_000)
            for y in range(n + 1)
        )
        return np.array([log_e_factor(limit, one, rates) for one in counted]).T

    at = [planned_] if count == 1 else looks_at(planned_, count=count)
    going = np.array([1.0])  # probability of each number of positives, of rounds that go on
    weighted = np.ones((len(weights), 1))  # and E[product of e; that number]
    labels, done = 0, np.zeros(5)
    gained = np.zeros((2, len(weights)))
    for look in at:
        block = look - labels
        chance, own = binom.pmf(np.arange(block + 1), block, true), log_e(block)
        gained[1] += going.sum() * (own @ chance)
        going = np.convolve(going, chance)
        weighted = np.array(
            [np.convolve(w, chance * np.exp(e)) for w, e in zip(weighted, own, strict=True)]
        )
        labels, y = look, np.arange(look + 1)
        low, high = (special.betaincinv(y + 0.5, look - y + 0.5, q) for q in (0.025, 0.975))
        ends = (high - low) / 2 <= margin
        ends &= np.minimum(y, look - y) >= FEW_LABELS
        ends |= look == planned_
        together = log_e(look)[:, ends]
        done[0] += look * going[ends].sum()
        done[1] += weights @ (np.exp(together) @ going[ends])
        done[2] += weights @ weighted[:, ends].sum(axis=1)
        gained[0] += together @ going[ends]
        going, weighted = np.where(ends, 0.0, going), np.where(ends, 0.0, weighted)
    return Evidence(done[0], done[1], done[2], *gained.max(axis=1))


def say_evidence() -> None:
    """Print table 4."""
    print(
        f"{'limit, looks':>14}{'labels':>8}{'mean e':>9}{'product':>9}{'growth':>8}{'product':>9}"
    )
    for limit in LIMITS:
        for count in (1, 2, 4, LOOKS):
            kept, missed = evidence(count, limit, limit), evidence(count, limit, limit - 0.1)
            print(
                f"{limit:9}{count:5}{kept.labels:8.0f}{kept.together:9.4f}{kept.product:9.4f}"
                f"{missed.growth_together:8.2f}{missed.growth_product:9.2f}",
                flush=True,
            )


def main() -> None:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=800)
    parser.add_argument("--tables", type=int, nargs="+", default=[1, 2, 3, 4])
    asked = parser.parse_args()
    print(f"standard error of a coverage {math.sqrt(0.95 * 0.05 / asked.replicates):.4f}")
    print(f"{'':32}precision            recall                   labels   saved, %   point off")
    for number, say in ((1, say_rules), (2, say_cells), (3, say_people)):
        if number in asked.tables:
            say(asked.replicates)
    if 4 in asked.tables:
        say_evidence()


if __name__ == "__main__":
    main()
