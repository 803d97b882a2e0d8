"""Functions of `monitor`; the commands of the same names print what these return.

Each function loads what it needs when it is called: an estimate needs neither the config nor a
database.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from monitor.domain.errors import InputRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from monitor.config.model import Config
    from monitor.evaluation.judge import JudgeEvaluation
    from monitor.evaluation.result import Evaluation, SetEstimates
    from monitor.evaluation.rows import LabeledRows, Terms
    from monitor.results.estimates import Estimates
    from monitor.results.label_plan import LabelPlan
    from monitor.results.other_predictions import OtherColumns
    from monitor.results.round_comparison import RoundComparison
    from monitor.results.round_history import RoundHistory
    from monitor.rounds.forecast.plan_window import AssumedJudge, PlanForecast
    from monitor.wiring import Application

SetT = TypeVar("SetT", bound="SetEstimates")

MARGIN = 0.05  # Default margin of both metrics
FEWEST = 2  # Labels of a plan, and items of a window: one of each class
SIZE = 100_000  # Items of a window that is only assumed


def estimate(
    *,
    tp: int,
    fp: int,
    fn: int,
    tn: int,
    flagged_size: int,
    passed_size: int,
    level: float = 0.95,
) -> Estimates:
    """Estimate precision, recall and more from one labeled confusion matrix.

    Parameters
    ----------
    tp, fp, fn, tn
        Labeled items: TP and FP among those drawn from the predicted positives, FN and TN among
        those drawn from the predicted negatives.
    flagged_size, passed_size
        All predicted positives and negatives of the window, labeled or not.
    level
        Posterior probability inside each interval, for each metric by itself.

    Returns
    -------
    Estimates
        ``estimates`` is a list of dicts with ``metric``, ``estimand``, ``basis``, ``point``,
        ``low``, ``high``, ``level``, ``method``, ``reason`` and ``caution``; ``estimate("recall")``
        finds one. Estimand ``rate`` is the classifier's, ``window`` describes the very items of
        the window. ``point`` and ends are None if undefined, with a ``reason``.

    Raises
    ------
    InputRefused
        If a count is impossible; the message names it.

    Examples
    --------
    >>> found = estimate(tp=138, fp=22, fn=108, tn=4732, flagged_size=1600, passed_size=48400)
    >>> recall = found.estimate("recall")
    >>> print(f"{recall['point']:.3f} [{recall['low']:.3f}, {recall['high']:.3f}]")
    0.561 [0.512, 0.609]
    """
    from monitor.presentation.reasons import worded
    from monitor.results.estimates import Estimates
    from monitor.stats.estimation.posterior import estimate_matrix

    counts: dict[str, Any] = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    counts |= {"flagged_size": flagged_size, "passed_size": passed_size}
    for name, count in counts.items():
        if not isinstance(count, Integral):
            message = f"{name} is {count!r}; it counts items, so it is a whole number"
            raise InputRefused(message)
    try:
        estimates = estimate_matrix(**counts, level=level)
    except ValueError as error:
        raise InputRefused(str(error)) from error
    return Estimates(estimates=[worded(estimate) for estimate in estimates])


def evaluate(
    frame: pd.DataFrame,
    *,
    label: str = "label",
    predicted: str | None = None,
    score: str | None = None,
    threshold: float | None = None,
    random: bool = False,
    weight: Any = None,
    stratum: Any = None,
    sizes: Mapping[str, int] | None = None,
    prevalence: float | None = None,
    flagged_rate: float | None = None,
    amount: Any = None,
    level: float = 0.95,
) -> Evaluation:
    """Evaluate a classifier by labeled items of any balance, adjusted to its population.

    At most one of ``random``, ``weight``, ``sizes`` and ``prevalence`` says how the labels were
    drawn. Without any of them, they count as a plain random sample, and are refused if their
    balance was chosen, such as equally many flagged and passed items.

    Parameters
    ----------
    frame
        A row per labeled item.
    label
        Column of the truth: 1 or 0, yes or no, true or false.
    predicted, score, threshold
        Column of the predicted class, 1 or 0; of the score; and the score from which on an item
        is flagged, in place of ``predicted``. Curves need the score.
    random
        The labels are a plain random sample.
    weight
        Column of how many items each row stands for, up to one factor; or these values.
    stratum, sizes
        Column of the stratum (the predicted class if not given), and the items of each in the
        population, such as ``{"flagged": 1600, "passed": 48400}``.
    prevalence
        Prevalence of the population to estimate for; the labels were drawn by actual class, or at
        random from items with another prevalence.
    flagged_rate
        Share of all items that is flagged: what a plain random sample is checked against.
    amount
        Column of a positive amount of each item, such as money; or these values. Every metric is
        then weighted by amount. Intervals are wide if few items have most of it.
    level
        Posterior probability inside each interval, for each metric by itself.

    Returns
    -------
    Evaluation
        ``metrics``, ``estimates``, ``reference``, ``warnings``; printed, the main figures.
        ``plot()`` draws them, ``plot("prevalence")`` precision at other prevalences,
        ``plot("curves")`` ROC, precision-recall and gain.

    Raises
    ------
    InputRefused
        If a value cannot be used, with what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> labeled = pd.DataFrame({
    ...     "predicted": [1] * 160 + [0] * 4840,
    ...     "label": [1] * 138 + [0] * 22 + [1] * 108 + [0] * 4732,
    ... })
    >>> found = evaluate(labeled, predicted="predicted", sizes={"flagged": 1600, "passed": 48400})
    >>> print({end: round(found.estimate("recall")[end], 3) for end in ("point", "low", "high")})
    {'point': 0.561, 'low': 0.512, 'high': 0.609}
    """
    from monitor.evaluation.designs import EvaluationSample
    from monitor.evaluation.result import evaluate_rows

    rows = _labeled_rows(
        frame,
        label,
        threshold=threshold,
        predicted=("predicted", None if predicted is None else str(predicted)),
        score=("score", None if score is None else str(score)),
        weight=("weight", weight),
        stratum=("stratum", stratum),
        amount=("amount", amount),
    )
    drawn = EvaluationSample(
        random=random,
        has_weights=weight is not None,
        sizes=sizes,
        prevalence=prevalence,
        flagged_rate=flagged_rate,
    )
    return _warned(evaluate_rows(rows, drawn, level=level))


def evaluate_judge(
    frame: pd.DataFrame,
    *,
    verdict: str = "verdict",
    label: str = "label",
    random: bool = False,
    weight: Any = None,
    strata: Any = None,
    sizes: Mapping[str, int] | None = None,
    prevalence: float | None = None,
    flagged_rate: float | None = None,
    level: float = 0.95,
) -> JudgeEvaluation:
    """Evaluate a judge, such as an LLM's verdicts, by the labels of people in a designed sample.

    How the items were drawn is given as for `evaluate`, and required. An item is flagged if the
    judge says yes. Strata need not be cut by the verdict: a sample that was drawn by the
    predictions of a classifier has both verdicts in each stratum.

    Parameters
    ----------
    frame
        A row per item that has a verdict and a label.
    verdict, label
        Columns of the judge's verdict and of the truth by people: 1 or 0, yes or no, true or false.
    random
        The items are a plain random sample.
    weight
        Column of how many items each row stands for, up to one factor; or these values.
    strata, sizes
        Column of the stratum that an item was drawn from, and the items of each in the population,
        such as ``{"flagged": 1600, "passed": 48400}``.
    prevalence
        Prevalence of the population to estimate for; the items were drawn by actual class.
    flagged_rate
        Share of all items that the judge says yes to: what a plain random sample is checked
        against.
    level
        Posterior probability inside each interval, for each metric by itself.

    Returns
    -------
    JudgeEvaluation
        ``estimate("kappa")``, likewise ``tpr``, ``tnr``, ``youden_j`` and ``agreement``, the share
        of items where both say the same; ``warnings``; ``plot()`` draws the intervals.

    Raises
    ------
    InputRefused
        If a value cannot be used, with what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> labeled = pd.DataFrame({
    ...     "predicted": ["flagged"] * 400 + ["passed"] * 600,
    ...     "verdict": [1] * 340 + [0] * 60 + [1] * 30 + [0] * 570,
    ...     "label": [1] * 320 + [0] * 40 + [1] * 40 + [1] * 20 + [0] * 572 + [1] * 8,
    ... })
    >>> print(evaluate_judge(labeled, strata="predicted", sizes={"flagged": 1600, "passed": 4800}))
    1,000 labels drawn from 6,400 items in 2 strata; 95% intervals
    judge against people  estimate
    --------------------  --------------------
    tpr                   0.865 [0.825, 0.899]
    tnr                   0.966 [0.952, 0.977]
    youden_j              0.832 [0.789, 0.867]
    kappa                 0.842 [0.803, 0.874]
    agreement             0.940 [0.925, 0.952]
    """
    from monitor.evaluation.designs import EvaluationSample
    from monitor.evaluation.judge import evaluate_judge_rows
    from monitor.evaluation.rows import JUDGE

    rows = _labeled_rows(
        frame,
        label,
        terms=JUDGE,
        predicted=("verdict", str(verdict)),
        weight=("weight", weight),
        stratum=("strata", strata),
    )
    drawn = EvaluationSample(
        random=random,
        has_weights=weight is not None,
        sizes=sizes,
        prevalence=prevalence,
        flagged_rate=flagged_rate,
        may_cross=True,
    )
    return _warned(evaluate_judge_rows(rows, drawn, level=level))


def _labeled_rows(
    frame: pd.DataFrame,
    label: str,
    *,
    threshold: float | None = None,
    terms: Terms | None = None,
    **arguments: tuple[str, Any],
) -> LabeledRows:
    """Read the columns that arguments name, each with the argument's name for messages."""
    from monitor.evaluation.rows import CLASSIFIER, Column, column_of, read_rows, values_of

    labels = Column(f"column {label!r}", column_of(frame, label, "label"))
    columns = {kind: values_of(frame, of, name) for kind, (name, of) in arguments.items()}
    return read_rows(labels, threshold=threshold, terms=terms or CLASSIFIER, **columns)


