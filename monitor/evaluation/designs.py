"""How a labeled set was drawn, and what that makes of its labels.

Four ways: at random, by strata of the predicted class whose sizes are known, item by item with
weights, or by actual class with a prevalence to hold for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from monitor.domain.errors import InputRefused
from monitor.presentation.numbers import percent_text, plural
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import POINTS, Estimand
from monitor.stats.core.metrics import FLAGGED, PASSED, Matrix
from monitor.stats.core.sample import LabeledSample
from monitor.stats.estimation.cell_matrix import MatrixDraws, matrix_draws, weighted_matrix
from monitor.stats.estimation.four_cells import FourCells, crossed_draws

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from monitor.evaluation.rows import LabeledRows

SEED = 0  # The same labels give the same numbers

_FEWEST_OF_A_WEIGHT = 2
_MOST_OF_WEIGHTS = 100
"""Different weights that are taken for strata; more belong to single items."""
_WHOLE = 10**9
"""Items that weights are scaled to, where their sums are no counts; only ratios matter."""
_ONE_DECIDES = 0.8
"""Share of the flagged or positive amount in one item from which on intervals miss too often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSample:
    """What somebody says of how the labels were drawn: at most one of the four.

    ``flagged_rate`` is what a plain random sample is checked against. ``may_cross`` allows strata
    that hold both predicted classes in ``sizes``.
    """

    random: bool = False
    has_weights: bool = False
    sizes: Mapping[str, int] | None = None
    prevalence: float | None = None
    flagged_rate: float | None = None
    may_cross: bool = False

    def __post_init__(self) -> None:
        options = {
            "random": self.random,
            "weight": self.has_weights,
            "sizes": self.sizes is not None,
            "prevalence": self.prevalence is not None,
        }
        names = [name for name, has_value in options.items() if has_value]
        if len(names) > 1:
            message = (
                f"{' and '.join(names)} were given; each says in its own way how the labels were "
                "drawn, so give one"
            )
            raise InputRefused(message)
        for name, share in (("prevalence", self.prevalence), ("flagged_rate", self.flagged_rate)):
            _check_share(name, share)
        if self.flagged_rate is not None and names not in ([], ["random"]):
            message = (
                f"flagged_rate checks whether labels are a plain random sample; with {names[0]} "
                "there is nothing to check, so remove it"
            )
            raise InputRefused(message)


def _check_share(name: str, share: Any) -> None:
    if share is None:
        return
    is_number = isinstance(share, (int, float, np.number)) and not isinstance(share, bool)
    if not is_number or not 0 < share < 1:
        message = f"{name} is {share!r}; it is a share of all items, over 0 and under 1"
        raise InputRefused(message)


class EvaluationStratum(NamedTuple):
    """Labels of one stratum; ``size`` is None if nobody knows it."""

    stratum: str
    predicted: str
    size: int | None
    labeled: int
    positive: int


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationDesign:
    """A labeled set, ready for the estimates.

    how_drawn: How it was drawn, for a sentence that begins with it.
    counts: The same for the statistics; sizes are the labels' own where nobody knows them.
    estimands: ``window`` only where the sizes are of a real population.
    drawn, scaled: Draws of the matrix, and the matrix that points are read from.
    items: What curves are read from.
    prevalence: That the numbers are to hold for, where it is given.
    """

    how_drawn: str
    strata: tuple[EvaluationStratum, ...]
    counts: Counts
    estimands: tuple[Estimand, ...]
    drawn: MatrixDraws
    scaled: Matrix
    items: LabeledSample
    cells: FourCells
    prevalence: float | None = None

    @property
    def reference(self) -> dict[str, int]:
        """Counts for the `reference` of a monitor: a plain random sample's, worth no more."""
        return self.cells.plain_sample(self.prevalence)


def design_of(rows: LabeledRows, drawn: EvaluationSample) -> EvaluationDesign:
    """Make of the labels what they are by the way they were drawn."""
    if drawn.sizes is None and rows.stratum is not None:
        message = "a stratum is named but no sizes; give the items of each stratum in sizes"
        raise InputRefused(message)
    if rows.amount is not None:
        return _by_amount(rows, rows.amount, drawn)
    if drawn.sizes is not None:
        return _by_sizes(rows, drawn.sizes, may_cross=drawn.may_cross)
    if rows.weight is not None:
        return _by_weights(rows, rows.weight)
    cells = FourCells.of_items(rows.flagged, rows.positive)
    count = plural(len(rows), "label")
    if drawn.prevalence is None:
        return _free(rows, cells, f"{count}, a plain random sample")
    at = percent_text(drawn.prevalence)
    text = f"{count} drawn by actual class, for a prevalence of {at}"
    return _free(rows, cells, text, drawn.prevalence)


