"""How soon a segment that is worse is named, and how many are named wrongly.

1,250 labels a round in 3 + 5 bands. Two columns, of 20 and of 10 values, cut each band alike; all
values and pairs of them are searched, 230. One value, of 5 % of the items, has 4.5 or 3 times the
odds of error. A name is right if it is this value or a pair with it. `twice` draws the value twice
as often as the others, which keeps the test but takes labels from the rest.
"""

import numpy as np
from scipy import special

from benchmarks.harness import Flags, Values, Whole
from benchmarks.label_error import BANDS
from monitor.stats.detection.worse_segments import log_ratios, worse_segments

CLIENTS = np.array([0.05, 0.25, 0.12, *[0.06] * 5, *[0.03] * 7, *[0.0142] * 5])
TEAMS = np.array([0.4, 0.2, *[0.05] * 8])
SINGLE = len(CLIENTS) + len(TEAMS)
PAIRS = len(CLIENTS) * len(TEAMS)
PRIOR = np.repeat([0.5 / SINGLE, 0.5 / PAIRS], [SINGLE, PAIRS])
BAD = 0
"""Place of the client that is worse, if one is."""
FLAGGED, PASSED = BANDS.is_flagged, ~BANDS.is_flagged
WORSE = {"both": FLAGGED | PASSED, "precision": FLAGGED, "recall": PASSED}


def errors_of(labels: Whole, factor: float, where: Flags, rng: np.random.Generator) -> Whole:
    """Draw the errors of labels, shape ``(clients, teams, H)``, one client worse by a factor."""
    rate = np.where(FLAGGED, 1 - BANDS.rate, BANDS.rate)
    log_odds = np.tile(special.logit(rate), (*labels.shape[:2], 1))
    log_odds[BAD, :, where] += np.log(factor)
    return rng.binomial(labels, special.expit(log_odds))


def parts(counts: Whole) -> Whole:
    """Sum counts by client, by team and by pair, shape ``(230, H)``."""
    return np.vstack([counts.sum(axis=1), counts.sum(axis=0), counts.reshape(-1, counts.shape[2])])


def round_ratios(
    factor: float, where: Flags, rng: np.random.Generator, twice: bool = False
) -> Values:
    """Log ratios of a round by class, shape ``(230, 2, len(ODDS))``."""
    share = CLIENTS * np.where((np.arange(len(CLIENTS)) == BAD) & twice, 2, 1)
    joint = np.multiply.outer(share / share.sum(), TEAMS / TEAMS.sum())
    labels = rng.multinomial(BANDS.labels, joint.ravel()).T.reshape(*joint.shape, -1)
    errors = errors_of(labels, factor, where, rng)
    return ratios(labels.sum(axis=(0, 1)), errors.sum(axis=(0, 1)), parts(labels), parts(errors))


def ratios(whole: Whole, wrong: Whole, own: Whole, own_wrong: Whole) -> Values:
    """Log ratios by class of counts of a round and of parts of it, ``(H,)`` and ``(parts, H)``."""
    of_class = ((whole[up], wrong[up], own[:, up], own_wrong[:, up]) for up in (FLAGGED, PASSED))
    return np.stack([log_ratios(*counts) for counts in of_class], axis=1)


def is_right(index: int) -> bool:
    """Whether a place among those searched is the worse client, or a pair with it."""
    return index == BAD or SINGLE <= index < SINGLE + len(TEAMS)


def quiet(histories: int, rounds: int) -> None:
    """Print how often anything is named in histories without a worse segment."""
    rng, ever = np.random.default_rng(1), np.zeros(rounds)
    everywhere = WORSE["both"]
    for _ in range(histories):
        past = [round_ratios(1.0, everywhere, rng) for _ in range(rounds)]
        ratios = np.stack(past, axis=1)
        named = [bool(worse_segments(ratios[:, :t], PRIOR)) for t in range(1, rounds + 1)]
        ever += np.maximum.accumulate(named)
    first, last = ever[0] / histories, ever[-1] / histories
    print(f"{histories} quiet histories: named in round 1 {first:.3f}, ever in {rounds} {last:.3f}")


def found(name: str, factor: float, before: int, histories: int, drawn: str = "equal") -> None:
    """Print how often the worse client is named within so many rounds after it became worse."""
    rng, where = np.random.default_rng(2), WORSE[name]
    named_by, wrong, covered = np.zeros(4), [], []
    for _ in range(histories):
        ratios = [round_ratios(1.0, where, rng, drawn == "twice") for _ in range(before)]
        is_named = False
        for after in range(4):
            ratios.append(round_ratios(factor, where, rng, drawn == "twice"))
            named = worse_segments(np.stack(ratios, axis=1), PRIOR)
            is_named |= any(one.index == BAD for one in named)
            named_by[after] += is_named
        if named:
            wrong.append(np.mean([not is_right(one.index) for one in named]))
            covered += [
                one.low <= factor and (one.high is None or factor <= one.high)
                for one in named
                if one.index == BAD and one.kind == name and one.rounds <= 4
            ]
    cells = " ".join(f"{value:5.2f}" for value in named_by / histories)
    print(
        f"{name:10} {factor:4} {before:7}  {drawn:7} {cells}"
        f"   {sum(wrong) / histories:8.3f}   {np.mean(covered) if covered else np.nan:8.3f}"
    )


def main(histories: int = 200, quiet_histories: int = 1000, rounds: int = 12) -> None:
    """Print what is named in quiet histories, then within 1 to 4 rounds of a worse segment."""
    quiet(quiet_histories, rounds)
    print("\nworse       odds  before  drawn   round 1     2     3     4   wrongly    covered")
    for name in WORSE:
        for factor, before in ((4.5, 0), (4.5, 12), (3.0, 0)):
            found(name, factor, before, histories)
    found("recall", 4.5, 0, histories, "twice")
