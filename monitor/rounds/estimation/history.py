"""Distribution of the strata's rates before and after each round, from one pass over a history.

A score cell has few labels, so it has no history. All cells of a predicted class form one stratum
of the plain labels that they are worth (`monitor.stats.design.cell_counts`). In each round they
count at the sizes of the estimated round, so that a window whose scores moved does not change the
rate if each cell has kept its own. If verdicts cut cells, each cell has its present items, with its
own round's shares of verdicts: a judge that changes without notice never moves the rate of a score
cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.model import Stratum
from monitor.domain.sample_settings import Sample
from monitor.domain.settings import Pooling
from monitor.rounds.estimation.tally import Counted
from monitor.stats.core.beta_mixture import BetaMixture, prior_count
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import JointPosterior
from monitor.stats.core.metrics import Matrix
from monitor.stats.core.sampled_sizes import class_rows
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.design.double_sampling import CountedShares
from monitor.stats.design.restratify import EffectiveCounts
from monitor.stats.estimation.cell_matrix import class_counts, class_sizes
from monitor.stats.history.change_point import ClassHistory, PoolingStep, last_steps, pooling_steps
from monitor.stats.history.pooled_rates import pooled_rates
from monitor.stats.history.run_length import RunLength
from monitor.storage.results.past_counts import score_cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]


CLASSES = {"flagged": True, "passed": False}


@dataclass(frozen=True, slots=True)
class HistoryState:
    """The prior of a round (None without one), and the posterior.

    ``now`` has the round's labels as pooled, and ``steps`` the pooling of each predicted class.
    """

    before: JointPosterior | None
    after: JointPosterior
    steps: Mapping[str, PoolingStep]
    now: PooledLabels


def history_states(
    rounds: Sequence[Counted],
    reference: Counts | None,
    settings: Pooling,
    *,
    cells: NDArray[np.int64] | None = None,
    since: int = 0,
) -> list[HistoryState]:
    """Pool the rounds of a history, in slot order; return one `HistoryState` for each.

    cells: Score cell of each stratum, if a class is pooled as one rate (`cells_to_pool`);
        earlier rounds are then recounted for the sizes of each round.
    since: Number of first rounds that the result omits.
    """
    counts = [each.counts for each in rounds]
    if cells is None:
        return _by_bands(counts, reference, settings, since)
    return _by_cells(counts, reference, settings, since, cells)


def _by_bands(
    rounds: Sequence[Counts], reference: Counts | None, settings: Pooling, since: int
) -> list[HistoryState]:
    """Pool the rounds in one pass: the posterior of a round is the prior of the next."""
    first = max(0, since - 1)  # the last omitted round is the prior of the next
    launch = labels_of_bands([] if reference is None else [reference])
    labels = labels_of_bands(rounds)
    taken = {
        name: _steps(labels, launch, settings, flagged=up, since=first)
        for name, up in CLASSES.items()
    }
    before = launch[0].posterior() if launch else None
    states: list[HistoryState] = []
    for index, steps in enumerate(zip(*taken.values(), strict=True), start=first):
        after = JointPosterior(*(step.mixture for step in steps))
        by_class = dict(zip(taken, steps, strict=True))
        states.append(HistoryState(before, after, by_class, labels[index]))
        before = after
    return states[since - first :]


def _by_cells(
    rounds: Sequence[Counts],
    reference: Counts | None,
    settings: Pooling,
    since: int,
    cells: NDArray[np.int64],
) -> list[HistoryState]:
    """For each round, count all rounds up to it at its sizes, and pool them."""
    round_counts = range(since + 1, len(rounds) + 1)
    counted = _counted_for_each(rounds, reference, round_counts, cells)
    ends = last_steps(
        [history for histories in counted for history in histories],
        RunLength(settings.hazard, settings.restart),
    )
    states: list[HistoryState] = []
    for i, count in enumerate(round_counts):
        flagged, passed = ends[2 * i : 2 * i + 2]
        before = JointPosterior(flagged.before, passed.before)
        states.append(
            HistoryState(
                None if count == 1 and reference is None else before,
                JointPosterior(flagged.step.mixture, passed.step.mixture),
                dict(zip(CLASSES, (flagged.step, passed.step), strict=True)),
                _labels_of_last(counted[i], rounds[count - 1]),
            )
        )
    return states


def _counted_for_each(
    rounds: Sequence[Counts],
    reference: Counts | None,
    round_counts: Iterable[int],
    cells: NDArray[np.int64],
) -> list[tuple[ClassHistory, ...]]:
    """Count flagged and passed cells of the rounds up to each one, at its sizes."""
    before_launch = [] if reference is None else [reference]
    counts, first = [*before_launch, *rounds], len(before_launch)
    histories: list[tuple[ClassHistory, ...]] = []
    for count in round_counts:
        worth = class_labels(counts[: first + count], rounds[count - 1], cells)
        histories.append(tuple(_of_class(worth, first, i) for i in range(len(CLASSES))))
    return histories


def _of_class(worth: EffectiveCounts, first: int, i: int) -> ClassHistory:
    positive, labeled = worth.positive[:, [i]], worth.labeled[:, [i]]
    nothing = np.zeros(1)
    if not first:
        return ClassHistory(positive, labeled, nothing, nothing)
    return ClassHistory(positive[1:], labeled[1:], positive[0], labeled[0])


def _labels_of_last(counted: Sequence[ClassHistory], last: Counts) -> PooledLabels:
    return PooledLabels(
        size=class_sizes(last),
        rows=class_rows(last),
        labeled=np.concatenate([each.labeled[-1] for each in counted]),
        positive=np.concatenate([each.positive[-1] for each in counted]),
        is_flagged=np.array(list(CLASSES.values())),
    )


def pooled_before(
    earlier: Sequence[Counted],
    strata: Sequence[Stratum],
    reference: Mapping[str, tuple[int, int]] | None,
    settings: Pooling,
) -> JointPosterior | None:
    """Pool the prior of bands before a round is labeled; None without one."""
    launch = before_launch(strata, reference)
    if earlier:
        return history_states(earlier, launch, settings, since=len(earlier) - 1)[-1].after
    if launch is None:
        return None
    return labels_of_bands([launch])[0].posterior()


def before_launch(
    strata: Sequence[Stratum], reference: Mapping[str, tuple[int, int]] | None
) -> Counts | None:
    """Count what was labeled before launch, for these strata; None without a reference."""
    if reference is None:
        return None
    pairs = [reference.get(stratum.name, (0, 0)) for stratum in strata]
    return Counts.of_arrays(
        size=[labeled for _, labeled in pairs],
        labeled=[labeled for _, labeled in pairs],
        positive=[positive for positive, _ in pairs],
        is_flagged=[stratum.flagged for stratum in strata],
    )


def _steps(
    rounds: Sequence[PooledLabels],
    reference: Sequence[PooledLabels],
    settings: Pooling,
    *,
    flagged: bool,
    since: int,
) -> tuple[PoolingStep, ...]:
    return pooling_steps(
        [labels.of_class(flagged=flagged) for labels in rounds],
        reference=reference[0].of_class(flagged=flagged) if reference else None,
        settings=RunLength(settings.hazard, settings.restart),
        since=since,
    )


def pooled_matrix(history: HistoryState) -> Matrix:
    """Scale the round's rates, drawn toward its history, to the items of the window."""
    labeled, positive = zip(
        *(_class_labels(history, name, flagged=up) for name, up in CLASSES.items()),
        strict=True,
    )
    now = history.now
    return scaled_matrix(
        now.size, np.concatenate(labeled), np.concatenate(positive), now.is_flagged
    )


