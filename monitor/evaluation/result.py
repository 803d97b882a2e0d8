"""The evaluation of a labeled set: estimates, curves, the counts for a monitor, and warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from monitor.domain.curve_rows import FEWEST_FOR_CURVES, GRID_POINTS, GainCurvesRow, PrevalenceRow
from monitor.domain.errors import InputRefused
from monitor.domain.implausible_scores import implausible_scores
from monitor.evaluation.designs import (
    SEED,
    EvaluationDesign,
    EvaluationSample,
    EvaluationStratum,
    design_of,
)
from monitor.evaluation.rows import CLASSIFIER, LabeledRows, Terms
from monitor.presentation.numbers import digits_text, interval_text, percent_text
from monitor.presentation.reasons import worded
from monitor.presentation.table import Table
from monitor.report.curve_figures import OPERATING_WITH_GAIN, Operating, draw_curves, draw_p3
from monitor.results.estimates import HEADLINE, Estimates
from monitor.results.result import Picture
from monitor.stats.core.counts import Interval
from monitor.stats.core.metrics import METRICS
from monitor.stats.core.sample import ScoredSample
from monitor.stats.curves.curve_draws import curve_bands
from monitor.stats.estimation.posterior import MetricEstimate, estimates
from monitor.stats.estimation.prevalence import prevalence_curve

if TYPE_CHECKING:
    from collections.abc import Sequence

_DECIMALS = 6
_CHANCE = 0.5
_AREAS = {"roc_auc": "roc_area", "average_precision": "average_precision"}


_LEAST_CHANCE = 1e-3  # Below this a plain random sample is not believed to have come out so

_ROUND = 100
_FEWEST = 20  # of each kind; of fewer, equal counts are no news

_ADVICE = "say how the labels were drawn: by sizes, weight or prevalence"


def labeled_set_warnings(rows: LabeledRows, drawn: EvaluationSample) -> list[str]:
    """Describe what looks as if labels were swapped, or drawn otherwise; mostly nothing.

    Raises `InputRefused` if nothing is said of how the labels were drawn, and their balance was
    chosen.
    """
    return [*_swapped(rows), *_balance_warnings(rows, drawn), *_weights_as_probabilities(rows)]


def _swapped(rows: LabeledRows) -> list[str]:
    up, positive, terms = rows.flagged, rows.positive, rows.terms
    counts = positive[up].sum(), len(rows), positive.sum(), up.sum()
    if stats.hypergeom.cdf(*counts) >= _LEAST_CHANCE:
        return []
    return [
        f"{percent_text(positive[up].mean())} of the {terms.flagged} {terms.items} are labeled 1, "
        f"and {percent_text(positive[~up].mean())} of the {terms.passed} ones: see whether 1 is "
        f"the class that is looked for, and {terms.flagged} its {terms.prediction}"
    ]


def _weights_as_probabilities(rows: LabeledRows) -> list[str]:
    """Warn of weights that are probabilities: labels are drawn more often of flagged items."""
    weight, up, terms = rows.weight, rows.flagged, rows.terms
    if weight is None or weight.max() > 1 or up.all() or not up.any():
        return []
    if weight[up].mean() <= weight[~up].mean():
        return []
    return [
        f"no weight is over 1, and {terms.flagged} {terms.items} have larger ones than "
        f"{terms.passed}, as probabilities of being drawn are: a weight says for how many items of "
        "the population a row stands, so give 1 / probability; if the weights are right, multiply "
        "them so that none is under 1"
    ]


def _balance_warnings(rows: LabeledRows, drawn: EvaluationSample) -> list[str]:
    """Describe what looks as if the labels were drawn otherwise.

    Of a set alone little can be known: 1,013 flagged and 987 passed items may be all there are of a
    classifier that flags half, or drawn from one that flags a percent. Only balances that hardly
    come about by chance are reported, and those that contradict a flagged rate that is stated.

    Raises `InputRefused` if nothing is said of how the labels were drawn, and their balance was
    chosen: recall or precision would describe the set.
    """
    if drawn.sizes is not None or rows.weight is not None:
        return []
    flagged, passed = int(rows.flagged.sum()), int((~rows.flagged).sum())
    if drawn.prevalence is not None:
        return _of_actual_classes(flagged, passed, rows.terms)
    if drawn.flagged_rate is not None:
        return _near_the_rate(flagged, len(rows), drawn.flagged_rate, rows.terms)
    positive, negative = int(rows.positive.sum()), int((~rows.positive).sum())
    problem = None
    if by := _drawn_evenly(flagged, passed):
        problem = (
            f"{_labeled_text(flagged, passed, rows.terms)}: {by}, so {rows.terms.by_predicted}"
        )
    elif by := _drawn_evenly(positive, negative):
        problem = (
            f"{positive:,} positive and {negative:,} negative items are labeled: {by}, so "
            f"{rows.terms.by_actual}"
        )
    if problem is None:
        return []
    sure = f"{problem}; {_ADVICE}. If they are a plain random sample all the same, give"
    if not drawn.random:
        message = f"{sure} random, or the flagged_rate of all items"
        raise InputRefused(message)
    return [f"{sure} its flagged_rate"]


def _labeled_text(flagged: int, passed: int, terms: Terms) -> str:
    return f"{flagged:,} {terms.flagged} and {passed:,} {terms.passed} {terms.items} are labeled"


def _of_actual_classes(flagged: int, passed: int, terms: Terms) -> list[str]:
    problem = _drawn_evenly(flagged, passed)
    if not problem:
        return []
    wrong = "recall" if terms is CLASSIFIER else "tpr"
    return [
        f"{_labeled_text(flagged, passed, terms)}: {problem}, by {terms.value}. A prevalence "
        f"adjusts labels drawn by actual class or at random; of these {wrong} would be wrong: give "
        "sizes instead"
    ]


def _near_the_rate(flagged: int, labeled: int, rate: float, terms: Terms) -> list[str]:
    chance = float(stats.binomtest(flagged, labeled, rate).pvalue)
    if chance >= _LEAST_CHANCE:
        return []
    return [
        f"{percent_text(flagged / labeled)} of the labeled {terms.items} are {terms.flagged}, but "
        f"{percent_text(rate)} of all: they are not a plain random sample; {_ADVICE}"
    ]


def _drawn_evenly(first: int, second: int) -> str | None:
    """Describe why two counts look chosen; None if they may be chance."""
    if min(first, second) < _FEWEST:
        return None
    if first == second:
        return "as many of each"
    if np.all(np.array([first, second]) % _ROUND == 0):
        return "round numbers of each"
    return None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SetEstimates(Estimates):
    """Estimates from a labeled set.

    Parameters
    ----------
    drawn
        How the labels were drawn, in words.
    level
        Posterior probability inside each interval, for each metric by itself.
    warnings
        What looks as if the labels were swapped, or drawn otherwise.
    """

    drawn: str
    level: float
    warnings: tuple[str, ...]

    def document_of(self, title: str, rows: Sequence[Sequence[str]]) -> list[str | Table]:
        """Return how the labels were drawn, warnings, and a table of metrics."""
        return [
            f"{self.drawn}; {self.level_text}",
            *(f"WARNING: {warning}" for warning in self.warnings),
            Table([title, "estimate"], rows),
        ]

    @property
    def level_text(self) -> str:
        """The level of the intervals in words."""
        return f"{100 * self.level:.4g}% intervals"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Evaluation(SetEstimates):
    """What a labeled set tells about a classifier.

    Parameters
    ----------
    threshold
        Score from which on an item is flagged, if known.
    strata
        The labels by stratum.
    p3
        Precision against the prevalence.
    curves
        ROC, precision-recall and gain; None without scores, or with fewer than 10 positive or
        negative labels.
    reference
        ``tp``, ``fp``, ``fn`` and ``tn`` for the `reference` of a monitor.
    """

    threshold: float | None
    strata: tuple[EvaluationStratum, ...]
    p3: PrevalenceRow
    curves: GainCurvesRow | None
    reference: dict[str, int]

    @property
    def metrics(self) -> dict[str, float]:
        """Name what MLflow is given: ``precision/point``, ``precision/low``, ``precision/high``."""
        by_name = {name: self.ends(name) for name in HEADLINE}
        if self.curves is not None:
            by_name |= {name: getattr(self.curves, area) for name, area in _AREAS.items()}
        named = {
            f"{name}/{end}": round(value, _DECIMALS)
            for name, ends in by_name.items()
            if ends is not None
            for end, value in zip(("point", "low", "high"), ends, strict=True)
        }
        counts = {
            "labels/labeled": sum(row.labeled for row in self.strata),
            "labels/positive": sum(row.positive for row in self.strata),
        }
        return named | {name: float(count) for name, count in counts.items()}

    def plot(self, figure: str = "intervals") -> Picture:
        """Draw a figure.

        Parameters
        ----------
        figure
            ``intervals`` of the main metrics; ``prevalence``: precision at other prevalences;
            ``curves``: ROC, precision-recall and gain, which need scores.

        Raises
        ------
        InputRefused
            If the figure is another one or cannot be drawn, with the reason.
        """
        match figure:
            case "intervals":
                return Estimates.plot(self)
            case "prevalence":
                return Picture(draw_p3(self.p3, title="Precision at other prevalences"))
            case "curves" if self.curves is not None:
                rates = {name: self.ends(name) for name in OPERATING_WITH_GAIN}
                drawn = draw_curves(
                    self.curves,
                    title="What other thresholds would do",
                    labels="of the set",
                    weighted_to="the population",
                    operating=Operating(rates, self.threshold),
                )
                return Picture(drawn)
            case "curves":
                message = (
                    f"curves need scores, and {FEWEST_FOR_CURVES} positive and as many negative "
                    "labels"
                )
            case _:
                message = f"figure is {figure!r}; there are intervals, prevalence and curves"
        raise InputRefused(message)

    def document(self) -> Sequence[str | Table]:
        """Return how the labels were drawn, warnings, and a table of the main metrics."""
        rows = [[name, self.metric_text(name)] for name in HEADLINE]
        if self.curves is not None:
            rows += [
                [name, interval_text(Interval(*getattr(self.curves, area)))]
                for name, area in _AREAS.items()
            ]
        return self.document_of("metric", rows)


def evaluate_rows(rows: LabeledRows, drawn: EvaluationSample, *, level: float = 0.95) -> Evaluation:
    """Estimate everything from checked rows, drawn as it is said.

    Raises
    ------
    InputRefused
        If the rows do not fit how they were drawn, or the level is out of range.
    """
    warned, design, result = estimate_design(rows, drawn, tuple(METRICS), level)
    curves = _curves(rows, design, level)
    p3 = prevalence_curve(design.drawn.of("rate"), level=level, scaled=design.scaled)
    return Evaluation(
        drawn=design.how_drawn,
        level=level,
        threshold=rows.threshold,
        estimates=[worded(each) for each in result],
        strata=design.strata,
        p3=PrevalenceRow.of(p3),
        curves=curves,
        reference=design.reference,
        warnings=(*warned, *_score_warnings(rows), *_order_warnings(curves)),
    )


def estimate_design(
    rows: LabeledRows, drawn: EvaluationSample, metrics: Sequence[str], level: float
) -> tuple[list[str], EvaluationDesign, list[MetricEstimate]]:
    """Return warnings about a labeled set, its design, and estimates of metrics.

    Raises `InputRefused` as ``evaluate_rows`` does.
    """
    if not isinstance(level, float) or not 0 < level < 1:
        message = f"level is {level!r}; it is the probability inside an interval, such as 0.95"
        raise InputRefused(message)
    warned = labeled_set_warnings(rows, drawn)
    design = design_of(rows, drawn)
    result = estimates(
        design.counts,
        metrics=metrics,
        estimands=design.estimands,
        level=level,
        drawn=design.drawn,
        scaled=design.scaled,
    )
    return warned, design, result


def _curves(rows: LabeledRows, design: EvaluationDesign, level: float) -> GainCurvesRow | None:
    positive = int(rows.positive.sum())
    if rows.score is None or min(positive, len(rows) - positive) < FEWEST_FOR_CURVES:
        return None
    bands = curve_bands(
        ScoredSample(design.items, rows.score),
        prevalence=design.prevalence,
        points=GRID_POINTS,
        level=level,
        rng=np.random.default_rng(SEED),
    )
    return GainCurvesRow.of(bands, design.items)


def _score_warnings(rows: LabeledRows) -> list[str]:
    if rows.score is None or rows.threshold is None:
        return []
    fault = implausible_scores(rows.score.tolist(), rows.threshold)
    return [] if fault is None else [fault]


def _order_warnings(curves: GainCurvesRow | None) -> list[str]:
    if curves is None or curves.roc_area[2] >= _CHANCE:
        return []
    return [
        f"positives have lower scores than negatives (ROC area {digits_text(*curves.roc_area)}); "
        "does the score mean the other class?"
    ]
