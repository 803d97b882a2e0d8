"""The first answer about a file of predictions: its items, its labels, and what labels cost."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.config.column_guess import Chosen, Described
from monitor.domain.errors import InputRefused, SourceRefused
from monitor.domain.implausible_scores import implausible_scores
from monitor.domain.model import BandEdges, Frame, Window
from monitor.domain.values import zero_one
from monitor.fixed_text import significant_text
from monitor.presentation.numbers import minute_text, percent_text, span_text
from monitor.presentation.table import Table
from monitor.rounds.forecast.plan_window import scan_to_plan
from monitor.rounds.sampling.window_scan import PROFILE
from monitor.stats.design.allocation import allocate
from monitor.stats.design.planning import plan_options
from monitor.stats.design.prospect import Prospect
from monitor.stats.design.score_bands import resemble_probabilities

if TYPE_CHECKING:
    from monitor.cli.commands.first_labels import FirstLabels
    from monitor.rounds.context import MonitorContext

SECONDS_A_LABEL = 5
MARGINS = (0.10, 0.05)
JUDGE = (0.9, 0.05)
"""Shares of positives and of negatives with a yes of the verdicts that are only assumed."""
ASSUMED = {"precision": 0.8, "recall": 0.6}

_LABEL = re.compile(
    r"(.*[_ ])?(labels?|truth|actual|target|outcome|y_true|ground_truth|chargeback)|is_.+",
    re.IGNORECASE,
)
_VERDICT = re.compile(r".*(verdict|judge|llm).*", re.IGNORECASE)
_COLUMNS = ("id", "time", "score", "predicted", "label", "classes")
_SHARES = (0.5, 0.9)  # of the items that have a lower score than the one shown


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of all items: the lowest, the highest, and the quantiles 0.5 and 0.9."""

    low: float
    median: float
    high_tenth: float
    high: float
    are_shares: bool
    fault: str | None


@dataclass(frozen=True, slots=True)
class Needed:
    """Labels of a round for one margin, now and with what would save some."""

    margins: dict[str, float]
    labels: int
    seconds: int
    with_verdicts: int
    with_flagged_labeled: int


@dataclass(frozen=True, slots=True)
class Costs:
    """Labels that a round of the config needs; ``basis`` names the rates.

    ``expected`` holds precision, recall and prevalence of these rates. ``plausible`` is the
    range of labels for the margins of the config if only scores are known.
    """

    window: str
    flagged: int
    passed: int
    basis: str
    command: str
    expected: dict[str, float]
    needed: tuple[Needed, ...]
    plausible: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """Result of `pr-monitor init` for the predictions of a monitor."""

    monitor: str
    rows: int
    first: str
    last: str
    flagged: int
    passed: int
    omitted: dict[str, int]
    scores: Scores | None
    costs: Costs | None
    labels: FirstLabels | None
    verdicts: str | None
    problem: str | None = None

    def labels_needed(self) -> list[str]:
        """Return the labels of a round for each margin."""
        needed = () if self.costs is None else self.costs.needed
        return [f"{each.labels:,}" for each in needed] or ["-" for _ in MARGINS]

    def document(self) -> Iterator[str | Table]:
        """Return the document: the data, what labels say now, and what more would cost."""
        yield from self._facts()
        yield ""
        yield from self._now()
        if self.problem is not None:
            yield f"PROBLEM: {self.problem}"
        if self.costs is not None and self.costs.needed:
            yield ""
            yield from _costs(self.costs, self.verdicts, has_scores=self.scores is not None)

    def _facts(self) -> Iterator[str]:
        items = self.flagged + self.passed
        share = f" ({percent_text(self.flagged / items)})" if items else ""
        noun = "prediction" if self.rows == 1 else "predictions"
        yield f"{self.rows:,} {noun} from {self.first} to {self.last} UTC"
        yield f"{self.flagged:,} flagged{share}, {self.passed:,} passed"
        for reason, count in self.omitted.items():
            yield f"left out: {count:,} ({percent_text(count / self.rows)}), {reason}"
        if self.scores is None:
            yield "no score"
            return
        low, median, tenth, high = map(
            significant_text,
            (self.scores.low, self.scores.median, self.scores.high_tenth, self.scores.high),
        )
        are = "may be" if self.scores.are_shares else "are no"
        yield (
            f"scores from {low} to {high}, half of them up to {median}, a tenth over {tenth}; they "
            f"{are} probabilities"
        )
        if self.scores.fault is not None:
            yield f"LOOK: {self.scores.fault}"

    def _now(self) -> Iterator[str | Table]:
        by_scores = self.costs is not None and self.costs.basis == "scores"
        if self.costs is not None and by_scores and self.costs.expected:
            listed = ", ".join(
                f"{name} {percent_text(share, 2)}" for name, share in self.costs.expected.items()
            )
            yield f"By the scores alone, if they are probabilities: {listed}."
        if self.labels is not None:
            yield from self.labels.document()
        elif self.costs is not None and not by_scores:
            yield "Precision and recall are unknown: there are no labels and no probabilities yet."
        if not self.flagged or not self.passed:
            missing = "flagged" if self.passed else "passed"
            rule = "--threshold" if self.scores is not None else "--predicted, --positive"
            yield f"No item is {missing}: is this the rule in use ({rule})?"