def _warned(result: SetT) -> SetT:
    """Issue a result's warnings at the public call, and return the result."""
    import warnings

    for sentence in result.warnings:
        warnings.warn(sentence, stacklevel=3)  # at the call of the public function
    return result


def history(monitor: str | None = None, config: Path | str = "config.yaml") -> RoundHistory:
    """Read the estimates of all closed rounds of a monitor.

    Parameters
    ----------
    monitor, config
        Monitor, and path of the config; by default the config's only monitor.

    Returns
    -------
    RoundHistory
        ``to_frame()`` has a row for each round, metric, estimand and basis; ``plot("recall")``
        draws the timeline.

    Raises
    ------
    ConfigRefused
        If the config cannot be used, has no such monitor, or its store has another schema.
    InputRefused
        If the config has several monitors and none is named.
    TryLater
        If the store cannot be reached now.
    """
    from monitor.config.load import load_config
    from monitor.domain.ports import utc_now
    from monitor.results.round_history import read_history
    from monitor.storage import schema
    from monitor.storage.database import Database

    loaded = load_config(config, hooks=False)
    settings = loaded.monitor(only_monitor(loaded, monitor))
    database = Database(loaded.store_url)
    try:
        schema.check(database)
        return read_history(database, settings.name, settings.limits, utc_now())
    finally:
        database.close()


