"""Rounds made up from counts alone, and what the last of them says."""

from monitor.domain.model import BandEdges, Stratum
from monitor.rounds.estimation.estimate import estimate_round
from monitor.rounds.estimation.history import before_launch, cells_to_pool, history_states
from monitor.rounds.estimation.tally import Tally
from monitor.storage.samples.frame_store import StratumTally

THREE = (
    Stratum("flagged", flagged=True),
    Stratum("passed/1", flagged=False),
    Stratum("passed/2", flagged=False),
)


def tally(frame, size, labeled, positive):
    """A round of these strata, in which people answered all that they were asked."""
    counts = zip(frame, size, labeled, positive, strict=True)
    return Tally(
        tuple(StratumTally(of, int(n), int(m), int(m), int(y), 0) for of, n, m, y in counts)
    )


def tally_of(*, flagged, low, high):
    """A round with one flagged and two passed strata: size, labeled, positive of each."""
    return tally(THREE, *zip(flagged, low, high, strict=True))


def tally_by_class(tp, fp, fn, tn, *, flagged, passed):
    """A round of one stratum a class: its four counts of labels, and the sizes."""
    return tally(BandEdges().strata(), [flagged, passed], [tp + fp, fn + tn], [tp, fn])


def known_of(rounds, asked, reference=None):
    """What is known of the rates after the last of some rounds."""
    launch = before_launch(rounds[-1].frame, reference)
    cells = cells_to_pool(rounds[-1].frame, asked.sample)
    return history_states(rounds, launch, asked.pooling, cells=cells)[-1]


def estimated(rounds, asked, reference=None, checked=None, arrived=None):
    """What the last of some rounds estimates."""
    *earlier, now = rounds
    known = known_of(rounds, asked, reference)
    return estimate_round(
        now,
        earlier,
        known,
        evidence=[now],
        reference=reference,
        settings=asked,
        seed=3,
        checked=checked,
        arrived=arrived,
    )
