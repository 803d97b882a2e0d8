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
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from monitor.stats.design.prospect import Prospect
    from monitor.stats.detection.scenario import Misses

ROOM = 0.05
"""A limit that nobody set is taken this far under the expected value."""

WITHIN = 4  # rounds: a month of weeks
PROBABILITY = 0.8  # of an alert within them
DROP = 0.10  # points under the expected value
PATHS = 400  # a probability of .8 is then right to about .02


@dataclass(frozen=True, slots=True)
class AlertPower:
    """What one limit, as set or as assumed, would find, and its metric before any drop.

    ``smallest_drops`` are those found within 4 rounds with probability 0.8, by where misses appear;
    ``None`` if no drop is. ``in_lowest_band`` only for recall where passed items have bands.
    ``median`` and ``mean`` are the rounds until a drop of 10 points is found; ``None`` if half of
    them never are, or if the metric cannot fall so far.
    """

    limit: Limit
    expected: float
    smallest_drops: Mapping[Misses, float | None]
    median: int | None
    mean: float | None

    @property
    def smallest_drop(self) -> float | None:
        """The one by misses in proportion."""
        return self.smallest_drops["in_proportion"]


def assumed_limits(prospect: Prospect) -> tuple[Limit, ...]:
    """Limits for a plan without any: 5 points under the precision and recall of the ``prospect``.

    A metric that is expected at 0.05 or less, or at 1, gets none.

    Examples
    --------
    >>> from monitor.stats.design.prospect import Prospect
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


def smallest_drops(
    scenario: Scenario,
    limits: Sequence[Limit],
    *,
    metric: str,
    every: float = 52,
    paths: int = PATHS,
) -> dict[Misses, float | None]:
    """Find the smallest drops that are found within 4 rounds in 8 of 10 cases (``smallest_drop``).

    By where the misses of a fall of recall appear. A metric other than recall, or passed items in
    one stratum, has ``in_proportion`` only.
    """
    where: list[Misses] = ["in_proportion"]
    if metric == "recall" and scenario.lowest_band is not None:
        where.append("in_lowest_band")
    return {
        misses: smallest_drop(
            scenario,
            limits,
            metric=metric,
            every=every,
            within=WITHIN,
            probability=PROBABILITY,
            paths=paths,
            misses=misses,
        )
        for misses in where
    }


def alert_power(
    prospect: Prospect,
    labels: ArrayLike,
    limits: Sequence[Limit],
    *,
    every: float = 52,
    paths: int = PATHS,
    bands: ArrayLike | None = None,
) -> tuple[AlertPower, ...]:
    """Foretell what each lower limit would find, all of them watched together.

    The ``prospect`` has its flagged strata first, and ``labels`` are its plan, ``(H,)``. Upper
    ``limits``, and those that the window cannot test, are watched but not returned. ``every`` is
    the promise: at most one false alarm per ``every`` rounds. ``bands`` is the band of each stratum
    where those are score cells: bands find what their cells find, and sooner than these are
    simulated (benchmarks/drops.py).

    Examples
    --------
    >>> from monitor.stats.design.prospect import Prospect
    >>> window = Prospect.assumed(precision=0.8, recall=0.6, flagged_rate=0.03, size=100_000)
    >>> [found, _] = alert_power(window, [260, 2440], assumed_limits(window), paths=100)
    >>> found.limit.metric, round(found.smallest_drop, 1)
    ('precision', 0.1)
    """
    scenario = Scenario.of(prospect.size, labels, prospect.is_flagged, prospect.prior_rates.rate)
    if bands is not None:
        scenario = scenario.summed(bands)
    powers = []
    for limit in limits:
        expected = scenario.value(limit.metric)
        if limit.side != "at_least" or expected is None:
            continue
        try:
            least = smallest_drops(scenario, limits, metric=limit.metric, every=every, paths=paths)
        except LimitCannotBeTested:
            continue
        delay = _delay(scenario, limits, limit.metric, every, paths)
        powers.append(AlertPower(limit, expected, least, *delay))
    return tuple(powers)


def _delay(
    scenario: Scenario, limits: Sequence[Limit], metric: str, every: float, paths: int
) -> tuple[int | None, float | None]:
    """Median and mean rounds until a drop of ``DROP`` is found."""
    try:
        after = scenario.dropped(metric, DROP)
    except ValueError:  # the metric cannot fall so far
        return None, None
    result = detection(scenario, after, limits, every=every, paths=paths)
    return result.median, result.mean_delay if result.median is not None else None
