"""How well pooled intervals cover after a change, and how much narrower they are before it.

    python benchmarks/pooling_coverage.py [--replicates 1000] [--designs 200+1050 60+300 307+4408]

Population: logit p ~ N(-8.898, 5.160^2), y ~ Bernoulli(p), predicted positive from .4768: the
first classifier of Shang et al. 2023, Table 4 (precision .79, recall .67), in 3 + 5 score bands
(307+4408: one stratum a class). A reference and 11 quiet rounds, then a change, by one factor on
the wrong answers of a class. `width` is against the round alone in the last quiet round, and the
other figures are the shares of pooled 95 % intervals that hold the truth. All replicates advance
together. Standard errors are printed; under two minutes on one core.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import special, stats

from monitor.stats.design.score_bands import band_edges, band_of
from monitor.stats.history.robust_mixture import ROBUST_WEIGHT, SHIFT, own_part
from monitor.stats.history.run_length import Run, RunLength, advance, begin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Values: TypeAlias = NDArray[np.float64]
    Betas: TypeAlias = tuple[Values, Values, Values]

QUIET, DRAWS = 11, 400
UP, DOWN = True, False  # the predicted positives, the predicted negatives
LOOKS = {1: "first", 2: "second", 4: "fourth", 10: "tenth"}


@dataclass(frozen=True)
class Scheme:
    """A way of pooling."""

    name: str
    settings: RunLength
    share: float = 0.0
    shift: float = 0.0


ONE = ((0.0, 1.0),)
DEFAULT = Scheme("default: .16, shift .4", RunLength(), ROBUST_WEIGHT, SHIFT)
SCHEMES = (
    Scheme("one restart, hazard .35", RunLength(hazard=0.35, shifts=ONE)),
    Scheme("five restarts, hazard .5", RunLength(hazard=0.5)),
    Scheme("nothing for the round", RunLength()),
    Scheme(".16 for the round, no shift", RunLength(), 0.16),
    Scheme(".22 for the round, no shift", RunLength(), 0.22),
    Scheme(".30 for the round, no shift", RunLength(), 0.30),
    DEFAULT,
)


@dataclass(frozen=True)
class Window:
    """Strata of the population: classes, sizes and true rates, shape ``(H,)``."""

    is_flagged: NDArray[np.bool_]
    size: Values
    rate: Values

    def of_class(self, up: bool) -> NDArray[np.bool_]:
        """Which strata are of a class."""
        return np.asarray(self.is_flagged == up)

    def value(self, name: str, rate: Values, size: Values | None = None) -> Values:
        """Compute a metric at rates (and sizes) of shape ``(..., H)``."""
        size, up = self.size if size is None else size, self.is_flagged
        found = (size * rate)[..., up].sum(axis=-1)
        if name == "precision":
            return np.asarray(found / size[..., up].sum(axis=-1))
        return np.asarray(found / (found + (size * rate)[..., ~up].sum(axis=-1)))

    def moved(self, name: str, by: float) -> Values:
        """Rates after a metric fell by so much: one factor on the wrong answers of its class."""
        target, now, up = float(self.value(name, self.rate)) - by, self.rate.copy(), self.is_flagged
        if name == "precision":
            wrong = (1 - target) / (1 - float(self.value(name, self.rate)))
            now[up] = 1 - np.minimum(wrong * (1 - self.rate[up]), 0.999)
            return now
        found = (self.size * self.rate)[up].sum()
        missed = (self.size * self.rate)[~up].sum()
        now[~up] = np.minimum(self.rate[~up] * (found / target - found) / missed, 0.999)
        return now


@dataclass(frozen=True)
class Story:
    """What happens to a metric after the quiet rounds: points lost in each later round."""

    name: str
    metric: str
    lost: tuple[float, ...]
    wobble: float = 0.0  # standard deviation of the log of each stratum's size


DROPS = tuple(
    Story(f"{metric} -{100 * by:.0f}", metric, (by,) * 4)
    for metric in ("precision", "recall")
    for by in (0.03, 0.05, 0.10, 0.15)
)
RISES = tuple(
    Story(f"{metric} +{100 * by:.0f}", metric, (-by,) * 4)
    for metric in ("precision", "recall")
    for by in (0.05, 0.10)
)
OTHERS = tuple(
    story
    for metric in ("precision", "recall")
    for story in (
        Story(f"{metric} -1 a round, ten times", metric, tuple(0.01 * t for t in range(1, 11))),
        Story(f"{metric}, sizes wobble", metric, (0.0,) * 4, wobble=0.5),
    )
)


@dataclass
class Result:
    """Widths and coverage of one scheme in one design."""

    width: dict[str, float] = field(default_factory=dict)
    quiet: dict[str, float] = field(default_factory=dict)
    covered: dict[str, dict[str, float]] = field(default_factory=dict)

    def worst(self, metric: str) -> float:
        """Coverage in the first round after the worst drop."""
        return min(self.covered[s.name]["first"] for s in DROPS if s.metric == metric)


def main() -> None:
    """Print the frontier over schemes, then all looks of the default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--designs", nargs="+", default=["200+1050", "60+300", "307+4408"])
    asked = parser.parse_args()
    print(f"any interval that covers 90 % after every change, history exact: width {bound():.3f}")
    error = (0.9 * 0.1 / asked.replicates) ** 0.5
    print(f"{asked.replicates} replicates; standard error of a share of .9: {error:.4f}")
    for text in asked.designs:
        window, labels = design(text)
        print(f"\n{text} labels a round: {labels.tolist()}; first round after a change")
        heads = "".join(f"{story.name.split()[1]:>7}" for story in (*DROPS[:4], *RISES[:2]))
        print(f"{'scheme':<28}{'metric':<11}{'width':>6}{'quiet':>7}{heads}{'worst drop':>12}")
        for scheme in SCHEMES:
            stories = (*DROPS, *RISES, *(OTHERS if scheme is DEFAULT else ()))
            result = run(window, labels, scheme, stories, asked.replicates)
            print_scheme(scheme, result)
        print_looks(result, (*DROPS, *RISES, *OTHERS))


