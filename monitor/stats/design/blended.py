"""Plans of first rounds, by rates that no label of the round has tested.

Such rates may be wrong: scores, or the labels of another model version. So a plan by them is
blended with one that has no bands (``BlendedDesign``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.design.neyman import AllocationProblem, coefficients_of, optimum
from monitor.stats.design.rounding import proportional_above

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.stats.core.arrays import Floats
    from monitor.stats.design.prospect import Prospect


LEAST_PASSED = 0.25
"""Share of a round's labels that the passed class gets at least while only scores are known. It
costs precision at most 1.15 times its width (benchmarks/results/tried.txt)."""


@dataclass(frozen=True, slots=True, eq=False)
class BlendedDesign:
    """The problem, the same without bands, and the weight of the latter's plan.

    For rounds before which no band has been labeled: a plan by wrong scores can cost nearly twice
    as much as no bands at all. So the plan is a mean of two for the same margins: with weight b the
    plan without bands, where each predicted class is one stratum with the class's mean rate and its
    labels are spread over the bands in proportion to size. No class then gets less than the share b
    of what no bands would give it.

    Nor do the scores settle alone how the classes share the labels. Where they claim a low recall
    its margin seems to need hardly any, and all labels but the floors would go to the flagged: a
    cell with two labels may then hold most misses. So the passed class gets ``LEAST_PASSED`` of
    them or more.
    """

    problem: AllocationProblem
    pooled: AllocationProblem | None = None
    blend: float = 0.0

    def plan(self, margins: Mapping[str, float], factor: float) -> Floats:
        """Plan for the margins times a factor; not yet whole numbers, shape ``(H,)``."""
        scaled = {name: factor * margin for name, margin in margins.items()}
        if self.pooled is None:
            return optimum(self.problem, scaled)
        by_band = optimum(replace(self.problem, share_by_size=self._more_by_size()), scaled)
        by_class = optimum(self.pooled, scaled)
        flagged, total = float(by_class[self.pooled.is_flagged].sum()), float(by_class.sum())
        spread = spread_by_class(self.problem, flagged, total)
        return self._enough_passed((1 - self.blend) * by_band + self.blend * spread)

    def _enough_passed(self, labels: Floats) -> Floats:
        """Add labels by size to a passed class that has less than its least share."""
        up, down = self.problem.is_flagged, ~self.problem.is_flagged
        least = LEAST_PASSED / (1 - LEAST_PASSED) * float(labels[up].sum())
        if float(labels[down].sum()) < least:
            low, size = self.problem.low[down], self.problem.most[down]
            spread = proportional_above(low, size, min(least, float(size.sum())))
            labels[down] = np.maximum(labels[down], spread)
        return labels

    def _more_by_size(self) -> float:
        """Share by size that the plan by band still needs, since the other one is all by size."""
        share = self.problem.share_by_size
        return (share - self.blend) / (1 - self.blend) if share > self.blend else 0.0


def without_bands(problem: AllocationProblem, prospect: Prospect) -> AllocationProblem:
    """Make one stratum of each class that has items, the flagged one first."""
    pooled = prospect.without_bands
    coefficients, _ = coefficients_of(pooled.size, pooled.is_flagged, pooled.prior_rates)
    floors = [problem.low[problem.is_flagged == flagged].sum() for flagged in pooled.is_flagged]
    return replace(
        problem,
        size=pooled.size.astype(np.float64),
        most=pooled.available.astype(np.float64),
        is_flagged=pooled.is_flagged,
        low=np.array(floors),
        coefficients=coefficients,
        doubt=np.zeros(len(pooled.size)),
        cost=pooled.cost,
    )


def spread_by_class(problem: AllocationProblem, flagged: float, total: float) -> Floats:
    """Give the flagged class its labels, the passed the rest; by size within each class.

    Every stratum keeps its floor and what it can give, and so may move labels to the other class.
    The total must lie between the floors and all items.
    """
    up, down = problem.is_flagged, ~problem.is_flagged
    least = max(float(problem.low[up].sum()), total - float(problem.most[down].sum()))
    most = min(float(problem.most[up].sum()), total - float(problem.low[down].sum()))
    flagged = min(max(flagged, least), most)
    labels = np.empty(len(up))
    labels[up] = proportional_above(problem.low[up], problem.most[up], flagged)
    labels[down] = proportional_above(problem.low[down], problem.most[down], total - flagged)
    return labels


BLENDS = {"scores": 0.9, "history": 0.25}
"""Weight of the plan without bands, in which each predicted class is one stratum with its labels
spread over the bands by size, in first rounds, by what their rates come from.

Scores that order each class the wrong way round then cost at most 3 % more than no bands, without
the blend 1.8 times as much (benchmarks/results/tried.txt). The labels of another model version are
trusted more, but cells that were pure need not be so now (benchmarks/results/tried.txt)."""
