"""How soon a drop of precision is found: the detector, GLIDE, truescore, and two common rules.

Streams like GLIDE's own validation: flagged items whose precision is .85, and from round 20 on .75
or .70, with a limit of .80. All may raise .2 false alarms in 52 rounds. `ours` has one stratum,
`with a verdict` two, by a judge who says yes to .97 of the positives and .10 of the negatives (a
correlation of .85). `pprm` are GLIDE's `AsymptoticPPRM` with that judge as the proxy, and
`classical` its monitor without one, both on the last 10 batches and on all of them. `exact` is a
binomial test each round, `z-test` one by the normal law on the last rounds together, `cusum` knows
the drop; both begin anew after an alarm and are tuned by simulation at the limit. The mean delay
counts rounds until the alarm, at most 33; `x cusum` is its ratio to that of the CUSUM that knows
this drop; `in 4` is the share found within four; `at .80` are alarms in 33 rounds after a drop to
the limit itself. Needs `glide-py` and Python 3.12; without, it leaves its rows out.

With `truescore`, 0.7 or newer, the judge is `steady`, or from round 20 on `stricter`, with a TPR of
.87, or `lenient`, with an FPR of .40; rules without verdicts are the same for each. `labels` and
`verdicts` are its confidence sequences for the newest rounds, the best of two kinds and of 1, 2, 4
and 10 rounds; `verdicts` need no labels, and know the share of yes at the limit. `ppi++` and
`rogan-gladen` correct the verdicts of a round by its labels, and alarm if their interval is below
the limit, at the budget shared by rounds.
"""

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from benchmarks.fresh_windows import REMEMBERED
from benchmarks.harness import Values, Whole
from monitor.stats.core.counts import Counts
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.delay import Paths
from monitor.stats.detection.e_detector import Evidence, log_threshold
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.random_shares import log_e_path_of_shares

LIMIT, LEVEL, DROPS = 0.80, 0.85, (0.80, 0.75, 0.70)
QUIET, AFTER, YEAR, BUDGET = 20, 33, 52, 0.2
TPR, FPR, ITEMS, WINDOW = 0.97, 0.10, 3_000, 10
OF_PRECISION = Limit("precision", LIMIT, "at_least")
JUDGES = {"steady": (TPR, FPR), "stricter": (0.87, FPR), "lenient": (TPR, 0.40)}
KINDS, WINDOWS = ("empirical_bernstein", "hoeffding"), (1, 2, 4, WINDOW)
WARM = 4  # evidence by verdict is read from so many rounds before the drop on


class Stream(NamedTuple):
    """Positives and verdicts of labeled and of all items: ``(rounds, streams)`` each.

    ``hits`` are the labeled positives to which the judge says yes, ``misses`` those with a no, and
    ``yes`` and ``no`` the labeled items with each verdict.
    """

    hits: Whole
    misses: Whole
    yes: Whole
    no: Whole
    yes_of_rest: Whole

    @property
    def positive(self) -> Whole:
        """Labeled positives."""
        return self.hits + self.misses


Rule = Callable[[Stream, int], Whole]
"""The round of each stream's first alarm from the drop on, from 1; `AFTER` + 1 without one."""


def main(labels: tuple[int, ...] = (200, 60), streams: int = 1500, few: int = 40) -> None:
    """Print a line for each rule: fast ones on all streams, GLIDE's on a few of them."""
    for count in labels:
        heads = "".join(f"{f'to {a:.2f}: mean':>15}{'x cusum':>9}{'in 4':>7}" for a in DROPS[1:])
        print(f"\n{f'{count} labels a round':<32}{heads}{'at .80':>9}{'streams':>9}")
        best = {after: mean(cusum(count, after), count, after, streams) for after in DROPS[1:]}
        for name, rule, paths in rules(count, streams, few):
            print(f"{name:<32}{described(rule, count, paths, best)}{paths:9}", flush=True)
        for judge, rates in JUDGES.items() if find_spec("truescore") else ():
            for name, rule, paths in truescore_rules(count, few, is_steady=judge == "steady"):
                row = described(rule, count, paths, best, rates)
                print(f"{f'{judge}: {name}':<32}{row}{paths:9}", flush=True)


def rules(count: int, streams: int, few: int) -> Iterator[tuple[str, Rule, int]]:
    """Yield every rule with the number of streams that it is run on."""
    yield "ours", detector, streams
    yield "ours, with a verdict", detector_with_verdict, 2 * few
    yield "exact test each round", exact_test, streams
    for last in (4, WINDOW):
        yield f"z-test, last {last}", z_test(count, last), streams
    for drop in DROPS[1:]:
        yield f"cusum that knows {drop:.2f}", cusum(count, drop), streams
    if find_spec("glide") is None:
        print("glide-py is not installed: no rows of GLIDE")
        return
    for name, window in ((f"last {WINDOW}", WINDOW), ("all", None)):
        yield f"classical, {name}", glide("AsymptoticClassicalRM", window), few
        yield f"pprm, {name}", glide("AsymptoticPPRM", window), few


