"""Free labels of flagged items: how well checks correct them, and the labels of people they save.

A column labels all flagged items; it is right on positive ones with probability `sens` and on
negative ones with `spec`. People label `PASSED` passed items and check 40 flagged ones in each of
`rounds`. `as given` takes the column's labels for the truth, `corrected` is the basis of that name;
both are of the very items of the window, but for `rate`. `none` counts rounds without a corrected
value. The second table has the labels of people that margins of precision and recall need.

``--change``: sensitivity and specificity of a column that labels all flagged items fall from
`before` to `after` in the newest `since` of 12 rounds with 40 checks each, `since` 0 for not at
all. Precision of the window: `pooled` counts all rounds, `tested` allows for a change that the
checks suggest (`cut`), and counts the newest alone if it is clear; `noted` is the share of rounds
with a notice. A checker who `repeats` that share of the column's errors shows fewer of them.
"""

from typing import Any

import numpy as np

from benchmarks.label_error import BANDS, TWO, Design
from monitor.rounds.estimation.label_errors import NOTED, PooledChecks
from monitor.stats.core.counts import Counts
from monitor.stats.design.allocation import allocate
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.estimation.posterior import estimates
from monitor.stats.labels.audit import ClassAudits, LabelAudit, NoBetterThanChance
from monitor.stats.labels.label_error import corrected_estimates
from monitor.storage.labels.check_store import CheckCounts, ClassChecks

Quality = tuple[float, float]

METRICS = ("precision", "recall")
SETTINGS = ((0.95, 0.97, 1), (0.95, 0.97, 12), (0.85, 0.92, 3), (0.85, 0.92, 12))
CHECKS, PASSED = 40, 400
RATE, SIZE = np.array([0.75, 0.01]), np.array([1500, 50_000])
MARGINS = tuple(
    {"precision": precision, "recall": recall}
    for precision, recall in ((0.05, 0.05), (0.05, 0.1), (0.05, 0.15), (0.03, 0.1), (0.03, 0.15))
)
MOST = 100_000

CHANGES: list[tuple[Quality, Quality, int, float]] = [
    *(((0.97, 0.97), (0.85, 0.97), since, 0.0) for since in (0, 1, 2)),
    *(((0.9, 0.9), (0.9, 0.7), since, 0.0) for since in (0, 1, 3)),
    ((0.8, 0.9), (0.95, 0.9), 1, 0.0),
    ((0.9, 0.9), (0.9, 0.9), 0, 0.5),
]


def checked(
    sens: float, spec: float, items: int, rng: np.random.Generator, repeats: float = 0.0
) -> tuple[int, ...]:
    """Let people check random flagged items; they repeat a share of the column's errors."""
    positive = rng.binomial(items, RATE[0])
    fn, fp = rng.binomial([positive, items - positive], [1 - sens, 1 - spec])
    seen_fn, seen_fp = rng.binomial([fn, fp], 1 - repeats)
    repeated = fn - seen_fn, fp - seen_fp
    tp, tn = positive - fn + repeated[1], items - positive - fp + repeated[0]
    return int(tp), int(seen_fn), int(tn), int(seen_fp)


def row_of(sens: float, spec: float, rounds: int, replicates: int) -> str:
    """Coverage and width of each way, as a line of the table."""
    rng = np.random.default_rng(11)
    hits: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    none = 0
    for replicate in range(replicates):
        counts, truth = _window(sens, spec, rng)
        try:
            audit = ClassAudits(LabelAudit(*checked(sens, spec, CHECKS * rounds, rng)), None)
            corrected = corrected_estimates(counts, audit, metrics=METRICS, seed=replicate)
        except NoBetterThanChance:
            corrected = []
        none += not corrected
        given = estimates(counts, metrics=METRICS, estimands=("window",), seed=replicate)
        for way, rows in (("given", given), ("corrected", corrected)):
            for row in rows:
                if row.low is None or row.high is None:
                    continue
                key = f"{row.metric} {way} {row.estimand}"
                value = truth[row.estimand, row.metric]
                hits.setdefault(key, []).append(row.low <= value <= row.high)
                widths.setdefault(key, []).append(row.high - row.low)
    cells = (
        f"{np.mean(hits[key]):.3f} {np.mean(widths[key]):.3f}"
        for metric in METRICS
        for way in ("given window", "corrected window", "corrected rate")
        for key in [f"{metric} {way}"]
    )
    return f"{sens:4.2f}  {spec:4.2f}  {rounds:6}  {'  '.join(cells)}  {none:4}"