def _free(
    rows: LabeledRows, cells: FourCells, text: str, prevalence: float | None = None
) -> EvaluationDesign:
    """Take labels whose predicted classes have no known size."""
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    everything = LabeledSample(
        np.zeros(len(rows), dtype=np.int64),
        rows.positive,
        size=[len(rows), 0],
        flagged=1,
        worth=weight * weight.sum() / np.sum(weight**2),
    )
    classes = LabeledSample(
        np.where(rows.flagged, 0, 1),
        rows.positive,
        size=[int(rows.flagged.sum()), int((~rows.flagged).sum())],
        flagged=1,
    )
    return EvaluationDesign(
        how_drawn=text,
        strata=_strata(classes, (FLAGGED, PASSED), sized=False),
        counts=classes.counts,
        estimands=("rate",),
        drawn=cells.draws(seed=SEED, prevalence=prevalence),
        scaled=cells.scaled(prevalence),
        items=everything,
        cells=cells,
        prevalence=prevalence,
    )


def _by_sizes(rows: LabeledRows, sizes: Mapping[str, int], *, may_cross: bool) -> EvaluationDesign:
    names = _names_of(rows)
    size = _checked_sizes(sizes, names)
    total, strata = sum(size.values()), plural(len(size), "stratum").replace("stratums", "strata")
    if may_cross and any(0 < rows.flagged[names == name].mean() < 1 for name in size):
        text = f"{plural(len(rows), 'label')} drawn from {total:,} items in {strata}"
        ordered, stratum = np.unique(names, return_inverse=True)
        return _crossed(rows, stratum, [size[str(name)] for name in ordered], text)
    flagged = {name: _one_class(name, rows.flagged[names == name]) for name in size}
    order = sorted(size, key=lambda name: not flagged[name])
    index = {name: h for h, name in enumerate(order)}
    sample = LabeledSample(
        np.array([index[name] for name in names]),
        rows.positive,
        size=[size[name] for name in order],
        flagged=sum(flagged.values()),
    )
    labels = plural(len(rows), "label")
    text = f"{labels} drawn by {rows.terms.value} from {total:,} items, in {strata}"
    return _stratified(rows, sample, order, text, sized=True)


def _names_of(rows: LabeledRows) -> NDArray[np.object_]:
    """Name the stratum of each item: its predicted class where no other is given."""
    if rows.stratum is not None:
        return rows.stratum
    return np.where(rows.flagged, FLAGGED, PASSED).astype(object)


def _checked_sizes(sizes: Any, names: NDArray[np.object_]) -> dict[str, int]:
    if not isinstance(sizes, Mapping):
        message = (
            f"sizes is {sizes!r}; it names the items of each stratum, such as "
            "{'flagged': 1600, 'passed': 48400}"
        )
        raise InputRefused(message)
    size_of = {str(name): size for name, size in sizes.items()}
    labeled = dict(zip(*np.unique(names, return_counts=True), strict=True))
    if missing := sorted(labeled.keys() - size_of.keys()):
        message = (
            f"sizes names {', '.join(sorted(size_of)) or 'no stratum'}, but labels are also of "
            f"{', '.join(missing)}; give the items of each stratum"
        )
        raise InputRefused(message)
    for name, size in size_of.items():
        _check_size(name, size, int(labeled.get(name, 0)))
    return {name: int(size) for name, size in size_of.items() if size}


def _check_size(name: str, size: Any, labeled: int) -> None:
    is_whole = isinstance(size, Integral) or (isinstance(size, float) and size.is_integer())
    if not is_whole or isinstance(size, bool) or size < 0:
        message = f"the size of {name} is {size!r}; it counts items, so it is a whole number"
        raise InputRefused(message)
    if size < labeled:
        message = (
            f"the size of {name} is {int(size):,} items, but {labeled:,} of them are labeled; it "
            "counts all items of the stratum, labeled or not"
        )
        raise InputRefused(message)
    if size and not labeled:
        message = (
            f"the size of {name} is {int(size):,} items, but none of them is labeled; label some, "
            "or count them to a stratum that they are like"
        )
        raise InputRefused(message)


def _one_class(name: str, flagged: NDArray[np.bool_]) -> bool:
    if flagged.all() or not flagged.any():
        return bool(flagged.all())
    message = (
        f"stratum {name} holds {flagged.sum():,} flagged and {(~flagged).sum():,} passed items; "
        "strata are cut by predicted class first. Predictions cost no labels: count the two apart, "
        f"as {name}/flagged and {name}/passed"
    )
    raise InputRefused(message)


