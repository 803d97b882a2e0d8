"""From the counts of a round to draws of its confusion matrix, by bands or by score cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from monitor.stats.core.draws import draw, round_posterior
from monitor.stats.estimation.cell_matrix import cell_matrix

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.stats.core.counts import Counts
    from monitor.stats.core.draws import Estimand, JointPosterior
    from monitor.stats.core.metrics import Matrix


@dataclass(frozen=True, slots=True)
class MatrixDraws:
    """The matrix of each estimand in many draws, and how they were made, in a few words."""

    of: Callable[[Estimand], Matrix]
    method: str


def matrix_draws(
    counts: Counts,
    *,
    seed: int,
    points: int,
    cells: bool,
    posterior: JointPosterior | None = None,
) -> MatrixDraws:
    """Draw the matrices of a round: see ``posterior.estimates`` for what is given."""
    if cells:
        if posterior is not None:
            message = "score cells have a posterior of their own; leave posterior out"
            raise ValueError(message)
        method = f"Beta posterior by score cells, {points} Sobol points"
        return MatrixDraws(partial(cell_matrix, counts, seed=seed, points=points), method)
    posterior = round_posterior(counts) if posterior is None else posterior
    _check_strata(counts, posterior)
    draws = draw(posterior, seed=seed, points=points, size=counts.size)
    kind = "Beta mixture" if posterior.components > 1 else "Beta"
    method = f"joint {kind} posterior, {points} Sobol points"
    return MatrixDraws(partial(draws.matrix, counts), method)


def _check_strata(counts: Counts, posterior: JointPosterior) -> None:
    flagged = int(counts.is_flagged.sum())
    ours = (flagged, len(counts.size) - flagged)
    theirs = (posterior.flagged.strata, posterior.passed.strata)
    if ours != theirs:
        message = (
            f"the counts have {ours[0]} flagged and {ours[1]} passed strata, "
            f"the posterior {theirs[0]} and {theirs[1]}"
        )
        raise ValueError(message)
