"""How often notices come in ordinary rounds, and how soon after something happened.

`frame` looks at stratum sizes, in windows whose mix is steady, wobbles from week to week (log odds
of all items by N(0, .3^2), alone or with a memory of .8), or wobbles in every stratum. `predictive`
and `changed` look at labels; the log odds of a class's rates wobble by N(0, s^2) a round, or its
wrong answers grow in the last round. Shares of rounds with a notice.
"""

import functools
from collections.abc import Callable, Sequence
from datetime import timedelta

import numpy as np
from scipy import special

from benchmarks.harness import Values, Whole
from benchmarks.strata import drawn_scores, moved_to
from monitor.domain.model import Stratum
from monitor.domain.settings import Pooling, RoundSettings, Schedule
from monitor.rounds.estimation.anomalies import round_anomalies
from monitor.rounds.estimation.history import history_states
from monitor.rounds.estimation.tally import Tally
from monitor.stats.design.score_bands import band_edges, band_of
from monitor.stats.drift.shift import window_distances
from monitor.storage.samples.frame_store import StratumTally

PAST = (3, 6, 12, 26)
FLAGGED = np.array([False] * 5 + [True] * 3)
LABELS = {  # shared out by size times spread, passed bands first
    "200+1050": np.array([303, 189, 186, 185, 185, 63, 63, 72.0]),
    "60+300": np.array([86, 54, 53, 53, 53, 19, 19, 21.0]),
}
DAY = timedelta(days=1)
SETTINGS = RoundSettings(
    schedule=Schedule(cron="0 6 * * MON"), deadline=DAY, late_labels=DAY, pooling=Pooling()
)


