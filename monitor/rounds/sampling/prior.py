"""Prior of the strata's rates of a round: from the reference, and from earlier rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from monitor.domain.model import BandEdges
from monitor.rounds.estimation.history import pooled_before
from monitor.rounds.sampling.cells import rates_of_cells
from monitor.rounds.sampling.rebin import binned, earlier_rounds, pooled_reference
from monitor.stats.design.prior import PriorRates
from monitor.storage.results.past_counts import PastRound, read_past

if TYPE_CHECKING:
    from monitor.domain.settings import RoundSettings
    from monitor.rounds.context import MonitorContext
    from monitor.rounds.sampling.rebin import References
    from monitor.rounds.sampling.window_scan import WindowScan
    from monitor.storage.rounds.round_store import Round


def rates_before(
    context: MonitorContext,
    round_: Round,
    scan: WindowScan,
    reference: Mapping[str, tuple[int, int]] | None,
) -> PriorRates | None:
    """Find what the reference and the earlier rounds of the history say of the strata's rates.

    They are pooled band by band, and smoothed along the score where strata are cells.
    """
    earlier: list[PastRound] = []
    if scan.known is not None:
        with context.database.read() as connection:
            earlier = read_past(connection, scan.known.id, before=round_.slot)
    strata = scan.edges.strata()
    if round_.settings.sample.cells is not None:
        return rates_of_cells(strata, [part.size for part in scan.frame.strata], earlier, reference)
    pooled = pooled_before(earlier, strata, reference, round_.settings.pooling)
    return None if pooled is None else PriorRates.of_posterior(pooled)


def reference_of(context: MonitorContext, round_: Round, scan: WindowScan) -> References | None:
    """Positive and labeled per stratum from before the history, where that is known."""
    if scan.known is not None:
        return scan.known.reference
    if scan.edges.judged:
        return None  # items that were labeled before have no verdict of this judge
    before = _before_launch(context, round_.settings, scan.edges)
    with context.database.read() as connection:
        rounds = earlier_rounds(connection, round_, scan.version)
        if not rounds:
            return before
        sizes = {part.stratum.name: part.size for part in scan.frame.strata}
        return pooled_reference(
            connection,
            rounds,
            scan.edges,
            before,
            hazard=round_.settings.pooling.hazard,
            restart=round_.settings.pooling.restart,
            cells=None if round_.settings.sample.cells is None else sizes,
        )


def _before_launch(
    context: MonitorContext, settings: RoundSettings, edges: BandEdges
) -> References | None:
    if context.reference is not None:
        return binned(context.reference(), edges)
    matrix = settings.reference
    if matrix is None or edges != BandEdges():
        return None  # four counts spread over bands mislead; the plan still uses them
    return {
        "flagged": (matrix.tp, matrix.tp + matrix.fp),
        "passed": (matrix.fn, matrix.fn + matrix.tn),
    }
