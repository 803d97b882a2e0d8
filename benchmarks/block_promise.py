"""What a block of 30 monitors promises: false alarms a year, and rounds until a drop is found.

    python -m benchmarks block_promise [--monitors 30] [--paths 2000]

Each monitor flags 160 of 5,000 items and has 500 labels a round. Prints the false alarms of the
whole block in 52 rounds in which precision and recall of all monitors are exactly at their limits,
where they are most, once with a promise of 1 in 52 rounds by each monitor, once by the block; and
the share of drops of precision by 10 and 20 points found within 4 rounds, the limit 3 points under
it. Means add up, so they hold however the samples overlap. Takes ten seconds.
"""

from monitor.stats.detection.delay import detection, false_alarms
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.scenario import Scenario

EVERY = 52
SIZE, LABELED, FLAGGED, RATES = [160, 4840], [100, 400], [True, False], [0.86, 0.02]
DROPS = (0.1, 0.2)


def main(monitors: int = 30, paths: int = 2000) -> None:
    """Print a line for each promise."""
    scenario = Scenario.of(SIZE, LABELED, FLAGGED, RATES)
    precision = scenario.value("precision") or 0.0
    recall = scenario.value("recall") or 0.0
    at = [Limit("precision", precision, "at_least"), Limit("recall", recall, "at_least")]
    below = [Limit("precision", precision - 0.03, "at_least")]
    for name, every in (("each", EVERY), ("the block", EVERY * monitors)):
        alarms = monitors * false_alarms(scenario, at, every=every, paths=paths)
        found = [
            detection(
                scenario,
                below,
                metric="precision",
                drop=drop,
                every=every,
                paths=paths,
            ).detected_within[3]
            for drop in DROPS
        ]
        shown = ", ".join(
            f"-{drop:.0%} {share:.2f}" for drop, share in zip(DROPS, found, strict=True)
        )
        print(f"{name:10} promises: {alarms:6.2f} false alarms a year; in 4 rounds {shown}")
