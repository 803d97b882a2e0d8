"""Precision with a judge that drifts, beside truescore: intervals, alarms, and drops found.

The streams of `rival_alarms`: 3,000 flagged items a round, a verdict on each, precision .85 and
from round 20 on .75 or .70. The judge is `steady`, or from round 20 on `stricter`, with a TPR of
.87 in place of .97, or `lenient`, with an FPR of .40 in place of .10. `labels` and `verdicts` are
truescore's confidence sequences for the newest rounds, the best of two kinds and of 1, 2, 4 and 10
rounds; `verdicts` need no labels, and know the share of yes at the limit. `ppi++` and
`rogan-gladen` correct the verdicts of a round by its labels, and alarm if their interval is below
the limit, at the budget shared by rounds. All may raise .2 false alarms in 52 rounds.

First the intervals of the round after the drop to .75, and `at once` those of the mean of all 53
rounds without a drop: how often they hold the truth, in each round so far, and their half-widths.
Then the alarms: the mean delay, the share found in four rounds, and alarms in 33 rounds after a
drop to the limit itself, where .13 are allowed. Rules without verdicts are the same for each judge.
Needs `truescore`, 0.7 or newer.
"""

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy import special

from benchmarks import rival_alarms
from benchmarks.harness import Values, Whole
from benchmarks.rival_alarms import (
    AFTER,
    BUDGET,
    DROPS,
    FPR,
    ITEMS,
    LEVEL,
    LIMIT,
    QUIET,
    TPR,
    YEAR,
    Rule,
    Stream,
    counts_by_verdict,
    stream,
)
from monitor.stats.core.levels import normal_quantile
from monitor.stats.core.metrics import metric
from monitor.stats.estimation.cell_matrix import matrix_draws, weighted_matrix
from monitor.stats.history.running_mean import TUNED_FOR, running_interval

JUDGES = {"steady": (TPR, FPR), "stricter": (0.87, FPR), "lenient": (TPR, 0.40)}
KINDS, WINDOWS = ("empirical_bernstein", "hoeffding"), (1, 2, 4, 10)
ENDS, POINTS = (0.025, 0.975), 2**9
AT_LIMIT, DROPPED = DROPS[:2]

Found = Callable[[Stream, int], Any]
"""Points, low and high ends of a round of each stream, shape ``(3, streams)``."""


def main(labels: tuple[int, ...] = (200, 60), streams: int = 60, many: int = 1500) -> None:
    """Print both tables for each number of labels; ``many`` streams for our fast rules."""
    for count in labels:
        print_intervals(count, streams)
        print_alarms(count, streams, many)


def print_intervals(count: int, streams: int) -> None:
    """Print how often intervals hold the precision, and how wide they are."""
    heads = "".join(f"{f'{judge}: held':>16}{'half':>7}" for judge in JUDGES)
    print(f"\n{f'{count} labels a round':<34}{heads}")
    for name, way in WAYS.items():
        cells = ""
        for judge in JUDGES.values():
            _, low, high = way(stream(count, DROPPED, 5 * streams, judge), QUIET)
            cells += _described(low, high, DROPPED)
        print(f"{name:<34}{cells}", flush=True)
    for name, at_once in SEQUENCES.items():
        cells = ""
        for judge in JUDGES.values():
            low, high = at_once(stream(count, LEVEL, streams, judge))
            cells += _described(low, high, LEVEL)
        print(f"{f'at once: {name}':<34}{cells}", flush=True)


def _described(low: Values, high: Values, truth: float) -> str:
    """Say how often intervals hold the truth in all their rounds, and how wide the last is."""
    low, high = np.atleast_2d(low), np.atleast_2d(high)
    held = ((low <= truth) & (truth <= high)).all(axis=0).mean()
    return f"{held:16.3f}{(high - low)[-1].mean() / 2:7.3f}"


def of_labels(drawn: Stream, at: int) -> Any:
    """Take the labels of a round for one stratum."""
    yes, no = drawn.positive[at], (drawn.yes + drawn.no - drawn.positive)[at]
    ends = (special.betaincinv(0.5 + yes, 0.5 + no, end) for end in ENDS)
    return np.array([yes / (yes + no), *ends])


def of_strata(drawn: Stream, at: int) -> Any:
    """Take a stratum for each verdict."""
    precision, found = metric("precision"), []
    one_round = Stream(*(part[at : at + 1] for part in drawn))
    for counts in next(counts_by_verdict(one_round)):
        values = precision(matrix_draws(counts, seed=1, points=POINTS, cells=True).of("rate"))
        found.append((float(precision(weighted_matrix(counts))), *np.quantile(values, ENDS)))
    return np.array(found).T


def corrected(estimator: str, alpha: float, drawn: Stream, at: int) -> Any:
    """Let truescore correct the verdicts of a round by its labels."""
    estimate, found = getattr(importlib.import_module("truescore.correct"), estimator), []
    for each in zip(*(part[at] for part in drawn), strict=True):
        hits, misses, yes, no, rest = map(int, each)
        labels = np.repeat([1, 0, 1, 0], [hits, yes - hits, misses, no - misses])
        verdicts = np.repeat([1, 0, 1, 0], [yes, no, rest, ITEMS - yes - no - rest])
        parts = (verdicts, labels, np.arange(yes + no))
        answer = estimate(
            *(parts[:1] if estimator == "judge_only_estimate" else parts), alpha=alpha
        )
        found.append((answer.point, answer.low, answer.high))
    return np.array(found).T