def _class_labels(history: HistoryState, name: str, *, flagged: bool) -> tuple[Values, Values]:
    """Return labels of a class, or pooled rates with one label per stratum."""
    positive, labeled = history.now.of_class(flagged=flagged)
    # A round's labels let a change enter unless nothing was known before: one component then.
    is_first = history.steps[name].mixture.weight.size == 1 and labeled.any()
    if history.before is None or is_first:
        return labeled, positive
    before: BetaMixture = getattr(history.before, name)
    size = history.now.size[history.now.is_flagged == flagged]
    rates = pooled_rates((before.weight, before.alpha, before.beta), positive, labeled, size)
    return np.ones(size.shape), rates


@dataclass(frozen=True, slots=True, eq=False)
class PooledLabels:
    """Labels of a round by pooled stratum: shape ``(H,)`` each.

    Effective counts of cells may exceed ``size``.
    """

    size: NDArray[np.int64]
    labeled: Values
    positive: Values
    is_flagged: NDArray[np.bool_]
    rows: NDArray[np.int64] | None = None

    @property
    def window(self) -> Counts:
        """The strata without their labels."""
        nothing = np.zeros_like(self.size)
        return Counts(self.size, nothing, nothing, self.is_flagged, self.rows)

    def posterior(self) -> JointPosterior:
        """Make the posterior of these labels alone, Jeffreys' count shared out in each class."""
        return JointPosterior(
            *(_posterior(*self.of_class(flagged=flagged)) for flagged in (True, False))
        )

    def of_class(self, *, flagged: bool) -> tuple[Values, Values]:
        """Return positive and labeled of the strata of one class."""
        chosen = self.is_flagged == flagged
        return self.positive[chosen], self.labeled[chosen]