def first_answer(context: MonitorContext, described: Described, columns: Chosen) -> FirstAnswer:
    """Read all predictions once, the labels beside them, and plan a round.

    Raises `SourceRefused` if there are no predictions.
    """
    span = context.source.span()
    if span is None:
        message = f"{context.settings.name} has no predictions"
        raise SourceRefused(message)
    low, high = span
    second = timedelta(seconds=1)  # the source may round either end
    window = Window(low - second, high + second)
    frame = context.source.scan(window, BandEdges().strata(), PROFILE, "init")
    labels, costs, problem = None, None, None
    try:
        labels = _labels(described, columns, frame)
        planned = scan_to_plan(context)
        costs = _costs_of(context, planned.prospect, str(planned.window), labels)
    except InputRefused as error:
        problem = str(error)
    return FirstAnswer(
        monitor=context.settings.name,
        rows=frame.rows,
        first=minute_text(low),
        last=minute_text(high),
        flagged=frame.flagged_size,
        passed=frame.size - frame.flagged_size,
        omitted={str(reason): count for reason, count in frame.bad_rows.items() if count},
        scores=_scores(frame, columns.threshold),
        costs=costs,
        labels=labels,
        verdicts=_binary_column(described, columns, _VERDICT),
        problem=problem,
    )


def _binary_column(described: Described, columns: Chosen, pattern: re.Pattern[str]) -> str | None:
    """Find the only column of such a name without another role whose values mean yes or no."""
    taken = {columns.id, columns.time, columns.score, columns.predicted, columns.classes}
    named = [
        name
        for name in described.columns()
        if name not in taken
        and pattern.fullmatch(name)
        and (values := described.class_values(name))
        and all(zero_one(value.removesuffix(".0")) in {0, 1} for value in values)
    ]
    return named[0] if len(named) == 1 else None


def _labels(described: Described, columns: Chosen, frame: Frame) -> FirstLabels | None:
    label = columns.label or _binary_column(described, columns, _LABEL)
    if label is None:
        return None
    from monitor.cli.commands.first_labels import first_labels  # pandas, which only this needs

    return first_labels(described, columns, label, frame)


def columns_text(columns: Chosen) -> str:
    """Name the columns that were taken."""
    named = {name: getattr(columns, name) for name in _COLUMNS}
    listed = (f"{name} {column!r}" for name, column in named.items() if column is not None)
    return f"columns, by name and type where nothing else is said: {', '.join(listed)}"


def answers_document(answers: Sequence[FirstAnswer]) -> Iterator[str | Table]:
    """Return the answer for one monitor, or a table of several."""
    if len(answers) == 1:
        yield from answers[0].document()
    elif answers:
        rows = [
            [each.monitor, f"{each.flagged:,}", f"{each.passed:,}", *each.labels_needed()]
            for each in answers
        ]
        half = [f"labels for +-{100 * margin:.0f} points" for margin in MARGINS]
        yield Table(["monitor", "flagged", "passed", *half], rows, right="1234")


def _scores(frame: Frame, threshold: float | None) -> Scores | None:
    """Read the scores of the candidates, each for as many items as its class has for one."""
    values, weights = [], []
    for part in frame.strata:
        scores = [each.score for each in part.candidates if each.score is not None]
        values += scores
        weights += [part.size / len(scores)] * len(scores) if scores else []
    if not values:
        return None
    order = np.argsort(values)
    at, share = np.array(values)[order], np.cumsum(np.array(weights)[order])
    median, tenth = (float(at[np.searchsorted(share, q * share[-1])]) for q in _SHARES)
    fault = None if threshold is None else implausible_scores(values, threshold)
    probable = resemble_probabilities(values)
    return Scores(float(at[0]), median, tenth, float(at[-1]), probable, fault)