def truescore_rules(count: int, few: int, *, is_steady: bool) -> Iterator[tuple[str, Rule, int]]:
    """Yield truescore's rules beside ours; those without verdicts only for the steady judge."""
    if is_steady:
        yield "truescore, labels", best_of(partial(excluded, of_verdicts=False), count, few), few
    yield "ours, with a verdict", detector_with_verdict, few
    yield "truescore, verdicts", best_of(partial(excluded, of_verdicts=True), count, few), few
    for name, estimator in (("ppi++", "ppi_estimate"), ("rogan-gladen", "rogan_gladen_estimate")):
        yield f"truescore, {name}", partial(below_limit, estimator), few


def described(
    rule: Rule,
    count: int,
    paths: int,
    best: dict[float, float],
    judge: tuple[float, float] = (TPR, FPR),
) -> str:
    """Say how soon a rule finds each drop, and how often it alarms at the limit."""
    text, at_limit = "", 0.0
    for after in DROPS:
        delay = rule(stream(count, after, paths, judge), count)
        if after == LIMIT:
            at_limit = float((delay <= AFTER).mean())
        else:
            middle = np.minimum(delay, AFTER).mean()
            text += f"{middle:15.1f}{middle / best[after]:9.2f}{(delay <= 4).mean():7.2f}"
    return f"{text}{at_limit:9.2f}"


def mean(rule: Rule, count: int, after: float, paths: int) -> float:
    """Mean delay of a rule."""
    return float(np.minimum(rule(stream(count, after, paths), count), AFTER).mean())


def stream(count: int, after: float, paths: int, judge: tuple[float, float] = (TPR, FPR)) -> Stream:
    """Draw streams; each drop and each number of labels has its own.

    ``judge`` is its TPR and FPR from the drop on.
    """
    rng = np.random.default_rng((count, round(100 * after)))
    is_quiet = (np.arange(QUIET + AFTER) < QUIET)[:, np.newaxis]
    now = zip((LEVEL, TPR, FPR), (after, *judge), strict=True)
    rate, tpr, fpr = (np.where(is_quiet, *values) for values in now)
    shape = (QUIET + AFTER, paths)
    positive = rng.binomial(count, rate, shape)
    hits, wrong = rng.binomial(positive, tpr), rng.binomial(count - positive, fpr)
    rest = rng.binomial(ITEMS - count, rate * tpr + (1 - rate) * fpr, shape)
    yes = hits + wrong
    return Stream(hits, positive - hits, yes, count - yes, rest)


def first_alarm(fired: Any) -> Whole:
    """Turn flags of shape ``(rounds, streams)`` into the round of the first from the drop on."""
    late = np.asarray(fired)[QUIET:]
    return np.where(late.any(axis=0), late.argmax(axis=0) + 1, AFTER + 1)


def detector(drawn: Stream, count: int) -> Whole:
    """Run the detector on one stratum."""
    watched = Paths([OF_PRECISION], YEAR / BUDGET, drawn.yes.shape[1])
    size, labeled, is_flagged = np.full(2, ITEMS), np.array([count, 0]), np.array([True, False])
    alarms = []
    for positive in drawn.positive:
        answers = np.stack([positive, np.zeros_like(positive)], axis=-1)
        alarms.append(watched.close(Counts(size, labeled, answers, is_flagged))[0])
    return first_alarm(alarms)


def detector_with_verdict(drawn: Stream, _: int) -> Whole:
    """Read the evidence of a stratum for each verdict, as many labels of each as it has items."""
    return np.array([_first_alarm_of(each) for each in zip(*counts_by_verdict(drawn), strict=True)])


def _first_alarm_of(rounds: Sequence[Counts]) -> int:
    threshold, evidence = log_threshold(YEAR / BUDGET, 1), Evidence()
    for at in range(QUIET - WARM, len(rounds)):
        earlier = rounds[max(0, at - REMEMBERED) : at]
        log_e = log_e_path_of_shares(OF_PRECISION, [rounds[at]], guess(earlier), None, earlier)
        evidence = evidence.after(log_e[-1])
        if evidence.fires(threshold):
            if at >= QUIET:
                return at - QUIET + 1
            evidence = Evidence()
    return AFTER + 1


def counts_by_verdict(drawn: Stream) -> Iterator[list[Counts]]:
    """Count flagged items in a stratum for each verdict, a no first: of each round its streams."""
    cell, is_flagged = np.zeros(3, dtype=np.int64), np.array([True, True, False])
    for of_round in zip(*drawn, strict=True):
        streams = []
        for each in zip(*of_round, strict=True):
            hits, misses, yes, no, rest = map(int, each)
            size = np.array([ITEMS - yes - rest, yes + rest, ITEMS])
            labeled, positive = np.array([no, yes, 0]), np.array([misses, hits, 0])
            streams.append(Counts(size, labeled, positive, is_flagged, cell=cell))
        yield streams


def exact_test(drawn: Stream, count: int) -> Whole:
    """Test each round that precision is at least the limit, at the budget shared by rounds."""
    return first_alarm(stats.binom.cdf(drawn.positive, count, LIMIT) <= BUDGET / YEAR)