WAYS: dict[str, Found] = {
    "ours": of_labels,
    "ours, with a verdict": of_strata,
    "truescore, ppi++": partial(corrected, "ppi_estimate", 0.05),
    "truescore, rogan-gladen": partial(corrected, "rogan_gladen_estimate", 0.05),
    "truescore, verdicts alone": partial(corrected, "judge_only_estimate", 0.05),
}


def mean_of_rounds(way: Found, drawn: Stream) -> Any:
    """Take our mean of all rounds so far, after each of them: ``(2, rounds, streams)``."""
    rounds = np.array([way(drawn, at) for at in range(QUIET + AFTER)])
    points, low, high = rounds.swapaxes(0, 1)
    errors = np.maximum(points - low, high - points) / normal_quantile(0.95)
    found = np.empty((2, *points.shape))
    for t, path in np.ndindex(points.shape):
        until = slice(t + 1)
        answer = running_interval(points[until, path].tolist(), errors[until, path].tolist())
        found[:, t, path] = answer.low, answer.high
    return found


def sequence(kind: str, drawn: Stream) -> Any:
    """Take truescore's confidence sequence of all labels, after each round."""
    found, count = [], int(drawn.yes[0, 0] + drawn.no[0, 0])
    of_all = importlib.import_module("truescore.sequential").confidence_sequence
    for values in _in_order(drawn.positive, count):
        answer = of_all(values, method=kind, target_n=TUNED_FOR * count)
        found.append(
            (answer.lower_bounds[count - 1 :: count], answer.upper_bounds[count - 1 :: count])
        )
    return np.array(found).transpose(1, 2, 0)


SEQUENCES: dict[str, Callable[[Stream], Any]] = {
    "ours": partial(mean_of_rounds, of_labels),
    "ours, with a verdict": partial(mean_of_rounds, of_strata),
    **{f"truescore, {kind.split('_')[-1]}": partial(sequence, kind) for kind in KINDS},
}


def _in_order(ones: Whole, count: int) -> Iterator[Values]:
    """Yield the zeros and ones of each stream, as many a round, in a random order within it."""
    rng = np.random.default_rng(count)
    for path in range(ones.shape[1]):
        rounds = (np.arange(count) < ones[:, [path]]).astype(float)
        yield rng.permuted(rounds, axis=1).ravel()


def print_alarms(count: int, streams: int, many: int) -> None:
    """Print how soon each rule finds the drops, and how often it alarms at the limit."""
    heads = "".join(f"{f'to {after:.2f}: mean':>15}{'in 4':>7}" for after in DROPS[1:])
    print(f"\n{f'{count} labels a round':<34}{heads}{'at .80':>9}{'streams':>9}")
    for judge, rates in JUDGES.items():
        for name, rule, paths in rules(count, streams, many, only_verdicts=judge != "steady"):
            described = ""
            for after in (*DROPS[1:], AT_LIMIT):
                delay = rule(stream(count, after, paths, rates), count)
                if after == AT_LIMIT:
                    described += f"{(delay <= AFTER).mean():9.2f}"
                else:
                    described += (
                        f"{np.minimum(delay, AFTER).mean():15.1f}{(delay <= 4).mean():7.2f}"
                    )
            print(f"{f'{judge}: {name}':<34}{described}{paths:9}", flush=True)


def rules(
    count: int, streams: int, many: int, *, only_verdicts: bool
) -> Iterator[tuple[str, Rule, int]]:
    """Yield the rules with their streams; those without verdicts are the same for each judge."""
    if not only_verdicts:
        yield "ours", rival_alarms.detector, many
        yield (
            "truescore, labels",
            best(partial(excluded, of_verdicts=False), count, streams),
            streams,
        )
    yield "ours, with a verdict", rival_alarms.detector_with_verdict, streams
    yield "truescore, verdicts", best(partial(excluded, of_verdicts=True), count, streams), streams
    for name, estimator in (("ppi++", "ppi_estimate"), ("rogan-gladen", "rogan_gladen_estimate")):
        yield f"truescore, {name}", partial(below_limit, estimator), streams


def best(rule: Callable[..., Whole], count: int, streams: int) -> Rule:
    """Choose the kind and the rounds by which the drop is found soonest by a steady judge."""
    drawn = stream(count, DROPPED, streams // 4)
    ways = [partial(rule, kind, window) for kind, window in product(KINDS, WINDOWS)]
    return min(ways, key=lambda way: float(np.minimum(way(drawn, count), AFTER).mean()))


def excluded(kind: str, window: int, drawn: Stream, count: int, *, of_verdicts: bool) -> Whole:
    """Find when a confidence sequence of the newest rounds rules the limit out."""
    found = []
    rule = importlib.import_module("truescore.sequential").windowed_exclusion
    ones = (drawn.yes + drawn.yes_of_rest) if of_verdicts else drawn.positive
    each = ITEMS if of_verdicts else count
    for values in _in_order(ones[QUIET:], each):
        at = rule(
            values,
            LIMIT * TPR + (1 - LIMIT) * FPR if of_verdicts else LIMIT,
            window=window * each,
            alpha=BUDGET,
            method=kind,
            planned_windows=YEAR // window,
        )
        found.append(AFTER + 1 if at is None else (at - 1) // each + 1)
    return np.array(found)


def below_limit(estimator: str, drawn: Stream, _: int) -> Whole:
    """Find when a corrected interval of one round is below the limit."""
    way = partial(corrected, estimator, 2 * BUDGET / YEAR)
    is_below = np.array([way(drawn, at)[2] < LIMIT for at in range(QUIET, QUIET + AFTER)])
    return np.where(is_below.any(axis=0), is_below.argmax(axis=0) + 1, AFTER + 1)
