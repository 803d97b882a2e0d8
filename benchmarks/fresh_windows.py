"""Windows whose items are fresh draws of a process: intervals, alarms, and drops that are found.

Each window of `items`, of which `flagged` are flagged on average, is drawn from one process, whose
score cells a judge's verdict cuts (TPR and FPR; none without one). Scores order a class well, but
as `weak score`, or as one that explains all. Precision is .85 and recall .75.
`window` is the round alone about its own items, `rate` about the process, `pooled` the last of six
rounds about the process.

`--alarms`: false alarms a year with both limits exactly at the process's values, where 1 is
promised, and with limits on the judge at its own; then the share of drops of precision by 8 points
that are found within 4 and 12 rounds. Standard errors in brackets.

`--kept`: the same windows through a log that keeps these shares of their flagged and passed items,
for coverage and, with `--alarms`, for alarms.

`--changed`: coverage by the round alone and by earlier rounds too, at least of the 1st, 2nd, 3rd,
5th and 9th after the judge changed to another without notice, as rounds go on, or after the
classifier lost 5 points of precision; and the width of what is pooled against the round alone.

`--at-once`: how many paths of 100 rounds have a round whose window's own value, and whose mean of
all windows so far, lies outside of its interval, and how much wider the latter is in round 13 than
one of a round that was chosen before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np

from benchmarks.harness import Flags, Values, Whole
from benchmarks.strata import shifted
from monitor.domain.model import Stratum, Verdict
from monitor.domain.settings import Limits, Pooling
from monitor.rounds.estimation.evidence import judge_evidence
from monitor.rounds.estimation.history import history_states
from monitor.rounds.estimation.tally import Completed
from monitor.rounds.estimation.types import LimitEvidence
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import JointPosterior, draw
from monitor.stats.core.levels import normal_quantile
from monitor.stats.core.metrics import Matrix, metric
from monitor.stats.core.sampled_sizes import with_size_noise
from monitor.stats.design.cell_sizes import expected_sizes, systematic_sizes
from monitor.stats.design.label_groups import LabelGroups
from monitor.stats.design.score_bands import LABELS_PER_CELL, affordable_bands
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.e_detector import Evidence, log_threshold
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.random_shares import log_e_path_of_shares
from monitor.stats.estimation.cell_matrix import matrix_draws, weighted_matrix
from monitor.stats.history.robust_mixture import with_robust_weight
from monitor.stats.history.running_mean import TUNED_FOR, running_interval

METRICS = ("precision", "recall")
PRECISION, RECALL, DROP = 0.85, 0.75, 0.08
CELLS = (8, 16)
QUIET, YEAR, WITHIN = 4, 52, (4, 12)
POINTS = 2**9
ROUNDS = 6
AT_ONCE = 100
SETTLED, LOOKS, LOST = 12, (0, 1, 2, 4, 8), 0.05
REMEMBERED = 20  # earlier rounds that the evidence reads; older ones weigh under .02
SETTINGS = ("4000 200 400", "30000 300 600", "15000 450 400", "100000 2000 500")
JUDGES = {
    "none": None,
    "weak score": None,
    "useless": (0.3, 0.3),
    ".8 .02": (0.8, 0.02),
    ".95 .01": (0.95, 0.01),
    "shares mistakes": ((0.95, 0.5), (0.6, 0.01)),
    "score explains all": None,
}
"""TPR and FPR, of flagged and passed items where they differ."""
CHANGES = ("useless", ".8 .02", "shares mistakes")
SPREADS = {"weak score": 0.2, "score explains all": 9.0}
"""Range of the log odds of a class's cells, in units of 3; 1 otherwise."""


class Window(NamedTuple):
    """A labeled window, its own precision and recall, and its labels by group where they count."""

    counts: Counts
    own: Values
    groups: LabelGroups | None = None


class Windows(Protocol):
    """What draws windows."""

    def drawn(self, rng: np.random.Generator) -> Window:
        """Draw a window and label it."""


