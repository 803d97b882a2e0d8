"""Coverage of the truth when labels err, with and without correction.

Labels are right on positive items with probability `sens` and on negative ones with `spec`; an
audit looked at so many of each. `as given` takes labels for the truth, `ours` is
`monitor.stats.labels`; `none` counts the rounds in which ours says that labels and audit contradict
each other.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness import Flags, Values, Whole
from monitor.stats.core.counts import Counts
from monitor.stats.core.metrics import Matrix, metric
from monitor.stats.estimation.posterior import MetricEstimate, estimates
from monitor.stats.labels.audit import LabelAudit
from monitor.stats.labels.label_error import corrected_estimates

METRICS = ("precision", "recall")
POINTS = 2**10
QUALITIES = (  # sensitivity, specificity, audited positives and negatives
    *((1.0, 1.0, (100, 1000)), (0.95, 0.999, (100, 1000)), (0.95, 0.99, (100, 1000))),
    *((0.95, 0.99, (400, 4000)), (0.90, 0.95, (400, 4000))),
)


@dataclass(frozen=True)
class Design:
    """Strata, their true rates and labels, shape ``(H,)``."""

    name: str
    rate: Values
    size: Whole
    labels: Whole
    is_flagged: Flags

    def counts(self, size: Whole, labeled: Whole, positive: Whole) -> Counts:
        """Make counts of these strata."""
        return Counts.of_arrays(
            size=size, labeled=labeled, positive=positive, is_flagged=self.is_flagged
        )

    def value(self, name: str, positive: Values | Whole, size: Whole) -> float:
        """Compute a metric from the positives and sizes of the strata."""
        up = self.is_flagged
        cells = (each[of].sum() for of in (up, ~up) for each in (positive, size - positive))
        return float(metric(name)(Matrix(*cells)))


TWO = Design(
    "1 + 1",
    np.array([0.79, 0.0179]),
    np.array([46_000, 1_000_000]),
    np.array([307, 1943]),
    np.array([True, False]),
)
BANDS = Design(
    "3 + 5",
    np.array([0.62, 0.80, 0.93, 0.0004, 0.002, 0.008, 0.03, 0.12]),
    np.array([9000, 9000, 9000, 700_000, 150_000, 70_000, 30_000, 14_000]),
    np.array([66, 67, 67, 300, 220, 200, 180, 150]),
    np.arange(8) < 3,
)


def audit_of(
    sens: float, spec: float, size: tuple[int, int], rng: np.random.Generator
) -> LabelAudit:
    """Draw what an audit finds."""
    tp, tn = rng.binomial(size[0], sens), rng.binomial(size[1], spec)
    return LabelAudit(tp=int(tp), fn=int(size[0] - tp), tn=int(tn), fp=int(size[1] - tn))


def ends_of(rows: list[MetricEstimate]) -> dict[str, tuple[float, float]]:
    """Give the ends of each interval that there is."""
    given = {row.metric: row.interval for row in rows}
    return {name: (each.low, each.high) for name, each in given.items() if each is not None}


def row_of(design: Design, sens: float, spec: float, size: tuple[int, int], replicates: int) -> str:
    """Coverage and width of each way, as a line of the table."""
    rng = np.random.default_rng(5)
    ways = ("as given", "ours")
    hits: dict[tuple[str, str], list[bool]] = {(w, m): [] for w in ways for m in METRICS}
    widths: dict[tuple[str, str], list[float]] = {key: [] for key in hits}
    none = 0
    seen = design.rate * sens + (1 - design.rate) * (1 - spec)
    truths = {m: design.value(m, design.size * design.rate, design.size) for m in METRICS}
    for replicate in range(replicates):
        positive = rng.binomial(design.labels, seen)
        audit = audit_of(sens, spec, size, rng)
        counts = design.counts(design.size, design.labels, positive)
        how: dict[str, Any] = {"metrics": METRICS, "estimands": ("rate",), "seed": replicate}
        found = {
            "as given": ends_of(estimates(counts, points=POINTS, **how)),
            "ours": ends_of(corrected_estimates(counts, audit, **how)),
        }
        none += not found["ours"]
        for (way, name), covered in hits.items():
            if name in found[way]:
                low, high = found[way][name]
                covered.append(low <= truths[name] <= high)
                widths[way, name].append(high - low)
    cells = "  ".join(
        f"{np.mean(hits[way, name]):.3f} {np.mean(widths[way, name]):.3f}"
        for name in METRICS
        for way in ways
    )
    return cells + f"  {none:4}"


def main(replicates: int = 600) -> None:
    """Print coverage and width per design, quality of the labels, audit and way."""
    print(f"{'':32}precision{'':18}recall")
    head = "  ".join(f"{way:11}" for way in ("as given", "ours") * 2)
    print(f"strata  sens  spec   audit      {head}  none")
    for design in (TWO, BANDS):
        for sens, spec, size in QUALITIES:
            row = row_of(design, sens, spec, size, replicates)
            print(f"{design.name}  {sens:5.2f} {spec:6.3f} {size[0]:4} {size[1]:5}  {row}")