def compare(
    number: int,
    *,
    monitor: str | None = None,
    config: Path | str = "config.yaml",
    threshold: float | None = None,
    predictions: Path | str | None = None,
    id: str | None = None,
    score: str | None = None,
    predicted: str | None = None,
) -> RoundComparison:
    """Compare a round's window with another threshold or another classifier.

    Estimates precision, recall and F1 of the window for both from the round's labels, and their
    difference, which is more precise than either.

    Parameters
    ----------
    number
        Number of the round.
    monitor, config
        Monitor, and path of the config; by default the config's only monitor.
    threshold
        Score from which on the other classifier flags an item; the monitor's own if not given.
    predictions
        Parquet or CSV file of the other classifier, with every labeled item. Without it the
        classifier's own scores are used.
    id, score, predicted
        Columns of ``predictions``: ids as the monitor's source has them, scores in ``score``, or
        ``predicted``, 1 or 0, in place of scores.

    Returns
    -------
    RoundComparison
        ``to_frame()`` has the intervals of both and of the difference.

    Raises
    ------
    ConfigRefused, InputRefused
        If the config cannot be used or has no such monitor, there is no such round, it has no
        labels, or the file lacks a labeled item.
    TryLater
        If the store or the predictions cannot be reached now.
    """
    from monitor.results.other_predictions import OtherColumns
    from monitor.results.round_comparison import compare_round

    _refuse_text({"number": number, "threshold": threshold})
    file = None if predictions is None else Path(predictions)
    columns = OtherColumns(id, score, predicted)
    _refuse_comparison(threshold, file, columns)
    with opened(config) as application:
        own = application.config.monitor(only_monitor(application.config, monitor))
        columns = columns._replace(id=id or own.source.id_column)
        context = application.context(own.name)
        return compare_round(context, number, threshold=threshold, file=file, columns=columns)