def _window(
    sens: float, spec: float, rng: np.random.Generator
) -> tuple[Counts, dict[tuple[str, str], float]]:
    """Draw a window with its labels, and what is true of it."""
    positive = rng.binomial(SIZE, RATE)
    labeled_one = rng.binomial(positive[0], sens) + rng.binomial(SIZE[0] - positive[0], 1 - spec)
    found = rng.hypergeometric(positive[1], SIZE[1] - positive[1], PASSED)
    counts = Counts.of_matrix(
        tp=int(labeled_one),
        fp=int(SIZE[0] - labeled_one),
        fn=int(found),
        tn=int(PASSED - found),
        flagged_size=int(SIZE[0]),
        passed_size=int(SIZE[1]),
    )
    truth = {}
    for estimand, (flagged, passed) in (("window", positive), ("rate", SIZE * RATE)):
        truth[estimand, "precision"] = float(flagged / SIZE[0])
        truth[estimand, "recall"] = float(flagged / (flagged + passed))
    return counts, truth


def saved_of(design: Design, margins: dict[str, float]) -> str:
    """Labels of people with and without free ones, as a line of the table."""
    needs = []
    for is_free in (None, design.is_flagged):
        prospect = Prospect.of(
            design.size, design.is_flagged, PriorRates.of_rates(design.rate), is_free=is_free
        )
        labels = allocate(prospect, margins=margins, max_labels=MOST).labels
        needs.append(int(labels.sum() if is_free is None else labels[~is_free].sum()))
    alone, free = needs
    shares = f"{1 - free / alone:.2f}  {1 - (free + CHECKS) / alone:.2f}"
    sides = "  ".join(f"{half:9.2f}" for half in margins.values())
    return f"{design.name}  {sides}  {alone:6}  {free:9}  {shares}"


def change_row(change: tuple[Quality, Quality, int, float], replicates: int) -> str:
    """Coverage and half-width of precision in each way, as a line of the table."""
    before, after, since, repeats = change
    rng = np.random.default_rng(8)
    found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    cut = noted = 0
    for seed in range(replicates):
        past = [
            checked(*(after if left < since else before), CHECKS, rng, repeats)
            for left in reversed(range(12))
        ]
        counts, truth = _window(*(after if since else before), rng)
        together = PooledChecks.of([ClassChecks.unweighted(CheckCounts(*of)) for of in past])
        cut += together.change is not None
        noted += together.change is not None and together.change.probability < NOTED
        for is_tested, rows in found.items():
            of_all = LabelAudit(*np.sum(past, axis=0).tolist())
            try:
                audits = together.audits() if is_tested else [of_all]
            except NoBetterThanChance:  # by the newest checks alone
                continue
            how: dict[str, Any] = {"metrics": ["precision"], "estimands": ("window",), "seed": seed}
            row = corrected_estimates(counts, *(ClassAudits(each, None) for each in audits), **how)[
                0
            ]
            if row.low is not None and row.high is not None:
                value = truth["window", "precision"]
                rows.append((row.low <= value <= row.high, (row.high - row.low) / 2))
    texts = ["{:.3f} {:.3f}".format(*np.mean(each, axis=0)) for each in found.values()]
    ends = f"{before[0]:.2f} {before[1]:.2f}  {after[0]:.2f} {after[1]:.2f}  {since:5}{repeats:9}"
    return f"{ends}  {'  '.join(texts)}  {cut / replicates:5.2f}{noted / replicates:7.2f}"


def show_change(replicates: int) -> None:
    """Print what is left of a column's quality before a change."""
    print("before     after      since  repeats  pooled       tested         cut  noted")
    for change in CHANGES:
        print(change_row(change, replicates), flush=True)


def main(replicates: int = 200, change: bool = False) -> None:
    """Print coverage and width by quality of the column and rounds of checks, then labels saved."""
    if change:
        show_change(replicates)
        return
    ways = ("as given   ", "corrected  ", "rate       ") * 2
    print(f"{'':20}precision{'':30}recall")
    print(f"sens  spec  rounds  {'  '.join(ways)}  none")
    for setting in SETTINGS:
        print(row_of(*setting, replicates))
    print("\nstrata  precision     recall  people  free half  saved  with 40 checks")
    for design in (TWO, BANDS):
        for margins in MARGINS:
            print(saved_of(design, margins))
