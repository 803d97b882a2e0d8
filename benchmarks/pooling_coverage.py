"""How a pooled estimate does after a change and in quiet times: coverage, width and its point.

A design is bands and labels of both classes, 3+5:200+1050. A reference and 11 quiet rounds, then a
change by one factor on the wrong answers of a class: at once, by a point a round, or a season.
`width` is against the round alone; `lag` is how far the pooled point is from that of the round
alone, in half-widths of the pooled interval.
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
from monitor.stats.history.pooled_rates import pooled_rates
from monitor.stats.history.robust_mixture import ROBUST_WEIGHT
from monitor.stats.history.run_length import Run, RunLength, advance, begin

UP, DOWN = True, False  # the predicted positives, the predicted negatives
STEPS = (-15, -10, -5, -3, 3, 5, 10, 15)
SEASON, HIGHEST = 52, 0.99


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


@dataclass(frozen=True)
class Story:
    """What happens to a metric after the quiet rounds, and the rounds to look at."""

    name: str
    metric: str
    gained: tuple[float, ...]
    looks: tuple[int, ...]

    @property
    def is_step(self) -> bool:
        """Whether everything happens at once."""
        return len(set(self.gained)) == 1


def stories(window: Window, metric: str) -> list[Story]:
    """Tell all stories of a metric that leave it below 1."""
    now = float(window.value(metric, window.rate))
    wave = tuple(0.03 * float(np.sin(2 * np.pi * t / SEASON)) for t in range(1, SEASON + 1))
    steps = [Story(f"{metric} {by:+d}", metric, (by / 100,) * 4, (1, 2, 4)) for by in STEPS]
    drifts = [
        Story(
            f"{metric} {sign:+d} a round",
            metric,
            tuple(sign * t / 100 for t in range(1, 11)),
            (1, 2, 4, 10),
        )
        for sign in (-1, 1)
    ]
    season = Story(f"{metric}, a season of 3", metric, wave, tuple(range(4, SEASON + 1, 4)))
    return [each for each in (*steps, *drifts, season) if now + max(each.gained) < HIGHEST]


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
    """One round of a story: by share the coverage and mean width, and how the points differ.

    ``behind`` is the default's point less that of the round alone, in half-widths of the
    default's mean interval; shape ``(replicates,)``. ``mean_lag`` is the mean of the same for the
    mean of the default's posterior.
    """

    covered: Mapping[float, float]
    width: Mapping[float, float]
    behind: Values
    mean_lag: float

    @property
    def lag(self) -> float:
        """Mean of ``behind``."""
        return float(self.behind.mean())

    @property
    def lag_error(self) -> float:
        """Standard error of ``lag``."""
        return float(self.behind.std() / len(self.behind) ** 0.5)


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

    def told(self, story: Story) -> dict[int, Look]:
        """Tell a story, and look at some of its rounds."""
        runs, looks = self.quiet, {}
        for place, gained in enumerate(story.gained, start=1):
            rate = self.window.moved(story.metric, gained)
            positive = self.labeled(rate, [2, place])
            before, runs = runs, self.after(runs, positive, QUIET + place)
            if place in story.looks:
                shares = SHARES if story.is_step and place == 1 else SHARES[-1:]
                looks[place] = self.look(story.metric, rate, positive, before, runs, shares)
        return looks

    def look(
        self,
        metric: str,
        rate: Values,
        positive: Values,
        before: Runs,
        after: Runs,
        shares: tuple[float, ...] = SHARES,
    ) -> Look:
        """Estimate a metric in one round, with each share for the round alone."""
        truth = float(self.window.value(metric, rate))
        covered, width = {}, {}
        for share in shares:
            draws = self.draws(metric, positive, after, share)
            low, high = np.quantile(draws, [0.025, 0.975], axis=1)
            covered[share] = float(np.mean((low <= truth) & (truth <= high)))
            width[share] = float(np.mean(high - low))
        # The last share is the default's, so are its draws.
        point = np.clip(self.points(metric, positive, before), low, high)
        own = self.window.value(metric, positive / self.labels)
        half = width[ROBUST_WEIGHT] / 2
        mean_lag = float(np.mean(draws.mean(axis=1) - own)) / half
        return Look(covered, width, (point - own) / half, mean_lag)

    def points(self, metric: str, positive: Values, before: Runs) -> Values:
        """Points of the pooled estimates, shape ``(replicates,)``."""
        rates = np.empty_like(positive)
        for up, run in before.items():
            mine = self.window.of_class(up)
            known = (run.weight, run.alpha, run.beta)
            rates[:, mine] = pooled_rates(
                known, *self.of_class(positive, up), self.window.size[mine]
            )
        return self.window.value(metric, rates)

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
    """Print a metric; return its least coverage after changes at once and in quiet times."""
    told = {story: simulation.told(story) for story in stories(simulation.window, metric)}
    steps = {story: looks for story, looks in told.items() if story.is_step}
    still = quiet_round(simulation, metric)
    heads = "".join(f"{story.name.split()[1]:>7}" for story in steps)
    print(f"{metric + ', first round after':<30}{'width':>6}{'quiet':>7}{heads}{'worst':>8}")
    for share in SHARES:
        covered = [looks[1].covered[share] for looks in steps.values()]
        row = f"{named(share):<30}{still.width[share] / still.width[1.0]:6.2f}"
        row += "".join(f"{each:7.3f}" for each in (still.covered[share], *covered))
        print(f"{row}{min(covered):8.3f}")
    error = max(look.lag_error for looks in told.values() for look in looks.values())
    print(f"default, coverage and lag by round; standard error of a lag at most {error:.3f}")
    for story, looks in told.items():
        print(f"{story.name:<30}{by_round(looks)}")
    lags = [(look.lag, look.mean_lag) for looks in told.values() for look in looks.values()]
    point, mean = (max(each, key=abs) for each in zip(*lags, strict=True))
    print(f"farthest lag {point:+.3f}; of the mean of the posterior {mean:+.3f}")
    after = [look.covered[ROBUST_WEIGHT] for looks in steps.values() for look in looks.values()]
    return min(after), still.covered[ROBUST_WEIGHT]


def quiet_round(simulation: Simulation, metric: str) -> Look:
    """Look at a round in which nothing changed."""
    rate = simulation.window.rate
    positive = simulation.labeled(rate, [4, 0])
    after = simulation.after(simulation.quiet, positive, QUIET + 1)
    return simulation.look(metric, rate, positive, simulation.quiet, after)


def by_round(looks: Mapping[int, Look]) -> str:
    """Write coverage and lag, by round or, of many rounds, their mean and worst."""
    covered = np.array([look.covered[ROBUST_WEIGHT] for look in looks.values()])
    lag = np.array([look.lag for look in looks.values()])
    if len(looks) > 4:  # a season
        farthest = lag[np.abs(lag).argmax()]
        return (
            f"   coverage mean {covered.mean():.3f}, least {covered.min():.3f}; "
            f"lag mean {lag.mean():+.3f}, farthest {farthest:+.3f}"
        )
    cells = [f"{look.covered[ROBUST_WEIGHT]:.3f} {look.lag:+.3f}" for look in looks.values()]
    return "".join(
        f"   {f'round {place}:'} {cell}" for place, cell in zip(looks, cells, strict=True)
    )


def named(share: float) -> str:
    """Name a scheme by the share of the round alone."""
    if share == 1:
        return "round alone"
    return f"{share:.2f} for the round{', default' if share == ROBUST_WEIGHT else ''}"
