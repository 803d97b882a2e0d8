"""Rounds made up from counts alone."""

from monitor.domain.model import Stratum
from monitor.rounds.estimation.tally import Tally
from monitor.storage.samples.frame_store import StratumTally


def tally_of(*, flagged, low, high):
    """A round with one flagged and two passed strata: size, labeled, positive of each."""
    rows = (("flagged", flagged), ("passed/1", low), ("passed/2", high))
    return Tally(
        tuple(
            StratumTally(
                stratum=Stratum(name, flagged=name == "flagged"), size=size, planned=labeled,
                labeled=labeled, positive=positive, declined=0,
            )
            for name, (size, labeled, positive) in rows
        )
    )  # fmt: skip
