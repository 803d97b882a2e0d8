"""What the alerts would find with a plan: smallest drop within some rounds, delay of a large one.

By simulation of the detector on the planned labels, see `monitor.stats.detection.delay`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.stats.detection.delay import detection, smallest_drop
from monitor.stats.detection.half_space import Limit, LimitCannotBeTested
from monitor.stats.detection.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from monitor.stats.design.planning import Prospect

ROOM = 0.05
"""A limit that nobody set is taken this far under the expected value."""

WITHIN = 4  # rounds: a month of weeks
PROBABILITY = 0.8  # of an alert within them
DROP = 0.10  # points under the expected value
PATHS = 400  # a probability of .8 is then right to about .02


@dataclass(frozen=True, slots=True)
class AlertPower:
    """What one limit would find.

    Parameters
    ----------
    limit
        The limit, as set or as assumed.
    expected
        Expected value of its metric before any drop.
    smallest_drop
        Smallest drop found within 4 rounds with probability 0.8; ``None`` if no drop is.
    median, mean
        Rounds until a drop of 10 points is found; ``None`` if half of them never are, or if the
        metric cannot fall so far.
    """

    limit: Limit
    expected: float
    smallest_drop: float | None
    median: int | None
    mean: float | None


def assumed_limits(prospect: Prospect) -> tuple[Limit, ...]:
    """Limits for a plan without any: 5 points under the expected precision and recall.

    Parameters
    ----------
    prospect
        The window; a metric that is expected at 0.05 or less, or at 1, gets none.

    Examples
    --------
    >>> from monitor.stats.design.planning import Prospect
    >>> window = Prospect.assumed(precision=0.8, recall=0.6, flagged_rate=0.03, size=100_000)
    >>> [(each.metric, round(each.value, 2)) for each in assumed_limits(window)]
    [('precision', 0.75), ('recall', 0.55)]
    """
    expected = prospect.expected
    return tuple(
        Limit(name, expected[name] - ROOM, "at_least")
        for name in ("precision", "recall")
        if ROOM < expected.get(name, 0.0) < 1
    )


def alert_power(
    prospect: Prospect,
    labels: ArrayLike,
    limits: Sequence[Limit],
    *,
    every: float = 52,
    paths: int = PATHS,
    seed: int = 0,
) -> tuple[AlertPower, ...]:
    """Foretell what each lower limit would find, all of them watched together.

    Parameters
    ----------
    prospect
        The window, flagged strata first.
    labels
        Its plan, shape ``(H,)``.
    limits
        All that is watched. Upper limits, and those that the window cannot test, are watched but
        not returned.
    every
        The promise: at most one false alarm per so many rounds.
    paths, seed
        Simulated histories.

    Examples
    --------
    >>> from monitor.stats.design.planning import Prospect
    >>> window = Prospect.assumed(precision=0.8, recall=0.6, flagged_rate=0.03, size=100_000)
    >>> [found, _] = alert_power(window, [260, 2440], assumed_limits(window), paths=100)
    >>> found.limit.metric, round(found.smallest_drop, 1)
    ('precision', 0.1)
    """
    scenario = Scenario.of(prospect.size, labels, prospect.is_flagged, prospect.prior_rates.rate)
    powers = []
    for limit in limits:
        expected = scenario.value(limit.metric)
        if limit.side != "at_least" or expected is None:
            continue
        try:
            least = smallest_drop(
                scenario,
                limits,
                metric=limit.metric,
                every=every,
                within=WITHIN,
                probability=PROBABILITY,
                paths=paths,
                seed=seed,
            )
        except LimitCannotBeTested:
            continue
        delay = _delay(scenario, limits, limit.metric, every, paths, seed)
        powers.append(AlertPower(limit, expected, least, *delay))
    return tuple(powers)


def _delay(
    scenario: Scenario, limits: Sequence[Limit], metric: str, every: float, paths: int, seed: int
) -> tuple[int | None, float | None]:
    """Median and mean rounds until a drop of ``DROP`` is found."""
    try:
        found = detection(
            scenario, limits, metric=metric, drop=DROP, every=every, paths=paths, seed=seed
        )
    except ValueError:  # the metric cannot fall so far
        return None, None
    return found.median, found.mean_delay if found.median is not None else None