def _posterior(positive: Values, labeled: Values) -> BetaMixture:
    prior = prior_count(positive.size)
    return BetaMixture.single(prior + positive, prior + labeled - positive)


def cells_to_pool(strata: Sequence[Stratum], sample: Sample) -> NDArray[np.int64] | None:
    """Return the score cell of each stratum, if a class is pooled as one rate; else None."""
    if sample.cells is None and all(one.verdict is None for one in strata):
        return None
    return score_cells(strata)


def is_cut(cells: NDArray[np.int64]) -> bool:
    """Whether verdicts cut score cells into strata."""
    return len(np.unique(cells)) < len(cells)


def labels_of_bands(rounds: Sequence[Counts]) -> list[PooledLabels]:
    """Take the labels of rounds as they are, each band by itself."""
    return [
        PooledLabels(
            each.size,
            each.labeled / each.effects,
            each.positive / each.effects,
            each.is_flagged,
            each.rows,
        )
        for each in rounds
    ]


def labels_of_classes(
    rounds: Sequence[Counts], now: Counts, cells: NDArray[np.int64]
) -> list[PooledLabels]:
    """Return the labels of rounds by predicted class, at the sizes of one window.

    ``now`` has its items in each stratum, ``cells`` the score cells of the strata, shape ``(H,)``.

    >>> counts = Counts.of_arrays(
    ...     size=[60, 100, 9000, 840], labeled=[26, 19, 65, 90], positive=[16, 18, 0, 9],
    ...     is_flagged=[True, True, False, False],
    ... )
    >>> [found] = labels_of_classes([counts], counts, np.arange(4))
    >>> found.size, found.labeled.round(1), found.positive.round(1)
    (array([ 160, 9840]), array([ 57.4, 575.2]), array([47.2,  4.9]))
    """
    effective = class_labels(rounds, now, cells)
    size, classes = class_sizes(now), np.array([True, False])
    return [
        PooledLabels(size, effective.labeled[t], effective.positive[t], classes)
        for t in range(len(rounds))
    ]


def class_labels(
    rounds: Sequence[Counts], now: Counts, cells: NDArray[np.int64]
) -> EffectiveCounts:
    """Return the effective counts of each class in each round, shape ``(rounds, 2)``.

    Parameters are as in ``labels_of_classes``.
    """
    if not is_cut(cells):
        labeled, positive = (
            np.stack([getattr(each, name) for each in rounds]) for name in ("labeled", "positive")
        )
        effects = [each.group_effects for each in rounds]
        whole = class_counts(now.size, labeled, positive, now.is_flagged, rows=now.rows)
        return whole.over(effects)
    worth = []
    for each in rounds:
        items, items_now = (_of_cell(size, cells) for size in (each.size, now.size))
        own = np.where(items > 0, items_now * (each.size / np.maximum(items, 1)), now.size)
        columns = own, each.labeled, each.positive, each.is_flagged
        shares = CountedShares(each.size if each.rows is None else np.abs(each.rows), cells)
        plain = class_counts(*columns, shares, rows=now.rows, cell=cells)
        worth.append(plain.over(each.group_effects))
    return EffectiveCounts(
        np.stack([each.positive for each in worth]), np.stack([each.labeled for each in worth])
    )


def _of_cell(size: NDArray[np.int64], cells: NDArray[np.int64]) -> Values:
    """Return the items of the score cell that each stratum is cut from."""
    return np.asarray(np.bincount(cells, size)[cells], dtype=np.float64)