@dataclass(frozen=True, eq=False)
class Process:
    """What windows are drawn from: chance, rate and expected labels of each stratum, ``(H,)``."""

    setting: str
    items: int
    chance: Values
    rate: Values
    is_flagged: Flags
    verdict: tuple[Verdict | None, ...]
    cell: Whole
    expected: Values
    kept: tuple[float, float] | None = None

    @classmethod
    def of(cls, setting: str, judge: str, precision: float = PRECISION) -> "Process":
        """Make score cells of either class, each cut by a verdict where there is a judge."""
        items, flagged, labels = map(int, setting.split())
        verdicts = 1 if JUDGES[judge] is None else 2
        parts = affordable_bands(*CELLS, labels // verdicts, LABELS_PER_CELL)
        missed = precision * flagged * (1 / RECALL - 1) / (items - flagged)
        spread = SPREADS.get(judge, 1.0)
        classes = zip((flagged, items - flagged), (precision, missed), parts, strict=True)
        share, rate = (
            np.concatenate(each)
            for each in zip(
                *(
                    (
                        np.full(cells, size / items / cells),
                        shifted(spread * np.linspace(-1.5, 1.5, cells), mean),
                    )
                    for size, mean, cells in classes
                ),
                strict=True,
            )
        )
        is_flagged = np.arange(sum(parts)) < parts[0]
        cell, verdict = np.arange(sum(parts)), [None] * sum(parts)
        if (says := JUDGES[judge]) is not None:
            share, rate, is_flagged, cell, verdict = _cut(share, rate, is_flagged, *says)
        size = np.rint(share * items).clip(1)
        inside = np.clip(rate, 1e-9, 1 - 1e-9)
        expected = expected_sizes(size, is_flagged, inside, labels=labels, share=0.25)
        return cls(setting, items, share, rate, is_flagged, tuple(verdict), cell, expected)

    @property
    def truth(self) -> Values:
        """Precision and recall of the process."""
        return metrics_of(self.chance * self.rate, self.chance, self.is_flagged)

    @property
    def score_cell(self) -> Whole | None:
        """Score cell that verdicts cut each stratum from, where they cut cells."""
        return self.cell if self.verdict[0] is not None else None

    @property
    def of_judge(self) -> dict[str, float]:
        """TPR and FPR of the judge in the process."""
        yes = np.array([one is Verdict.YES for one in self.verdict])
        up, down = self.chance * self.rate, self.chance * (1 - self.rate)
        tpr, fpr = (float(of[yes].sum() / of.sum()) for of in (up, down))
        return {"judge_tpr": tpr, "judge_fpr": fpr}

    @property
    def strata(self) -> list[Stratum]:
        """The strata, as a round has them."""
        pairs = zip(self.is_flagged, self.verdict, strict=True)
        return [Stratum("", bool(up), verdict=verdict) for up, verdict in pairs]

    def drawn(self, rng: np.random.Generator) -> Window:
        """Draw a window and label it."""
        size = rng.multinomial(self.items, self.chance)
        positive = rng.binomial(size, self.rate)
        own = metrics_of(positive, size, self.is_flagged)
        if self.kept is not None:
            return Window(self._of_log(size, positive, rng), own)
        labeled = np.minimum(systematic_sizes(self.expected, rng.random()), size)
        answers = rng.hypergeometric(positive, size - positive, labeled)
        counts = Counts(size, labeled, answers, self.is_flagged, cell=self.score_cell)
        return Window(counts, own)

    def _of_log(self, size: Whole, positive: Whole, rng: np.random.Generator) -> Counts:
        """Keep a share of a window's items, and label among these."""
        share = np.where(self.is_flagged, *(self.kept or (1.0, 1.0)))
        yes, no = rng.binomial(positive, share), rng.binomial(size - positive, share)
        rows = yes + no
        labeled = np.minimum(systematic_sizes(self.expected, rng.random()), rows)
        answers = rng.hypergeometric(yes, no, labeled)
        items = np.rint(rows / share).astype(np.int64)
        return Counts(items, labeled, answers, self.is_flagged, rows)

    def changes(self) -> "dict[str, Process]":
        """Return the process after each change: to another judge, or of the classifier."""
        after = {"nothing changes": self, f"precision -{LOST:.2f}": self.dropped(LOST)}
        if self.verdict[0] is not None:
            others = {name: Process.of(self.setting, name) for name in CHANGES}
            after |= {
                f"to {name}": replace(self, chance=of.chance, rate=of.rate)
                for name, of in others.items()
            }
        return after

    def dropped(self, by: float) -> "Process":
        """Let the precision fall: wrong answers of the flagged grow by one factor in the odds."""
        up, low, high = self.is_flagged, -5.0, 0.0
        for _ in range(40):
            middle = (low + high) / 2
            moved = 1 / (1 + (1 / self.rate[up] - 1) * np.exp(-middle))
            is_low = self.chance[up] @ moved / self.chance[up].sum() < self.truth[0] - by
            low, high = (middle, high) if is_low else (low, middle)
        rate = self.rate.copy()
        rate[up] = moved
        return replace(self, rate=rate)


def _cut(
    share: Values, rate: Values, is_flagged: Flags, of_positive: Any, of_negative: Any
) -> tuple[Values, Values, Flags, Whole, list[Any]]:
    """Cut each cell by the verdict, those of a class that line_of no first."""
    each = (np.broadcast_to(rates, 2) for rates in (of_positive, of_negative))
    tpr, fpr = (np.where(is_flagged, *rates) for rates in each)
    yes = rate * tpr + (1 - rate) * fpr
    parts = [(1 - yes, rate * (1 - tpr) / (1 - yes)), (yes, rate * tpr / yes)]
    order = [(says, of) for of in (is_flagged, ~is_flagged) for says in (0, 1)]
    verdicts = (Verdict.NO, Verdict.YES)
    return (
        np.concatenate([(share * parts[says][0])[of] for says, of in order]),
        np.concatenate([parts[says][1][of] for says, of in order]),
        np.concatenate([is_flagged[of] for _, of in order]),
        np.concatenate([np.flatnonzero(of) for _, of in order]),
        [verdicts[says] for says, of in order for _ in range(int(of.sum()))],
    )


def main(
    replicates: int = 400,
    settings: tuple[str, ...] = SETTINGS,
    judges: tuple[str, ...] = tuple(JUDGES),
    precision: float = PRECISION,
    *,
    alarms: bool = False,
    at_once: bool = False,
    changed: bool = False,
    kept: tuple[str, ...] = (),
) -> None:
    """Print a line for each setting and judge; ``replicates`` are rounds, or half years."""
    line_of: Callable[[Process, int], str] = coverage_line
    heads = "window    rate      pooled    half-widths of rate"
    if alarms:
        heads = "alarms a year     of judge_tpr  judge_fpr   found in 4 and 12 rounds"
        line_of = alarm_line
    elif at_once:
        heads, line_of = "alone       mean of all, and its width", at_once_line
    elif changed:
        heads, line_of = "alone     pooled    its width", changed_lines
    print(f"{'items flagged labels, judge':38}{heads}")
    for setting in settings:
        for judge in judges:
            process = Process.of(setting, judge, precision)
            for shares in kept or (None,):
                log = process if shares is None else replace(process, kept=_pair(shares))
                name = ", ".join((setting, judge, *([] if shares is None else [f"kept {shares}"])))
                print(f"{name:38}{line_of(log, replicates)}", flush=True)


def _pair(shares: str) -> tuple[float, float]:
    """Read the shares that a log keeps of flagged and of passed items, such as ``1:0.1``."""
    flagged, passed = map(float, shares.split(":"))
    return flagged, passed


def coverage_line(process: Process, replicates: int) -> str:
    """Cover precision and recall, the mean of some rounds each."""
    held, half = coverage(process, replicates)
    return "  ".join(f"{p:.2f} {r:.2f}" + " " for p, r in (*held,)) + " ".join(
        f"{each:.3f}" for each in half
    )


def changed_lines(process: Process, replicates: int) -> str:
    """Cover precision and recall after each change; a line for each."""
    lines = []
    for name, after in process.changes().items():
        rng, held, width = np.random.default_rng(6), np.zeros((len(LOOKS), 2, 2)), np.zeros((2, 2))
        for _ in range(replicates):
            rounds = [process.drawn(rng).counts for _ in range(SETTLED)]
            for t in range(LOOKS[-1] + 1):
                rounds.append(after.drawn(rng).counts)
                if t not in LOOKS:
                    continue
                alone = matrix_draws(rounds[-1], seed=1, points=POINTS, cells=True).of("rate")
                noisy = with_size_noise(alone, rounds[-1], seed=1)
                ways = noisy, pooled_matrix(rounds, process.cell)
                for i, (low, high) in enumerate(map(ends, ways)):
                    held[LOOKS.index(t), i] += (low <= after.truth) & (after.truth <= high)
                    width[i] += high - low
        shares = [*(held.min(axis=0) / replicates), width[1] / width[0]]
        lines.append(f"\n    {name:34}" + "  ".join(f"{p:.2f} {r:.2f}" for p, r in shares))
    return "".join(lines)


def at_once_line(process: Process, paths: int) -> str:
    """Count paths of which a round misses the truth, by the round alone and by the running mean."""
    rng, missed, cost = np.random.default_rng(4), np.zeros((2, 2)), 0.0
    z = normal_quantile(0.95)
    for _ in range(paths):
        points, errors, truth, outside = [], [], [], np.zeros((2, 2), dtype=np.bool_)
        for t in range(1, AT_ONCE + 1):
            counts, own, _ = process.drawn(rng)
            drawn = matrix_draws(counts, seed=t, points=POINTS, cells=True)
            low, high = ends(drawn.of("window"))
            scaled = weighted_matrix(counts)
            points.append([float(metric(name)(scaled)) for name in METRICS])
            errors.append(np.maximum(points[-1] - low, high - points[-1]) / z)
            truth.append(own)
            outside[0] |= (own < low) | (own > high)
            for i, values in enumerate(zip(*points, strict=True)):
                spread = [float(each[i]) for each in errors]
                found, mean = running_interval(values, spread), float(np.mean(truth, axis=0)[i])
                outside[1, i] |= not found.low <= mean <= found.high
                if (t, i) == (TUNED_FOR, 0):
                    fixed = z * float(np.sqrt(np.square(spread).sum())) / t
                    cost += (found.high - found.low) / 2 / fixed
        missed += outside
    shares = "  ".join(f"{p:.2f} {r:.2f}" for p, r in missed / paths)
    return f"{shares}     {cost / paths:.2f}"


def coverage(process: Process, replicates: int, seed: int = 1) -> tuple[Values, Values]:
    """Cover the window's own metrics, the process's, and the process's pooled, ``(3, 2)``."""
    rng, held, half = np.random.default_rng(seed), np.zeros((3, 2)), np.zeros(2)
    for _ in range(replicates):
        rounds = [process.drawn(rng) for _ in range(ROUNDS)]
        counts, own, _ = rounds[-1]
        played = [each.counts for each in rounds]
        alone = matrix_draws(counts, seed=1, points=POINTS, cells=True)
        ways: Sequence[tuple[Matrix, Values]] = (
            (with_size_noise(alone.of("window"), counts, seed=1), own),
            (with_size_noise(alone.of("rate"), counts, seed=1), process.truth),
            (pooled_matrix(played, process.cell), process.truth),
        )
        for i, (matrix, truth) in enumerate(ways):
            low, high = ends(matrix)
            held[i] += (low <= truth) & (truth <= high)
            half += (i == 1) * (high - low) / 2
    return held / replicates, half / replicates


def pooled_matrix(rounds: Sequence[Counts], cells: Whole) -> Matrix:
    """Draw the matrix of the last of some rounds, as the monitor pools them by score cell."""
    nothing, settings = np.zeros_like(rounds[0].size), Pooling()
    counted = [Completed(each, nothing) for each in rounds]
    [state] = history_states(counted, None, settings, cells=cells, since=len(rounds) - 1)
    laws = (
        with_robust_weight(
            getattr(state.after, name),
            *state.now.of_class(flagged=name == "flagged"),
            share=settings.robust_weight,
        )
        for name in ("flagged", "passed")
    )
    drawn = draw(JointPosterior(*laws), seed=1, points=POINTS, size=state.now.size)
    return with_size_noise(drawn.rate_matrix(state.now.size), state.now.window, seed=1)


def ends(matrix: Matrix) -> tuple[Values, Values]:
    """Find the ends of the 95 % intervals of precision and recall."""
    values = np.stack([metric(name)(matrix) for name in METRICS])
    low, high = np.quantile(values, [0.025, 0.975], axis=1)
    return low, high


def alarm_line(process: Process, paths: int) -> str:
    """Count false alarms a year, and the drops found."""
    rates = [alarms_a_year(process, MetricLimits.at(process.truth), paths)]
    if process.verdict[0] is not None:
        for name, value in process.of_judge.items():
            limits = Limits.model_validate({name: value})
            rates.append(alarms_a_year(process, JudgeLimits(limits, process.strata), paths))
    shares = drops_detected(process, process.dropped(DROP), process.truth, paths)
    return f"{'  '.join(rates):44}{shares}"


class Watched(Protocol):
    """Limits whose evidence is read round by round."""

    def __len__(self) -> int: ...

    def read(self, window: Window, earlier: Sequence[Counts]) -> list[Values]:
        """Return the log e-values of a round, for each limit."""


class MetricLimits(list[Limit]):
    """Limits on precision, or on precision and recall."""

    @classmethod
    def at(cls, values: Values) -> "MetricLimits":
        """Put the limits at these values of the first metrics."""
        pairs = zip(METRICS, values, strict=False)
        return cls(Limit(name, float(value), "at_least") for name, value in pairs)

    def read(self, window: Window, earlier: Sequence[Counts]) -> list[Values]:
        """Return the log e-values of a round, for each limit."""
        rates, groups = guess(earlier), window.groups
        return [
            log_e_path_of_shares(of, [window.counts], rates, None, earlier, groups=groups)[-1]
            for of in self
        ]


class JudgeLimits(NamedTuple):
    """A limit on a judge, and the strata that the judge's verdicts cut."""

    limits: Limits
    strata: list[Stratum]

    def __len__(self) -> int:
        return len(self.limits.on("judge"))

    def read(self, window: Window, earlier: Sequence[Counts]) -> list[Values]:
        """Return the log e-values of a round, for each limit."""
        now, *before = (self._tally(each) for each in (window.counts, *earlier))
        found: list[LimitEvidence] = judge_evidence(now, before, self.limits)
        return [np.array(each.log_e) for each in found]

    def _tally(self, counts: Counts) -> Any:
        nothing = np.zeros_like(counts.labeled)
        return SimpleNamespace(counts=counts, missing=nothing, frame=self.strata)


def alarms_a_year(process: Windows, limits: Watched, paths: int, seed: int = 2) -> str:
    """Play half years; the mean number of alarms a year, and its standard error."""
    fired = [
        sum(played(process, limits, YEAR // 2, np.random.default_rng((seed, path))))
        for path in range(paths)
    ]
    per_year = np.array(fired) * 2.0
    return f"{per_year.mean():5.2f} ({per_year.std() / np.sqrt(paths):.2f})"


def drops_detected(
    process: Windows, worse: Windows, truth: Values, paths: int, seed: int = 3
) -> str:
    """Find the shares of drops of precision, its limit at the level before, in half the paths."""
    limits, first = MetricLimits.at(truth[:1]), []
    for path in range(max(paths // 2, 1)):
        fired = played(process, limits, WITHIN[-1], np.random.default_rng((seed, path)), then=worse)
        first.append(next((i for i, each in enumerate(fired) if each), YEAR))
    return " ".join(f"{np.mean(np.array(first) < within):.2f}" for within in WITHIN)


def played(
    process: Windows,
    limits: Watched,
    rounds: int,
    rng: np.random.Generator,
    then: Windows | None = None,
) -> list[int]:
    """Count the alarms of each round after some quiet ones; evidence that fires starts again."""
    earlier = [process.drawn(rng).counts for _ in range(QUIET)]
    threshold, evidence = log_threshold(YEAR, len(limits)), [Evidence()] * len(limits)
    alarms = []
    for _ in range(rounds):
        window = (then or process).drawn(rng)
        read = limits.read(window, earlier[-REMEMBERED:])
        after = [each.after(log_e) for each, log_e in zip(evidence, read, strict=True)]
        alarms.append(sum(each.fires(threshold) for each in after))
        evidence = [Evidence() if each.fires(threshold) else each for each in after]
        earlier.append(window.counts)
    return alarms


def metrics_of(positive: Values | Whole, size: Values | Whole, is_flagged: Flags) -> Values:
    """Precision and recall by the positives and sizes of strata."""
    up, down = is_flagged, ~is_flagged
    matrix = Matrix(
        *(of.sum() for of in (positive[up], (size - positive)[up])),
        *(of.sum() for of in (positive[down], (size - positive)[down])),
    )
    return np.array([float(metric(name)(matrix)) for name in METRICS])