def _by_weights(rows: LabeledRows, weight: NDArray[np.float64]) -> EvaluationDesign:
    """Take weights for strata where they can be; else for chances of single items."""
    label = plural(len(rows), "label")
    different, stratum = np.unique(weight, return_inverse=True)
    by_class = np.zeros((len(different), 2), dtype=np.int64)
    np.add.at(by_class, (stratum, rows.flagged.astype(np.int64)), 1)
    crosses, labeled = bool(by_class.min(axis=1).any()), by_class.sum(axis=1)
    if crosses and labeled.min() >= _FEWEST_OF_A_WEIGHT and 1 < len(labeled) <= _MOST_OF_WEIGHTS:
        text = f"{label}, weights taken for {len(labeled)} strata"
        return _crossed(rows, stratum, different * labeled, text)
    if crosses or labeled.min() < _FEWEST_OF_A_WEIGHT:
        cells = FourCells.of_items(rows.flagged, rows.positive, weight)
        return _free(rows, cells, f"{label}, each with its weight")
    is_passed = by_class[:, 1] == 0
    order = np.argsort(is_passed, kind="stable")
    items = different * labeled
    are_counts = np.all(items == np.rint(items)) and np.all(different >= 1)
    size = np.rint(items if are_counts else items * (_WHOLE / items.sum())).astype(np.int64)
    sample = LabeledSample(
        np.argsort(order)[stratum],
        rows.positive,
        size=size[order].tolist(),
        flagged=int((~is_passed).sum()),
    )
    names = [f"weight {different[h]:g}" for h in order]
    text = f"{label}, weights taken for {len(order)} strata by {rows.terms.value}"
    return _stratified(rows, sample, names, text, sized=False)


def _by_amount(
    rows: LabeledRows, amount: NDArray[np.float64], drawn: EvaluationSample
) -> EvaluationDesign:
    """Count each item by its amount, times the items that it stands for.

    Where every item of known sizes is labeled, the window is these items, without any noise.
    """
    if drawn.prevalence is not None:
        message = "prevalence is a share of items, and amount counts no items; remove one"
        raise InputRefused(message)
    items, of, is_whole = np.ones(len(rows)), "of a plain random sample", False
    if drawn.sizes is not None:
        names = _names_of(rows)
        size, labels = _checked_sizes(drawn.sizes, names), Counter(names.tolist())
        items = np.array([size[name] / labels[name] for name in names])
        of, is_whole = f"of {sum(size.values()):,} items", size == labels
    elif rows.weight is not None:
        items, of = rows.weight, "with a weight each"
    weight = items * amount
    cells = FourCells.of_items(rows.flagged, rows.positive, weight)
    text = f"{plural(len(rows), 'label')} {of}, by amount and not by number of items"
    decisive = (weight[which] for which in (rows.flagged, rows.positive))
    largest = max(each.max() / each.sum() for each in decisive)
    if largest > _ONE_DECIDES:
        share = percent_text(largest)
        text += f" (one has {share} of what is flagged or positive: intervals may be too narrow)"
    design = _free(replace(rows, weight=weight), cells, text)
    if not is_whole:
        return design
    rate = design.drawn
    exact = Matrix(*((cells.labeled * cells.weight)[:, np.newaxis]))
    with_window = replace(rate, of=lambda of: exact if of == "window" else rate.of(of))
    return replace(design, estimands=("rate", "window"), drawn=with_window)


def _crossed(
    rows: LabeledRows, stratum: NDArray[np.intp], size: ArrayLike, text: str
) -> EvaluationDesign:
    """Take strata that hold both predicted classes, so that these have no known size."""
    labeled = np.zeros((np.size(size), 4))
    np.add.at(labeled, (stratum, 2 * ~rows.flagged + ~rows.positive), 1)
    weight = (np.asarray(size) / labeled.sum(axis=1))[stratum]
    cells = FourCells.of_items(rows.flagged, rows.positive, weight)
    design = _free(replace(rows, weight=weight), cells, text)
    return replace(design, drawn=crossed_draws(labeled, size, seed=SEED))


def _stratified(
    rows: LabeledRows, sample: LabeledSample, names: list[str], text: str, *, sized: bool
) -> EvaluationDesign:
    counts = sample.counts
    return EvaluationDesign(
        how_drawn=text,
        strata=_strata(sample, names, sized=sized),
        counts=counts,
        estimands=("rate", "window") if sized else ("rate",),
        drawn=matrix_draws(counts, seed=SEED, points=POINTS, cells=False),
        scaled=weighted_matrix(counts, cells=False),
        items=sample,
        cells=FourCells.of_items(rows.flagged, rows.positive, sample.weight),
    )


def _strata(
    sample: LabeledSample, names: list[str] | tuple[str, ...], *, sized: bool
) -> tuple[EvaluationStratum, ...]:
    counts = sample.counts
    return tuple(
        EvaluationStratum(
            stratum=name,
            predicted=FLAGGED if counts.is_flagged[h] else PASSED,
            size=int(counts.size[h]) if sized else None,
            labeled=int(counts.labeled[h]),
            positive=int(counts.positive[h]),
        )
        for h, name in enumerate(names)
    )