def main(replicates: int = 400) -> None:
    """Print the table of each kind."""
    frame_quiet(replicates)
    frame_moved(replicates // 2)
    labels_table(replicates)


def frame_quiet(replicates: int) -> None:
    """Print how often ordinary windows get a frame notice."""
    rng = np.random.default_rng(1)
    print("frame notices in ordinary windows, by earlier windows of the history")
    print(f"{'mix':<26}{'items':>9}" + "".join(f"{past:>8}" for past in PAST))
    for name, mix in MIXES.items():
        for items in (500, 20_000, 1_000_000):
            shares = [
                np.mean([_is_told(mix, items, past, 0.0, rng) for _ in range(replicates)])
                for past in PAST
            ]
            print(f"{name:<26}{items:>9}" + "".join(f"{share:8.3f}" for share in shares))


def frame_moved(replicates: int) -> None:
    """Print how often a window whose items' log odds all moved gets a frame notice."""
    rng = np.random.default_rng(2)
    print("\nframe notices in a window whose items moved, by earlier windows of the history")
    print(f"{'mix':<26}{'items':>9} flagged" + "".join(f"{past:>8}" for past in PAST))
    for name in ("steady", "wobbles together"):
        for items in (2000, 100_000):
            for moved in (0.5, 1.0, 1.5):
                shares = [
                    np.mean(
                        [_is_told(MIXES[name], items, past, moved, rng) for _ in range(replicates)]
                    )
                    for past in PAST
                ]
                ratio = share_of(moved)[5:].sum() / share_of(0.0)[5:].sum()
                cells = "".join(f"{share:8.2f}" for share in shares)
                print(f"{name:<26}{items:>9}   x{ratio:.2f}{cells}")


def _is_told(
    mix: Callable[[int, float, np.random.Generator], Values],
    items: int,
    past: int,
    moved: float,
    rng: np.random.Generator,
) -> bool:
    windows = [rng.multinomial(items, share) for share in mix(past + 1, moved, rng)]
    distances = window_distances(windows[-1], windows[:-1], FLAGGED)
    return any(move.is_unusual for move in distances)


@functools.cache
def _edges() -> tuple[Sequence[float], Sequence[float]]:
    """Band edges of the passed and the flagged class."""
    p, up = drawn_scores()
    return band_edges(p[~up], 5), band_edges(p[up], 3)


def _strata(moved: float) -> tuple[Values, Whole]:
    """Probability of each item when all log odds moved, and its stratum in order of score."""
    passed, flagged = _edges()
    p, up = drawn_scores(moved=moved)
    return p, np.where(up, 5 + band_of(p, flagged), band_of(p, passed))


@functools.cache
def share_of(moved: float) -> Values:
    """Share of each stratum, in order of score, when all log odds moved."""
    _, stratum = _strata(moved)
    return np.bincount(stratum, minlength=8) / len(stratum)


def _moved(by: Values) -> Values:
    return np.array([share_of(round(float(each) * 20) / 20) for each in by])


def _steady(windows: int, moved: float, rng: np.random.Generator) -> Values:
    del rng
    return _moved(np.append(np.zeros(windows - 1), moved))


def _together(windows: int, moved: float, rng: np.random.Generator) -> Values:
    return _moved(rng.normal(0, 0.3, windows) + np.append(np.zeros(windows - 1), moved))


def _slowly(windows: int, moved: float, rng: np.random.Generator) -> Values:
    level = [rng.normal(0, 0.3)]
    for _ in range(windows - 1):
        level.append(0.8 * level[-1] + rng.normal(0, 0.18))
    level[-1] += moved
    return _moved(np.array(level))


def _in_every_stratum(windows: int, moved: float, rng: np.random.Generator) -> Values:
    shares = rng.dirichlet(500 * share_of(0.0), windows)
    return np.vstack([shares[:-1], rng.dirichlet(500 * share_of(moved), 1)])


MIXES = {
    "steady": _steady,
    "wobbles together": _together,
    "wobbles slowly": _slowly,
    "wobbles in every stratum": _in_every_stratum,
}


def labels_table(replicates: int) -> None:
    """Print how often labels give a notice, in ordinary rounds and in the first after a drop."""
    print("\nnotices from labels, in the last of 3 to 20 rounds")
    print(f"{'labels':<10}{'what happened':<18}{'predictive':>11}{'changed':>9}{'either':>8}")
    p, stratum = _strata(0.0)
    size = np.bincount(stratum, minlength=8)
    rate = np.bincount(stratum, weights=p, minlength=8) / size
    drops = [(metric, by) for metric in ("precision", "recall") for by in (0.05, 0.1, 0.15)]
    for name, labels in LABELS.items():
        for wobble in (0.0, 0.1, 0.2):
            told = [_told(size, labels, rate, wobble, seed) for seed in range(replicates)]
            _print_told(name, f"wobble {wobble:g}", told)
        for metric, by in drops:
            found = (size * rate)[FLAGGED].sum()
            among = size[FLAGGED].sum() if metric == "precision" else (size * rate).sum()
            now = moved_to(size, FLAGGED, rate, {metric: found / among - by})
            told = [_told(size, labels, rate, 0.0, s, now=now) for s in range(replicates // 2)]
            _print_told(name, f"{metric} -{by:g}", told)


def _print_told(labels: str, happened: str, told: list[tuple[bool, bool]]) -> None:
    share = np.array(told).mean(axis=0)
    cells = f"{share[0]:>11.3f}{share[1]:>9.3f}{np.array(told).any(axis=1).mean():>8.3f}"
    print(f"{labels:<10}{happened:<18}{cells}")


def _told(
    size: Whole, labels: Values, rate: Values, wobble: float, seed: int,
    *, now: Values | None = None,
) -> tuple[bool, bool]:  # fmt: skip
    """Play one history and say whether its last round has a notice of either kind."""
    rng = np.random.default_rng(seed)
    past = int(rng.integers(2, 20))
    rates = [_wobbled(rate, wobble, rng) for _ in range(past)]
    rates.append(_wobbled(rate if now is None else now, wobble, rng))
    *earlier, last = (_tally(size, labels, rate, rng) for rate in rates)
    known = history_states([*earlier, last], None, SETTINGS.pooling)[-1]
    kinds = {row.kind for row in round_anomalies(last, earlier, known, SETTINGS, seed=seed)}
    return "predictive" in kinds, "changed" in kinds


def _wobbled(rate: Values, spread: float, rng: np.random.Generator) -> Values:
    """Rates whose log odds moved by one number for each class."""
    moved = np.where(FLAGGED, *rng.normal(0, spread, 2))
    return np.asarray(special.expit(special.logit(np.clip(rate, 1e-9, 1 - 1e-9)) + moved))


def _tally(size: Whole, labels: Values, rate: Values, rng: np.random.Generator) -> Tally:
    n = labels.astype(np.int64)
    rows = zip(FLAGGED, size, n, rng.binomial(n, rate), strict=True)
    return Tally(
        tuple(
            StratumTally(Stratum(f"{h}", bool(up)), int(items), int(asked), int(asked), int(y))
            for h, (up, items, asked, y) in enumerate(rows)
        )
    )