def cusum(count: int, after: float) -> Rule:
    """Sum likelihood ratios of a drop against the limit."""
    of_yes, of_no = math.log(after / LIMIT), math.log((1 - after) / (1 - LIMIT))

    def fired(positive: Whole, threshold: float) -> Any:
        total, flags = np.zeros(positive.shape[1]), []
        for y in positive:
            total = np.maximum(0, total + y * of_yes + (count - y) * of_no)
            flags.append(total >= threshold)
            total[flags[-1]] = 0
        return np.array(flags)

    return tuned(fired, count)


def z_test(count: int, window: int) -> Rule:
    """Test the last rounds together by the normal law at the limit."""

    def fired(positive: Whole, threshold: float) -> Any:
        paths = positive.shape[1]
        short, rounds, flags = np.zeros((window, paths)), np.zeros(paths), []
        for t, y in enumerate(positive):
            short[t % window], rounds = count * LIMIT - y, np.minimum(rounds + 1, window)
            spread = np.sqrt(count * rounds * LIMIT * (1 - LIMIT))
            flags.append(short.sum(axis=0) / spread >= threshold)
            short[:, flags[-1]], rounds = 0, np.where(flags[-1], 0, rounds)
        return np.array(flags)

    return tuned(fired, count)


def tuned(fired: Callable[[Whole, float], Any], count: int) -> Rule:
    """Find the least threshold that keeps the budget of false alarms at the limit."""
    at_limit = np.random.default_rng(count).binomial(count, LIMIT, (YEAR, 4000))
    low, high = 0.0, 1000.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        alarms = fired(at_limit, middle).sum() / at_limit.shape[1]
        low, high = (middle, high) if alarms > BUDGET else (low, middle)
    return lambda drawn, _: first_alarm(fired(drawn.positive, high))


def glide(name: str, window: int | None) -> Rule:
    """Run a monitor of GLIDE after each round, on the last batches or on all."""
    kind = getattr(importlib.import_module("glide.monitors"), name)

    def delays(drawn: Stream, count: int) -> Whole:
        return np.array(
            [_delay(kind(), drawn, count, path, window) for path in range(drawn.yes.shape[1])]
        )

    return delays


def _delay(monitor: Any, drawn: Stream, count: int, path: int, window: int | None) -> int:
    batches = [_batch(drawn, count, at, path) for at in range(QUIET + AFTER)]
    for end in range(QUIET, QUIET + AFTER):
        part = batches[0 if window is None else end + 1 - window : end + 1]
        truth, proxy = (np.concatenate([batch[i] for batch in part]) for i in (0, 1))
        of_batch = np.repeat(np.arange(len(part)), [len(batch[0]) for batch in part])
        fields = (truth, proxy, of_batch) if "PPRM" in type(monitor).__name__ else (truth, of_batch)
        found = monitor.detect(
            *fields, higher_is_better=True, threshold=LIMIT, confidence_level=1 - BUDGET
        )
        if found.drift_detected:
            return end - QUIET + 1
    return AFTER + 1


def _batch(drawn: Stream, count: int, at: int, path: int) -> tuple[Values, Values]:
    """Return the answers of a batch, NaN where there is none, and the judge's verdicts."""
    hits, misses, yes, no, rest = (int(each[at, path]) for each in drawn)
    truth = np.repeat([1.0, 0.0, 1.0, 0.0], [hits, yes - hits, misses, no - misses])
    proxy = np.repeat([1.0, 0.0], [yes, no])
    others = np.repeat([1.0, 0.0], [rest, ITEMS - count - rest])
    return np.concatenate([truth, np.full(len(others), np.nan)]), np.concatenate([proxy, others])


def best_of(rule: Callable[..., Whole], count: int, streams: int) -> Rule:
    """Choose the kind and the rounds by which the drop is found soonest by a steady judge."""
    drawn = stream(count, DROPS[1], streams // 4)
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
    rounds = range(QUIET, QUIET + AFTER)
    is_below = np.array([upper_end(estimator, drawn, at) < LIMIT for at in rounds])
    return np.where(is_below.any(axis=0), is_below.argmax(axis=0) + 1, AFTER + 1)


def upper_end(estimator: str, drawn: Stream, at: int) -> Values:
    """Let truescore correct the verdicts of a round by its labels, at the budget of a round."""
    estimate, found = getattr(importlib.import_module("truescore.correct"), estimator), []
    for each in zip(*(part[at] for part in drawn), strict=True):
        hits, misses, yes, no, rest = map(int, each)
        labels = np.repeat([1, 0, 1, 0], [hits, yes - hits, misses, no - misses])
        verdicts = np.repeat([1, 0, 1, 0], [yes, no, rest, ITEMS - yes - no - rest])
        answer = estimate(verdicts, labels, np.arange(yes + no), alpha=2 * BUDGET / YEAR)
        found.append(answer.high)
    return np.array(found)


def _in_order(ones: Whole, count: int) -> Iterator[Values]:
    """Yield the zeros and ones of each stream, as many a round, in a random order within it."""
    rng = np.random.default_rng(count)
    for path in range(ones.shape[1]):
        rounds = (np.arange(count) < ones[:, [path]]).astype(float)
        yield rng.permuted(rounds, axis=1).ravel()
