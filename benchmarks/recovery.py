"""How soon an alert ends once its metric is back.

Population and limits as in `drift`, in 4 + 10 bands; the alert opens after 4 rounds 10 points down.
`late`: 2 points under the limit for 4 more rounds; `lowest`: only the lowest passed band is not
back; `by size`: a quarter of the passed labels by size. A row has the shares of alerts that have
ended after each number of rounds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.drift import QUIET, drawn_from_population, limits_of
from benchmarks.harness import Flags, Values, Whole
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.e_detector import log_e_factor
from monitor.stats.detection.half_space import Limit, half_space
from monitor.stats.detection.recovery import ERRORS, LOG_ENDS_AT, advance, opposite
from monitor.stats.detection.scenario import Scenario

Answers = tuple[list[Whole], list[Whole]]


DESIGNS = {  # labels per class, share of those of the passed that goes by size, metrics
    "360 labels": ((60, 300), 0.0, ("precision", "recall")),
    "360 labels, by size": ((60, 300), 0.25, ("recall",)),
    "1,250 labels": ((200, 1050), 0.0, ("precision", "recall")),
    "1,250 labels, by size": ((200, 1050), 0.25, ("recall",)),
}
BANDS = (4, 10)
DROP, BAD = 0.10, 4
WRONG, GOOD = (-0.02, 0.0), (0.03, 0.06)
ENDS, WRONG_ENDS = (4, 8, 20), (4, 8, 20, 52)
LATE = 4


def main(paths: int = 4000) -> None:
    """Print one table per number of labels."""
    for name in DESIGNS:
        print(f"\n{name} a round; share of alerts ended within {ENDS} or {WRONG_ENDS} rounds")
        for story in stories(name):
            show(story, paths)


@dataclass(frozen=True)
class Story:
    """What happens to one alert: rounds before the firing, and rounds from then on."""

    name: str
    limit: Limit
    before: Sequence[Scenario]
    after: Sequence[Scenario]
    ends: tuple[int, ...]
    first: int = 0  # place of the round from which endings are counted

    def answers(self, paths: int, seed: int) -> Answers:
        """Positives of every round before and after the firing, shape ``(paths, H)``."""
        rng = np.random.default_rng(seed)
        drawn = [
            rng.binomial(window.labeled, window.rates, (paths, window.size.size))
            for window in (*self.before, *self.after)
        ]
        return drawn[: len(self.before)], drawn[len(self.before) :]

    def shares(self, ended: Flags) -> list[float]:
        """Shares of paths, shape ``(rounds, paths)``, that have ended at each end."""
        return [float(ended[self.first + rounds - 1].mean()) for rounds in self.ends]


def stories(design: str) -> Iterator[Story]:
    """All distances from the limits of a design, then recoveries that come late."""
    labels, by_size, metrics = DESIGNS[design]
    scenario = with_share_by_size(drawn_from_population(BANDS, labels), by_size)
    for limit in limits_of(scenario):
        if limit.metric not in metrics:
            continue
        before = [scenario] * (1 + QUIET) + [scenario.dropped(limit.metric, DROP)] * BAD
        at = {by: scenario.moved(replace(limit, value=limit.value + by)) for by in (*WRONG, *GOOD)}
        for by, window in at.items():
            ends = ENDS if by in GOOD else WRONG_ENDS
            yield Story(f"{limit.metric} {by:+.2f}", limit, before, [window] * ends[-1], ends)
        if limit.metric == "recall":
            for by in WRONG:
                back, lowest = at[GOOD[0]], int(np.argmin(scenario.is_flagged))
                rates = moved_alone(back, replace(limit, value=limit.value + by), lowest)
                after = [replace(back, rates=rates)]
                yield Story(f"recall {by:+.2f} lowest", limit, before, after * 52, WRONG_ENDS)
        for by in GOOD:
            after = [at[WRONG[0]]] * LATE + [at[by]] * ENDS[-1]
            yield Story(f"{limit.metric} {by:+.2f} late", limit, before, after, ENDS, first=LATE)


def with_share_by_size(scenario: Scenario, share: float) -> Scenario:
    """Share a part of the labels of the passed out by the size of their strata."""
    down, size = ~scenario.is_flagged, scenario.size
    by_size = scenario.labeled[down].sum() * size[down] / size[down].sum()
    labeled = scenario.labeled.copy()
    labeled[down] = np.floor((1 - share) * labeled[down] + share * by_size)
    return replace(scenario, labeled=labeled)


def moved_alone(scenario: Scenario, limit: Limit, stratum: int) -> Values:
    """Rates with the metric at its limit by one stratum alone; out of [0, 1] if it cannot."""
    space = half_space(limit, scenario.size, scenario.is_flagged)
    rates = scenario.rates.copy()
    rates[stratum] += (space.d - space.c @ rates) / space.c[stratum] if space.c[stratum] else np.inf
    return rates


def show(story: Story, paths: int) -> None:
    """Print one story."""
    shares = story.shares(ended(story, story.answers(paths, seed=12)))
    print(f"{story.name:<21}{'  '.join(f'{share:.3f}' for share in shares)}")


def ended(story: Story, answers: Answers) -> Flags:
    """Which alerts have ended by our rule by each round, shape ``(rounds, paths)``."""
    before, after = answers
    paths, window, null = len(before[0]), story.after[0], opposite(story.limit)
    history = [window.counted(positive) for positive in before]
    log_r, over = np.full(paths, -np.inf), np.zeros((len(after), paths), dtype=np.bool_)
    for t, positive in enumerate(after):
        counts = window.counted(positive)
        log_e = log_e_factor(null, counts, guess(history), errors=(ERRORS,))
        log_r = advance(log_r, t, log_e[:, 0])
        over[t] = log_r >= LOG_ENDS_AT
        history.append(counts)
    return np.asarray(np.maximum.accumulate(over, axis=0))
