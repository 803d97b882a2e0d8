"""What reading a round block by block finds sooner, and what it costs in false alarms.

Limits 5 points under the levels of precision and recall, one false alarm a year promised over both.
`blocks 1` is evidence of whole rounds. Found within 4 rounds, the drop from 5 points above the
limit. False alarms: a year with both metrics exactly at their limits; `missing` answers, of each
class at random, count in favor of the limits, as labels that come too late do at a closing.

``--proxies``: the same drops where cells of a score, and verdicts of a judge by column, cut the
strata: 20+40 cells, or half of each by verdict, planned by the rates of quiet rounds, with equal
margins but where `P` is named beside .05 for recall. The judge says yes to as many of each kind of
item after a drop as before it (`judge`): what moves are the sizes of the strata.

``--early``: how much sooner alerts fire in open rounds, on the streams of ``rival_alarms``
(precision .85, from round 20 on .75 or .70, limit .80, .2 false alarms in 52 rounds) and in bands.
Answers come at an even pace in the order of the tasks, which is random over the strata. An alert
counts as fired when all answers up to its block are there; missing ones may fire it sooner. `open`
is the share that fires before the closing. False alarms are counted with every block read: with
metrics at their limits, and 5 points over them. Then in rounds that are read before answers are
settled too: `late` labels come after the closing, in the next round, half of them never. In
`disputes` three tenths of the answers against the limits, and as many of the others, were the
opposite until an adjudicator decided, which open rounds wait for; `not waited for` reads the first
answers, `one way` if only good ones were bad.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from benchmarks import cells, judge
from benchmarks import rival_alarms as rivals
from benchmarks.cells import CELLS, edges
from benchmarks.drift import DESIGNS, METRICS, drawn_from_population, level, rates_at
from benchmarks.harness import Flags, Values, Whole
from benchmarks.label_cost import MARGIN
from benchmarks.strata import cut_classes, drawn_scores
from monitor.stats.core.counts import Counts
from monitor.stats.design.cell_sizes import expected_sizes, systematic_sizes
from monitor.stats.design.prospect import SHARE_BY_SIZE
from monitor.stats.detection.blocks import BLOCKS, prefix_sizes
from monitor.stats.detection.delay import Paths
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.scenario import Scenario

LABELS = ((200, 1050), (60, 300))
ROOM, YEAR, QUIET, WITHIN = 0.05, 52, 8, 4
LEVELS: dict[str, tuple[float, float] | None] = {"Phi1": None, ".85 / .75": (0.85, 0.75)}
DROPS = [(metric, by) for metric in METRICS for by in (0.10, 0.15)]
COUNTS = (1, BLOCKS)
PROXIES: dict[str, tuple[str, str | None, tuple[int, int], float]] = {
    "good score": ("good", None, CELLS, 1.0),
    "good score, P .04, 5+10 cells": ("good", None, (5, 10), 0.8),
    "good score, judge .8 / .02": ("good", "TPR .8, FPR .02", judge.HALF, 1.0),
    "weak score, judge .8 / .02": ("weak", "TPR .8, FPR .02", judge.HALF, 1.0),
    "weak score, judge .8 / .02, P .03": ("weak", "TPR .8, FPR .02", judge.HALF, 0.6),
    "weak score, judge .9 / .01": ("weak", "TPR .9, FPR .01", judge.HALF, 1.0),
    "weak score, judge .9 / .01, P .03": ("weak", "TPR .9, FPR .01", judge.HALF, 0.6),
    "weak score, shared mistakes": ("weak", "shares mistakes", judge.HALF, 1.0),
}
"""Score, judge, cells of each class, and the margin of precision over that of recall."""
UNSETTLED = {
    "late .02": (0.02, 0.0, 0.0),
    "late .1": (0.1, 0.0, 0.0),
    "disputes": (0.0, 0.3, 0.0),
    "both, late .02": (0.02, 0.3, 0.0),
    "not waited for": (0.0, 0.3, 0.3),
    "one way": (0.0, 0.0, 0.3),
}
"""Shares of labels that are late, and of answers against the limits: of those that are read as for
them before a decision, and of as many for them that are read as against them."""
PRECISION, DAYS = [Limit("precision", rivals.LIMIT, "at_least")], 5


@dataclass(frozen=True, eq=False)
class Watched:
    """A design in a quiet time: its strata, and its expected labels where they vary."""

    scenario: Scenario
    expected: Values | None = None

    def window(self, rng: np.random.Generator) -> Scenario:
        """Strata of one more round."""
        if self.expected is None:
            return self.scenario
        return replace(self.scenario, labeled=systematic_sizes(self.expected, rng.random()))


def main(
    paths: int = 2000, years: int = 10_000, early: bool = False, proxies: bool = False
) -> None:
    """Print how soon drops are found, then false alarms; or one of the other comparisons."""
    if proxies:
        show_proxies(paths)
    elif early:
        show_early(paths, years)
    else:
        show_blocks(paths, years)


def show_blocks(paths: int, years: int) -> None:
    """Print how soon drops are found, then false alarms, by the number of blocks."""
    head = "".join(f"{metric:>11} -{by:.2f}" for metric, by in DROPS)
    print(f"found within {WITHIN} rounds, {paths} paths\n{'':<47}blocks{head}")
    for labels in LABELS:
        for name, design in designs(labels).items():
            for levels, values in LEVELS.items():
                at = design if values is None else with_levels(design, *values)
                for blocks in COUNTS:
                    falls = (replace(at, scenario=at.scenario.dropped(*drop)) for drop in DROPS)
                    row = "".join(
                        f"{found(at, fall, drop[0], blocks, paths):16.3f}"
                        for fall, drop in zip(falls, DROPS, strict=True)
                    )
                    print(f"{sum(labels):>5,}  {name:<24}{levels:<16}{blocks:>6}{row}", flush=True)
    print(f"\nfalse alarms a year, both metrics exactly at their limits, {years} years")
    print(f"{'':<47}blocks{'all answers':>14}{'.1 missing':>14}{'.3 missing':>14}")
    for labels in LABELS:
        design = designs(labels)["3+5 bands"]
        for blocks in COUNTS:
            quiet = at_limits(design), limits_of(design), YEAR, years, blocks
            row = "".join(f"{alarms_of(*quiet, lost):14.3f}" for lost in (0, 0.1, 0.3))
            print(f"{sum(labels):>5,}  {'3+5 bands':<24}{'Phi1':<16}{blocks:>6}{row}", flush=True)


def show_proxies(paths: int) -> None:
    """Print how soon drops are found with a good score or a judge's verdicts."""
    head = "".join(f"{metric:>11} -0.10" for metric in METRICS)
    print(f"found within {WITHIN} rounds, {paths} paths\n{'':<58}flagged{head}")
    for labels, name, levels in product(map(sum, LABELS), PROXIES, LEVELS):
        quiet, *falls = with_proxy(labels, levels, name)
        row = "".join(
            f"{found(quiet, fall, metric, BLOCKS, paths):16.3f}"
            for fall, metric in zip(falls, METRICS, strict=True)
        )
        flagged = np.asarray(quiet.expected)[quiet.scenario.is_flagged].sum()
        print(f"{labels:>5,}  {name:<39}{levels:<12}{flagged:7.0f}{row}", flush=True)