def _costs_of(
    context: MonitorContext, prospect: Prospect, window: str, labels: FirstLabels | None
) -> Costs | None:
    """Plan as `pr-monitor plan` does, by its rates, or without any by assumed ones."""
    sample = context.settings.round.sample
    up = prospect.is_flagged
    flagged, passed = int(prospect.size[up].sum()), int(prospect.size[~up].sum())
    basis, command = prospect.prior_rates.source, "pr-monitor plan"
    plausible = None
    if basis == "nothing" and flagged and passed:
        rates = ASSUMED if labels is None else {**ASSUMED, **labels.points}
        values = {**rates, "flagged_rate": flagged / (flagged + passed)}
        rounded = {name: float(f"{share:.4g}") for name, share in values.items()}
        prospect = Prospect.assumed(**rounded, size=flagged + passed)
        assumed = [f"--{name.replace('_', '-')} {share:g}" for name, share in rounded.items()]
        command = " ".join(["pr-monitor plan", *assumed, f"--size {flagged + passed}"])
    options = plan_options(
        prospect,
        margins=sample.margin.wanted(),
        max_labels=sample.budget,
        assurance=sample.assurance,
    )
    if options.plausible is not None:
        plausible = options.plausible.needed
    by_margin = {each.margins[name]: each for each in options.needed for name in each.margins}
    needed = (
        _needed(prospect, by_margin[half].margins, sample.assurance)
        for half in MARGINS
        if by_margin
    )
    return Costs(
        window=window,
        flagged=flagged,
        passed=passed,
        basis=basis,
        command=command,
        expected=_expected(prospect, options.plan.margins),
        needed=tuple(needed),
        plausible=plausible,
    )


def _expected(prospect: Prospect, margins: Any) -> dict[str, float]:
    rates, size = prospect.prior_rates.rate, prospect.size
    if not margins:
        return {}
    metrics = {name: prospect.expected[name] for name in ASSUMED if name in prospect.expected}
    return {"prevalence": float(size @ rates / size.sum()), **metrics}


def _needed(prospect: Prospect, margins: Any, assurance: float | None) -> Needed:
    free = replace(prospect, is_free=prospect.is_flagged)
    labels, judged, others = (
        allocate(each, margins=margins, assurance=assurance).total - each.free_labels
        for each in (prospect, prospect.judged(*JUDGE), free)
    )
    return Needed(dict(margins), labels, SECONDS_A_LABEL * labels, judged, others)


def _costs(costs: Costs, verdicts: str | None, *, has_scores: bool) -> Iterator[str | Table]:
    yield (
        f"Labels that a round needs, here for the {costs.flagged:,} flagged and {costs.passed:,} "
        f"passed items of {costs.window}:"
    )
    rows = [
        [
            f"{' and '.join(each.margins)} +-{100 * max(each.margins.values()):.0f} points",
            f"{each.labels:,}",
            span_text(timedelta(seconds=each.seconds)),
            *(
                f"{saved:,}" if saved < each.labels else "no fewer"
                for saved in (each.with_verdicts, each.with_flagged_labeled)
            ),
        ]
        for each in costs.needed
    ]
    head = ["interval", "labels", f"at {SECONDS_A_LABEL} s each", "with verdicts", "flagged free"]
    yield Table(head, rows, right="1234")
    yield ""
    yield (
        "With verdicts: a column of an LLM or another model that says yes to "
        f"{percent_text(JUDGE[0])} of the positives and {percent_text(JUDGE[1])} of the negatives. "
        "Flagged free: labels of all flagged items come from elsewhere, such as reviews."
    )
    if verdicts is not None:
        yield f"Column {verdicts!r} may hold such verdicts; judge.column in the config names it."
    if costs.basis == "nothing":
        rates = ", ".join(f"{name} {costs.expected[name]:.2g}" for name in ASSUMED)
        if has_scores:
            yield f"The scores are not probabilities, so this assumes {rates} until labels are in."
        else:
            yield f"Without scores this assumes {rates}; a column of scores would save labels."
    if costs.plausible is not None and len({*costs.plausible}) > 1:
        low, high = costs.plausible
        yield (
            f"This trusts the scores, which no label has tested: {low:,} to {high:,} labels for "
            "+-5 points if they are wrong in common ways."
        )
