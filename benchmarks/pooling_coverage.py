"""How a pooled estimate does after a change and in quiet times: coverage and width.

A design is bands and labels of both classes, 3+5:200+1050. A reference and 11 quiet rounds, then a
change at once, by one factor on the wrong answers of a class. `width` is against the round alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from benchmarks.harness import Flags, Values
from benchmarks.strata import drawn_strata, moved_to, shared_out
from monitor.stats.core.beta_mixture import prior_count
from monitor.stats.core.metrics import METRICS
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.history.robust_mixture import ROBUST_WEIGHT
from monitor.stats.history.run_length import Run, RunLength, advance, begin

UP, DOWN = True, False  # the predicted positives, the predicted negatives
STEPS = (-15, -10, -5, -3, 3, 5, 10, 15)
AFTER, HIGHEST = (1, 2, 4), 0.99  # rounds after the change; a metric that it may reach


@dataclass(frozen=True, eq=False)
class Window:
    """Strata of the population: classes, sizes and true rates, shape ``(H,)``."""

    is_flagged: Flags
    size: Values
    rate: Values

    def of_class(self, up: bool) -> Flags:
        """Which strata are of a class."""
        return np.asarray(self.is_flagged == up)

    def value(self, name: str, rate: Values) -> Values:
        """Compute a metric at rates of shape ``(..., H)``."""
        ones = np.ones_like(self.size)
        return METRICS[name](scaled_matrix(self.size, ones, rate, self.is_flagged))

    def moved(self, name: str, by: float) -> Values:
        """Rates after a metric moved by so much: one factor on the wrong answers of its class."""
        target = self.value(name, self.rate) + by
        return moved_to(self.size, self.is_flagged, self.rate, {name: target})


def design(classifier: str, text: str) -> tuple[Window, Values]:
    """Window and labels per stratum of a design such as ``3+5:200+1050``."""
    bands, labels = ([int(part) for part in each.split("+")] for each in text.split(":"))
    is_flagged, size, rate = drawn_strata(classifier, bands)
    window = Window(is_flagged, size.astype(np.float64), rate)
    return window, shared_out(size, rate, is_flagged, labels).astype(np.float64)


Betas = tuple[Values, Values, Values]
Runs = Mapping[bool, Run]


QUIET, DRAWS = 11, 400
DESIGNS = ("3+5:200+1050", "4+10:60+300", "1+1:307+4408", "1+1:60+300")
SHARES = (1.0, 0.25, ROBUST_WEIGHT)  # the round alone, and two ways of pooling


@dataclass(frozen=True)
class Look:
    """One round: coverage and mean width by the share of the round alone."""

    covered: Mapping[float, float]
    width: Mapping[float, float]


class Simulation:
    """Histories of one design that advance together, as they stand after the quiet rounds."""

    def __init__(self, window: Window, labels: Values, replicates: int) -> None:
        self.window, self.labels, self.replicates = window, labels, replicates
        self.quiet = self.first(self.labeled(window.rate, [1, 0]))
        for t in range(1, QUIET + 1):
            self.quiet = self.after(self.quiet, self.labeled(window.rate, [1, t]), t)

    def labeled(self, rate: Values, seed: list[int]) -> Values:
        """Label a round: the same chances for every scheme, shape ``(replicates, H)``."""
        rng = np.random.default_rng(seed)
        found = rng.binomial(self.labels.astype(np.int64), rate, (self.replicates, rate.size))
        return found.astype(np.float64)

    def of_class(self, positive: Values, up: bool) -> tuple[Values, Values]:
        """Positive and labeled of a class."""
        mine = self.window.of_class(up)
        return positive[:, mine], self.labels[mine]

    def first(self, positive: Values) -> Runs:
        """Begin with a round of labels as the reference."""
        return {up: begin(*self.of_class(positive, up)) for up in (UP, DOWN)}

    def after(self, runs: Runs, positive: Values, t: int) -> Runs:
        """Take a round of labels in."""
        settings = RunLength()
        return {
            up: advance(run, *self.of_class(positive, up), t, settings) for up, run in runs.items()
        }

    def changed(self, metric: str, by: float) -> dict[int, Look]:
        """Let a metric change at once, and look at some of the rounds after it."""
        runs, looks, rate = self.quiet, {}, self.window.moved(metric, by)
        for number in range(1, AFTER[-1] + 1):
            positive = self.labeled(rate, [2, number])
            runs = self.after(runs, positive, QUIET + number)
            if number in AFTER:
                shares = SHARES if number == 1 else SHARES[-1:]
                looks[number] = self.look(metric, rate, positive, runs, shares)
        return looks

    def look(
        self,
        metric: str,
        rate: Values,
        positive: Values,
        after: Runs,
        shares: tuple[float, ...] = SHARES,
    ) -> Look:
        """Estimate a metric in one round, with each share for the round alone."""
        truth = float(self.window.value(metric, rate))
        covered, width = {}, {}
        for share in shares:
            low, high = np.quantile(
                self.draws(metric, positive, after, share), [0.025, 0.975], axis=1
            )
            covered[share] = float(np.mean((low <= truth) & (truth <= high)))
            width[share] = float(np.mean(high - low))
        return Look(covered, width)

    def draws(self, metric: str, positive: Values, runs: Runs, share: float) -> Values:
        """Draws of what is pooled, with a share for the round alone."""
        known = {up: pooled(run, *self.of_class(positive, up), share) for up, run in runs.items()}
        return metric_draws(self.window, known, metric, np.random.default_rng(3))


def pooled(run: Run, positive: Values, labeled: Values, share: float) -> Betas:
    """Mix what is pooled with the round alone, as ``with_robust_weight`` does."""
    prior = prior_count(labeled.shape[-1])
    own = np.full((len(positive), 1), share)
    return (
        np.concatenate([(1 - share) * run.weight, own], axis=1),
        np.concatenate([run.alpha, (prior + positive)[:, np.newaxis]], axis=1),
        np.concatenate([run.beta, (prior + labeled - positive)[:, np.newaxis]], axis=1),
    )


def metric_draws(
    window: Window, known: Mapping[bool, Betas], metric: str, rng: np.random.Generator
) -> Values:
    """Draws of a metric, shape ``(replicates, DRAWS)``."""
    rates = np.empty((len(known[UP][0]), DRAWS, window.size.size))
    for up, betas in known.items():
        drawn = sample(*betas, rng)
        # Draws come sorted by component, so one class is shuffled against the other.
        rates[..., window.of_class(up)] = drawn[:, rng.permutation(DRAWS)]
    return window.value(metric, rates)


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


def main(
    replicates: int = 1000,
    classifier: Literal["Phi1", "Phi2"] = "Phi1",
    designs: tuple[str, ...] = tuple(DESIGNS),
) -> None:
    """Print each design, then the least coverage over all of them."""
    z = stats.norm.ppf(0.9)  # the least mean width against the round's 95 % interval (Pratt 1963)
    bound = (z * 0.9 + stats.norm.pdf(z)) / stats.norm.ppf(0.975)
    print(f"any interval that covers 90 % after every change, history exact: width {bound:.3f}")
    error = (0.9 * 0.1 / replicates) ** 0.5
    print(f"{replicates} replicates; standard error of a share of .9: {error:.4f}")
    least = []
    for text in designs:
        window, labels = design(classifier, text)
        print(f"\n{classifier} {text}, labels a round: {labels.astype(int).tolist()}")
        simulation = Simulation(window, labels, replicates)
        least += [print_metric(simulation, metric) for metric in ("precision", "recall")]
    changed, quiet = (min(each) for each in zip(*least, strict=True))
    # Here, since what else is in this file is used where only the statistics are installed.
    from monitor.domain.settings import POOLED_COVERAGE  # noqa: PLC0415

    print(f"\nleast coverage by default: {changed:.3f} after changes, {quiet:.3f} in quiet times")
    print("monitor.domain.settings.POOLED_COVERAGE says {:.2f} and {:.2f}".format(*POOLED_COVERAGE))


def print_metric(simulation: Simulation, metric: str) -> tuple[float, float]:
    """Print a metric; return its least coverage after changes and in quiet times."""
    now = float(simulation.window.value(metric, simulation.window.rate))
    steps = [by for by in STEPS if now + by / 100 < HIGHEST]
    looks = {by: simulation.changed(metric, by / 100) for by in steps}
    still = quiet_round(simulation, metric)
    heads = "".join(f"{by:+7d}" for by in steps)
    print(f"{metric + ', first round after':<30}{'width':>6}{'quiet':>7}{heads}{'worst':>8}")
    for share in SHARES:
        covered = [each[1].covered[share] for each in looks.values()]
        row = f"{named(share):<30}{still.width[share] / still.width[1.0]:6.2f}"
        row += "".join(f"{each:7.3f}" for each in (still.covered[share], *covered))
        print(f"{row}{min(covered):8.3f}")
    for number in AFTER[1:]:
        covered = [each[number].covered[ROBUST_WEIGHT] for each in looks.values()]
        row = "".join(f"{each:7.3f}" for each in covered)
        print(f"{f'default, round {number}':<43}{row}{min(covered):8.3f}")
    after = [look.covered[ROBUST_WEIGHT] for each in looks.values() for look in each.values()]
    return min(after), still.covered[ROBUST_WEIGHT]


def quiet_round(simulation: Simulation, metric: str) -> Look:
    """Look at a round in which nothing changed."""
    rate = simulation.window.rate
    positive = simulation.labeled(rate, [4, 0])
    after = simulation.after(simulation.quiet, positive, QUIET + 1)
    return simulation.look(metric, rate, positive, after)


def named(share: float) -> str:
    """Name a scheme by the share of the round alone."""
    if share == 1:
        return "round alone"
    return f"{share:.2f} for the round{', default' if share == ROBUST_WEIGHT else ''}"