def _refuse_comparison(threshold: float | None, file: Path | None, columns: OtherColumns) -> None:
    named = [name for name, column in columns._asdict().items() if column is not None]
    if threshold is None and file is None:
        message = "nothing to compare with; give a threshold, or predictions: a file"
    elif file is None and named:
        message = f"{' and '.join(named)} names a column of predictions, a file; give that too"
    elif columns.predicted is not None and (columns.score is not None or threshold is not None):
        message = "predicted decides which items are flagged; leave out score and threshold"
    else:
        return
    raise InputRefused(message)


def plan(
    monitor: str | None = None,
    *,
    config: Path | str = "config.yaml",
    precision: float | None = None,
    recall: float | None = None,
    flagged_rate: float | None = None,
    size: int | None = None,
    margin: float | None = None,
    precision_margin: float | None = None,
    recall_margin: float | None = None,
    labels: int | None = None,
    judge_tpr: float | None = None,
    judge_fpr: float | None = None,
    judge_pilot: pd.DataFrame | Path | str | None = None,
) -> LabelPlan:
    """Return how many labels a round needs in each stratum, and the margins of other numbers.

    Plan for a monitor of the config, from its predictions and its prior; or, with
    ``precision``, ``recall`` and ``flagged_rate``, for a window that is only assumed.

    Parameters
    ----------
    monitor, config
        Monitor, and path of the config; by default the config's only monitor.
    precision, recall, flagged_rate, size
        Assumed values in place of a monitor; ``size`` is 100,000 items by default.
    margin, precision_margin, recall_margin
        Half-width to reach in both intervals, or in one of them.
    labels
        Number of labels available. If neither margins nor labels are given: the half-widths of the
        config, or 0.05 each.
    judge_tpr, judge_fpr
        Shares of the positives and of the negatives to which an assumed judge says yes; ``judged``
        is the plan with it.
    judge_pilot
        A table, or a CSV or Parquet file, of items that a judge and people have labeled, in place
        of these shares: columns ``verdict`` and ``label``, 1 or 0, or yes or no. With a
        column ``predicted`` the judge has its own rates in each predicted class.

    Returns
    -------
    LabelPlan
        Values by name, as in ``found["labels"]``: ``labels``, ``cost``, ``margins``, ``needed``,
        ``strata``; ``labels_for_margins``, also for two strata and for random sampling;
        ``margins_for_labels``; and ``alerts`` with the smallest drop found within 4 rounds and the
        delay of a 10-point drop.

    Raises
    ------
    ConfigRefused, InputRefused
        If the config cannot be used or has no such monitor, a value is impossible, or there are
        no predictions to plan from.
    TryLater
        If the store or the predictions cannot be reached now.

    Examples
    --------
    >>> found = plan(precision=0.8, recall=0.6, flagged_rate=0.03, labels=2000)
    >>> found["labels"], {name: round(half, 3) for name, half in found["margins"].items()}
    (2000, {'precision': 0.07, 'recall': 0.086})
    """
    from monitor.results.label_plan import LabelPlan
    from monitor.rounds.forecast.plan_window import forecast_monitor

    assumed = {"precision": precision, "recall": recall, "flagged_rate": flagged_rate}
    halves = {
        "precision": margin if precision_margin is None else precision_margin,
        "recall": margin if recall_margin is None else recall_margin,
    }
    margins = {f"{name}_margin": half for name, half in halves.items()}
    _refuse_text({**assumed, **margins, "judge_tpr": judge_tpr, "judge_fpr": judge_fpr})
    judge = _assumed_judge(judge_tpr, judge_fpr, judge_pilot)
    _refuse_few(labels=labels, size=size)
    requested = _present(halves)
    try:
        if provided := _present(assumed):
            _refuse_half(monitor, assumed)
            items = SIZE if size is None else size
            return LabelPlan(_of_values(provided, items, requested, labels, judge))
        if size is not None:
            message = (
                "size belongs to assumed values, and a monitor has its own; give precision, recall "
                "and flagged_rate too, or omit it"
            )
            raise InputRefused(message)
        with opened(config) as application:
            context = application.context(only_monitor(application.config, monitor))
            return LabelPlan(
                forecast_monitor(context, margins=requested, max_labels=labels, judge=judge)
            )
    except ValueError as error:
        raise InputRefused(str(error)) from error