def with_proxy(labels: int, levels: str, proxy: str) -> Iterator[Watched]:
    """Plan rounds by the rates of a quiet one: itself, and after a drop of each metric."""
    score, verdict, cut_into, ratio = PROXIES[proxy]
    design = cells.cut(cells.scored("Phi1", score), cut_into)
    by = np.subtract(LEVELS[levels] or design.truth, design.truth)
    margins = {"precision": ratio * MARGIN, "recall": MARGIN}
    known = np.empty(0)
    for drop in ((0.0, 0.0), (0.1, 0.0), (0.0, 0.1)):
        now = judge.moved(design, *by - np.array(drop))
        if verdict is not None:
            now = judge.judged(now, judge.JUDGES[verdict])
        known = known if known.size else np.clip(now.rate, 1e-9, 1 - 1e-9)
        strata = now.size, now.is_flagged
        plan = expected_sizes(*strata, known, labels=labels, share=SHARE_BY_SIZE, margins=margins)
        yield Watched(Scenario.of(now.size, 0 * plan, now.is_flagged, now.rate), plan)


def show_early(paths: int, years: int) -> None:
    """Print what alerts do not wait for in open rounds, then false alarms."""
    print(f"{'':<52}{'labels':>10}{f'of {DAYS} days':>12}{'open':>8}")
    for count in (200, 60):
        streams = one_stratum(count)
        for after in rivals.DROPS[1:]:
            rates = np.where(streams.scenario.is_flagged, after, streams.scenario.rates)
            row = sooner(streams, rates, PRECISION, YEAR / rivals.BUDGET, paths)
            print(
                f"{count:>5,}  {'one stratum':<24}precision to {after:.2f}{'':<4}{row}", flush=True
            )
    for labels in LABELS:
        bands = designs(labels)["3+5 bands"]
        for metric, drop in DROPS:
            rates = bands.scenario.dropped(metric, drop).rates
            row = sooner(bands, rates, limits_of(bands), YEAR, paths)
            name = f"{metric} -{drop:.2f}"
            print(f"{sum(labels):>5,}  {'3+5 bands':<24}{name:<21}{row}", flush=True)
    print(f"\nfalse alarms a year, {years} years\n{'':<52}{'at limits':>10}{'5 over':>12}")
    for count in (200, 60):
        s = one_stratum(count).scenario
        every = YEAR / rivals.BUDGET
        at_limit, over = (alarms_of(at, PRECISION, every, years) for at in (s.moved(*PRECISION), s))
        row = f"{at_limit:10.3f}{over:12.3f}"
        print(f"{count:>5,}  {'one stratum':<24}{'.2 promised':<21}{row}", flush=True)
    for labels in LABELS:
        bands = designs(labels)["3+5 bands"]
        at_limit, over = (
            alarms_of(at, limits_of(bands), YEAR, years)
            for at in (at_limits(bands), bands.scenario)
        )
        row = f"{at_limit:10.3f}{over:12.3f}"
        print(f"{sum(labels):>5,}  {'3+5 bands':<24}{'1 promised':<21}{row}", flush=True)
    print(f"\nfalse alarms a year, 1 promised, read before answers are settled, {years} years")
    print(f"{'':<19}" + "".join(f"{name:>16}" for name in UNSETTLED))
    for labels in LABELS:
        bands = designs(labels)["3+5 bands"]
        row = "".join(f"{alarms_while_open(bands, years, *of):16.3f}" for of in UNSETTLED.values())
        print(f"{sum(labels):>5,}  {'3+5 bands':<12}{row}", flush=True)