def print_scheme(scheme: Scheme, result: Result) -> None:
    """Print one scheme: the first round after each drop and rise."""
    for metric in ("precision", "recall"):
        shown = [s.name for s in (*DROPS, *RISES) if s.metric == metric]
        row = f"{scheme.name:<28}{metric:<11}{result.width[metric]:6.2f}{result.quiet[metric]:7.3f}"
        row += "".join(f"{result.covered[name]['first']:7.3f}" for name in shown)
        print(f"{row}{result.worst(metric):12.3f}", flush=True)


def print_looks(result: Result, stories: tuple[Story, ...]) -> None:
    """Print every look of a scheme."""
    print(f"{'default, by round':<34}" + "".join(f"{name:>8}" for name in LOOKS.values()))
    for story in stories:
        row = "".join(f"{value:8.3f}" for value in result.covered[story.name].values())
        print(f"{story.name:<34}{row}", flush=True)


def bound(coverage: float = 0.9) -> float:
    """Least mean width in quiet times against the round's 95 % interval (Pratt 1963)."""
    z = stats.norm.ppf(coverage)
    return float((z * coverage + stats.norm.pdf(z)) / stats.norm.ppf(0.975))


def design(text: str) -> tuple[Window, Values]:
    """Window and labels per stratum of a design such as ``200+1050``."""
    flagged, passed = (int(part) for part in text.split("+"))
    window = population()
    if text == "307+4408":
        return merged(window), np.array([flagged, passed], dtype=np.float64)
    return window, shared_out(window, flagged, passed)


def population(items: int = 200_000) -> Window:
    """Draw the window once and cut it into bands."""
    rng = np.random.default_rng(2023)
    p = special.expit(rng.normal(-8.898, 5.160, items))
    classes, sizes, rates = [], [], []
    for up, bands in ((UP, 3), (DOWN, 5)):
        mine = p[(p >= 0.4768) == up]
        band = band_of(mine, band_edges(mine, bands))
        for index in range(bands):
            classes.append(up)
            sizes.append(float((band == index).sum()))
            rates.append(float(mine[band == index].mean()))
    return Window(np.array(classes), np.array(sizes), np.array(rates))


def merged(window: Window) -> Window:
    """Merge the bands of each class."""
    classes = [window.of_class(up) for up in (UP, DOWN)]
    size = np.array([window.size[mine].sum() for mine in classes])
    positive = np.array([(window.size * window.rate)[mine].sum() for mine in classes])
    return Window(np.array([UP, DOWN]), size, positive / size)


def shared_out(window: Window, flagged: int, passed: int) -> Values:
    """Share labels out within each class by size times the spread of a label."""
    spread = window.size * np.sqrt(window.rate * (1 - window.rate))
    labels = np.zeros(window.size.size)
    for up, total in ((UP, flagged), (DOWN, passed)):
        mine = window.of_class(up)
        share = np.maximum(10.0, total * spread[mine] / spread[mine].sum())
        labels[mine] = np.maximum(5, share * total / share.sum()).astype(np.int64)
    return labels


def run(
    window: Window, labels: Values, scheme: Scheme, stories: tuple[Story, ...], replicates: int
) -> Result:
    """Pooling the quiet rounds once, then each story from there."""
    rng = np.random.default_rng(1)
    rounds = [labeled(window.rate, labels, replicates, [1, t]) for t in range(QUIET + 1)]
    before = {}
    for up in (UP, DOWN):
        mine = window.of_class(up)
        before[up] = begin(rounds[0][:, mine], labels[mine])
        for t, positive in enumerate(rounds[1:], start=1):
            before[up], _ = advance(before[up], positive[:, mine], labels[mine], t, scheme.settings)
    result = Result()
    for metric in ("precision", "recall"):
        drawn = {up: pooled(before[up], window, labels, rounds[-1], up, scheme) for up in before}
        ends = interval(metric_draws(window, drawn, metric, rng, window.size))
        alone = {up: own(window, labels, rounds[-1], up, 0.0) for up in before}
        own_ends = interval(metric_draws(window, alone, metric, rng, window.size))
        truth = window.value(metric, window.rate)
        result.width[metric] = float(
            np.mean(ends[1] - ends[0]) / np.mean(own_ends[1] - own_ends[0])
        )
        result.quiet[metric] = float(np.mean((ends[0] <= truth) & (truth <= ends[1])))
    for story in stories:
        all_looks = scheme is DEFAULT
        result.covered[story.name] = told(window, labels, scheme, story, before, rng, all_looks)
    return result