def _present(values: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}


def _assumed_judge(
    judge_tpr: float | None,
    judge_fpr: float | None,
    pilot: pd.DataFrame | Path | str | None,
) -> AssumedJudge | None:
    from monitor.rounds.forecast.plan_window import AssumedJudge

    if judge_tpr is None and judge_fpr is None:
        if pilot is None:
            return None
        from monitor.evaluation.pilot import read_pilot

        return read_pilot(pilot)
    if judge_tpr is None or judge_fpr is None:
        message = "judge_tpr and judge_fpr go together: give both"
        raise InputRefused(message)
    if pilot is not None:
        message = "judge_pilot tells the judge's rates; leave out judge_tpr and judge_fpr"
        raise InputRefused(message)
    return AssumedJudge((judge_tpr, judge_tpr), (judge_fpr, judge_fpr))


def _refuse_text(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if value is not None and not (isinstance(value, Real) and math.isfinite(value)):
            message = f"{name} is {value!r}; it is a finite number"
            raise InputRefused(message)


def _refuse_few(**counts: Any) -> None:
    for name, count in counts.items():
        if count is not None and (not isinstance(count, Integral) or count < FEWEST):
            message = f"{name} is {count!r}; it is a whole number, {FEWEST} or more"
            raise InputRefused(message)


def _of_values(
    provided: Mapping[str, float],
    size: int,
    margins: Mapping[str, float] | None,
    max_labels: int | None,
    judge: AssumedJudge | None,
) -> PlanForecast:
    from monitor.rounds.forecast.plan_window import forecast_plan, two_strata
    from monitor.stats.design.prospect import Prospect

    prospect = Prospect.assumed(**provided, size=size)
    if not margins and max_labels is None:
        margins = {"precision": MARGIN, "recall": MARGIN}
    return forecast_plan(two_strata(prospect), margins=margins, max_labels=max_labels, judge=judge)


@contextmanager
def opened(
    config: Path | str,
    *,
    monitor: str | None = None,
    make_store: bool = True,
    delivers: bool = False,
) -> Iterator[Application]:
    """Read the config and open its store, making the tables of a new one.

    monitor: Name of a monitor that the config must have.
    delivers: Whether hooks are used; if not, their section of the config is not read, and its
        secrets may be missing.

    Raises
    ------
    ConfigRefused
        If the config or the store's schema is wrong, or there is no such monitor.
    """
    from monitor.config.load import load_config
    from monitor.storage import schema
    from monitor.wiring import build

    application = build(load_config(config, hooks=delivers))
    try:
        if make_store:
            schema.ready(application.database)
        else:
            schema.check(application.database)
        if monitor is not None:
            application.config.monitor(monitor)
        yield application
    finally:
        application.database.close()


def only_monitor(config: Config, monitor: str | None) -> str:
    """Return the name of the given monitor, or of the config's only one."""
    if monitor is not None:
        return config.monitor(monitor).name
    if len(config.monitors) == 1:
        return config.monitors[0].name
    names = ", ".join(monitor.name for monitor in config.monitors)
    message = f"the config has several monitors, name one of them: {names}"
    raise InputRefused(message)


def _refuse_half(monitor: str | None, assumed: Mapping[str, float | None]) -> None:
    missing = [name for name, value in assumed.items() if value is None]
    if missing:
        there = ", ".join(name for name, value in assumed.items() if value is not None)
        message = f"{there} is not enough to plan from; give {' and '.join(missing)} too"
        raise InputRefused(message)
    if monitor is not None:
        message = (
            f"plan either for the monitor {monitor} or for assumed values; leave out the name, "
            "or precision, recall and flagged_rate"
        )
        raise InputRefused(message)