class OpenRounds(Paths):
    """Monitors whose rounds are read before their end too, and have labels after it."""

    def read(self, window: Counts, answers: Whole) -> Flags:
        """Tell what fires in an open round; the evidence stays as it is."""
        before = self._log_m.copy()
        fired, self._log_m = self.judge(window, answers), before
        return fired

    def end(self, window: Counts, answers: Whole, early: Flags) -> int:
        """Close a round, and count what fired, early or now; that starts anew."""
        fired = self.judge(window, answers) | early
        self._log_m[fired] = -np.inf
        return int(fired.sum())

    def learn_late(self, positive: Whole, labeled: Whole) -> None:
        """Take in labels of the last round."""
        last = self.history[-1]
        self.history[-1] = replace(
            last, positive=last.positive + positive, labeled=last.labeled + labeled
        )


def alarms_while_open(
    design: Watched, years: int, late: float, was_good: float, was_bad: float
) -> float:
    """Mean number of alarms a year at the limits; shares are those of ``UNSETTLED``."""
    s, rng, size, fired = at_limits(design), np.random.default_rng(4), 1000, 0
    up, items = s.is_flagged, np.diff(prefix_sizes(s.labeled), axis=0, prepend=0)
    wrong = np.where(up, 1 - s.rates, s.rates)
    for seed in range(max(years // size, 1)):
        watchers = OpenRounds(limits_of(design), YEAR, size, seed=seed)
        watchers.history.append(s.drawn(rng, size))
        came = np.zeros((2, size, len(up)), dtype=np.int64)
        for _ in range(YEAR):
            bad = rng.binomial(items, wrong, (size, *items.shape))  # answers against the limits
            bad, good = (each - rng.binomial(each, late) for each in (bad, items - bad))
            first = bad - rng.binomial(bad, was_good)
            first += rng.binomial(good, was_bad * wrong / (1 - wrong))
            first, last = (  # positives up to each block, what is missing in favor of the limits
                np.where(up, items - each, each).cumsum(axis=1) for each in (first, bad)
            )
            window = s.counted(last[:, -1])
            early = watchers.read(window, first)
            watchers.learn_late(*came)
            fired += watchers.end(window, last, early)
            labeled, positive = (bad + good).sum(axis=1), np.where(up, good, bad).sum(axis=1)
            watchers.history.append(replace(window, labeled=labeled, positive=positive))
            extra = rng.binomial(s.labeled - labeled, 0.5)
            came = np.stack([rng.binomial(extra, s.rates), extra])
    return fired / (max(years // size, 1) * size)


def one_stratum(count: int) -> Watched:
    """Make flagged items that are labeled, and passed ones that are not."""
    size, is_flagged = np.array([rivals.ITEMS, rivals.ITEMS]), np.array([True, False])
    scenario = Scenario(size, np.array([count, 0]), is_flagged, np.array([rivals.LEVEL, 0.02]))
    return Watched(scenario)


def sooner(design: Watched, after: Values, limits: list[Limit], every: float, paths: int) -> str:
    """Describe how many labels, and days, the first alert does not wait for, and how many fire."""
    rng, watchers = np.random.default_rng(1), Paths(limits, every, paths)
    s, saved = design.scenario, np.full(paths, -1)
    quiet = QUIET if len(limits) > 1 else rivals.QUIET
    for t in range(-quiet, rivals.AFTER):
        rates = after if t >= 0 else s.rates
        watchers.close(replace(s, rates=rates).drawn(rng, paths))
        blocks = watchers.fired_after
        first = np.where(blocks > 0, blocks, BLOCKS + 1).min(axis=0)
        for path in np.flatnonzero((saved < 0) & (first <= BLOCKS) & (t >= 0)):
            saved[path] = s.labeled.sum() - answered(s.labeled, first[path], rng)
    saved = saved[saved >= 0]
    mean = saved.mean()
    return f"{mean:10.1f}{DAYS * mean / s.labeled.sum():12.2f}{(saved > 0).mean():8.2f}"


def answered(labeled: Whole, block: int, rng: np.random.Generator) -> int:
    """Count the answers that came before a block has all of its own, in a random order."""
    order = rng.permutation(np.repeat(np.arange(labeled.size), labeled))
    needed = prefix_sizes(labeled)[block - 1]
    last = [np.flatnonzero(order == h)[n - 1] for h, n in enumerate(needed) if n]
    return int(max(last)) + 1


def designs(labels: tuple[int, int]) -> dict[str, Watched]:
    """Make bands of two kinds, and cells with the same labels of each class."""
    p, flagged = drawn_scores()
    return {
        "3+5 bands": Watched(drawn_from_population(*DESIGNS[f"3+5, {labels[0]}+{labels[1]}"])),
        "4+10 bands": Watched(drawn_from_population((4, 10), labels)),
        "20+40, 0.1 by size": Watched(*cut(p, flagged, labels, 0.1)),
    }


def cut(
    p: Values, flagged: Flags, labels: tuple[int, int], share: float
) -> tuple[Scenario, Values]:
    """Cut the window into cells and share each class's labels out."""
    is_up, size, (rates,) = cut_classes(
        (p[of], edges(p[of], count), p[of])
        for of, count in zip((flagged, ~flagged), CELLS, strict=True)
    )
    expected = expected_sizes(size, is_up, rates, labels=sum(labels), share=share)
    for members, total in ((is_up, labels[0]), (~is_up, labels[1])):  # each class as with bands
        expected[members] *= total / expected[members].sum()
    return Scenario.of(size, np.zeros(len(size)), is_up, rates), expected


def with_levels(design: Watched, precision: float, recall: float) -> Watched:
    """Move the rates of a design until its metrics have these values."""
    s = design.scenario
    [rates] = rates_at(s, np.array([[precision]]), np.array([[recall]]))
    return replace(design, scenario=replace(s, rates=rates))


def found(design: Watched, after: Watched, metric: str, blocks: int, paths: int) -> float:
    """Share of paths on which the limit of a metric that drops fires in time."""
    rng, limits = np.random.default_rng(1), limits_of(design)
    watchers = Paths(limits, YEAR, paths, blocks=blocks)
    detected = np.zeros(paths, dtype=np.bool_)
    for t in range(-QUIET - 1, WITHIN):
        now = after if t >= 0 else design
        fired = watchers.close(now.window(rng).drawn(rng, paths))[METRICS.index(metric)]
        detected |= fired & (t >= 0)
    return float(detected.mean())


def at_limits(design: Watched) -> Scenario:
    """Both metrics exactly at their limits."""
    scenario = design.scenario
    for limit in limits_of(design):
        scenario = scenario.moved(limit)
    return scenario


def alarms_of(
    scenario: Scenario,
    limits: list[Limit],
    every: float,
    years: int,
    blocks: int = BLOCKS,
    missing: float = 0.0,
) -> float:
    """Mean number of alarms a year in rounds like this one."""
    rng, fired, size = np.random.default_rng(2), 0, 1000
    for seed in range(max(years // size, 1)):
        watchers = Paths(limits, every, size, blocks=blocks, seed=seed)
        watchers.history.append(scenario.drawn(rng, size))
        for _ in range(YEAR):
            positive = scenario.drawn(rng, size).positive
            up = rng.binomial(scenario.labeled - positive, missing)  # 0 that counts as 1
            down = rng.binomial(positive, missing)
            positive = positive + np.where(scenario.is_flagged, up, -down)
            fired += int(watchers.close(scenario.counted(positive)).sum())
    return fired / (max(years // size, 1) * size)


def limits_of(design: Watched) -> list[Limit]:
    """Limits `ROOM` under the levels."""
    return [Limit(m, level(design.scenario, m) - ROOM, "at_least") for m in METRICS]