def told(
    window: Window,
    labels: Values,
    scheme: Scheme,
    story: Story,
    before: Mapping[bool, Run],
    rng: np.random.Generator,
    all_looks: bool,
) -> dict[str, float]:
    """Coverage at each look of a story."""
    runs, covered = dict(before), {}
    replicates = before[UP].log_weight.shape[0]
    for after, lost in enumerate(story.lost if all_looks else story.lost[:1], start=1):
        rate = window.moved(story.metric, lost)
        positive = labeled(rate, labels, replicates, [2, after])
        for up in (UP, DOWN):
            mine = window.of_class(up)
            runs[up], _ = advance(
                runs[up], positive[:, mine], labels[mine], QUIET + after, scheme.settings
            )
        if after not in LOOKS:
            continue
        size = window.size * np.exp(story.wobble * rng.standard_normal(positive.shape))
        drawn = {up: pooled(runs[up], window, labels, positive, up, scheme) for up in runs}
        low, high = interval(metric_draws(window, drawn, story.metric, rng, size))
        truth = window.value(story.metric, rate, size)
        covered[LOOKS[after]] = float(np.mean((low <= truth) & (truth <= high)))
    return covered


def labeled(rate: Values, labels: Values, replicates: int, seed: list[int]) -> Values:
    """Label a round: the same chances for every scheme, shape ``(replicates, H)``."""
    rng = np.random.default_rng(seed)
    found = rng.binomial(labels.astype(np.int64), rate, (replicates, rate.size))
    return found.astype(np.float64)


def own(window: Window, labels: Values, positive: Values, up: bool, shift: float) -> Betas:
    """Take the round alone, as one component."""
    mine = window.of_class(up)
    alpha, beta = own_part(positive[:, mine], labels[mine], shift=-shift if up else shift)
    return np.ones((len(alpha), 1)), alpha[:, np.newaxis], beta[:, np.newaxis]


def pooled(
    run: Run, window: Window, labels: Values, positive: Values, up: bool, scheme: Scheme
) -> Betas:
    """Take what is pooled, with the scheme's share for the round alone."""
    weight, alpha, beta = own(window, labels, positive, up, scheme.shift)
    return (
        np.concatenate([(1 - scheme.share) * run.weight, scheme.share * weight], axis=1),
        np.concatenate([run.alpha, alpha], axis=1),
        np.concatenate([run.beta, beta], axis=1),
    )


def metric_draws(
    window: Window, known: Mapping[bool, Betas], metric: str, rng: np.random.Generator, size: Values
) -> Values:
    """Draws of a metric, shape ``(replicates, DRAWS)``."""
    size = np.broadcast_to(size, (len(known[UP][0]), window.size.size))[:, np.newaxis]
    flagged = sample(*known[UP], rng)
    found = (flagged * size[..., window.of_class(UP)]).sum(axis=-1)
    if metric == "precision":
        return np.asarray(found / size[..., window.of_class(UP)].sum(axis=-1))
    missed = (sample(*known[DOWN], rng) * size[..., window.of_class(DOWN)]).sum(axis=-1)
    missed = missed[:, rng.permutation(DRAWS)]  # draws come sorted by component
    return np.asarray(found / (found + missed))


def sample(weight: Values, alpha: Values, beta: Values, rng: np.random.Generator) -> Values:
    """Draw rates, components in proportion to weight, shape ``(replicates, DRAWS, H)``."""
    replicates, components = weight.shape
    edge = np.cumsum(weight, axis=1)[:, :-1] + np.arange(replicates)[:, np.newaxis]
    at = (np.arange(DRAWS) + rng.random((replicates, 1))) / DRAWS
    row = np.arange(replicates)[:, np.newaxis]
    place = np.searchsorted(edge.ravel(), (at + row).ravel()).reshape(at.shape)
    chosen = np.clip(place - row * (components - 1), 0, components - 1)[..., np.newaxis]
    return rng.beta(
        np.take_along_axis(alpha, chosen, axis=1), np.take_along_axis(beta, chosen, axis=1)
    )


def interval(draws: Values) -> tuple[Values, Values]:
    """Equal-tailed 95 % intervals, one per replicate."""
    low, high = np.quantile(draws, [0.025, 0.975], axis=1)
    return low, high


if __name__ == "__main__":
    main()
