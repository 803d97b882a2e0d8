"""Precision and recall of a binary classifier in production, from few human labels.

``estimate`` works on one labeled matrix, ``evaluate`` on labeled items, ``plan`` returns how many
labels a round needs, ``history`` reads a monitor's rounds, ``compare`` asks what another threshold
or classifier would do. Each returns a result: printed, it reads as the command; a notebook shows
it as tables; ``to_frame()``, ``to_dict()`` and ``plot()`` convert it. The functions load what they
need when called: importing `monitor` or `monitor.stats` stays cheap. They raise ``ConfigRefused``,
``InputRefused`` or ``TryLater``, each with a message that says what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import ConfigRefused, InputRefused, TryLater

if TYPE_CHECKING:
    import pandas as pd

    from monitor.evaluation.result import Evaluation
    from monitor.results.estimates import Estimates
    from monitor.results.label_plan import LabelPlan
    from monitor.results.round_comparison import RoundComparison
    from monitor.results.round_history import RoundHistory

__all__ = [
    "ConfigRefused",
    "InputRefused",
    "TryLater",
    "compare",
    "estimate",
    "evaluate",
    "history",
    "plan",
]


def __dir__() -> list[str]:
    return [*__all__]


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
        If a count is impossible, naming it.

    Examples
    --------
    >>> found = estimate(tp=138, fp=22, fn=108, tn=4732, flagged_size=1600, passed_size=48400)
    >>> recall = found.estimate("recall")
    >>> print(f"{recall['point']:.3f} [{recall['low']:.3f}, {recall['high']:.3f}]")
    0.561 [0.512, 0.609]
    """
    from monitor import api  # noqa: PLC0415

    return api.estimate(
        tp=tp, fp=fp, fn=fn, tn=tn, flagged_size=flagged_size, passed_size=passed_size, level=level
    )


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
    level: float = 0.95,
) -> Evaluation:
    """Evaluate a classifier by labeled items of any balance, adjusted to its population.

    At most one of ``random``, ``weight``, ``sizes`` and ``prevalence`` says how the labels were
    drawn; without any of them they are taken for a plain random sample, and refused where
    their balance was chosen, such as as many flagged as passed items.

    Parameters
    ----------
    frame
        A row per labeled item.
    label
        Column of the truth, 1 or 0.
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
        Of the population to hold for; the labels were drawn by actual class, or at random where
        another share was positive.
    flagged_rate
        Share of all items that is flagged: what a plain random sample is checked against.
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
    from monitor import api  # noqa: PLC0415

    return api.evaluate(
        frame,
        label=label,
        predicted=predicted,
        score=score,
        threshold=threshold,
        random=random,
        weight=weight,
        stratum=stratum,
        sizes=sizes,
        prevalence=prevalence,
        flagged_rate=flagged_rate,
        level=level,
    )


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
    flagged_cost: float | None = None,
    passed_cost: float | None = None,
    judge_tpr: float | None = None,
    judge_fpr: float | None = None,
    judge_pilot: pd.DataFrame | Path | str | None = None,
) -> LabelPlan:
    """Return how many labels a round needs in which strata, and the margins of other numbers.

    Plan for a monitor of the config, from its predictions and its prior; or, with
    ``precision``, ``recall`` and ``flagged_rate``, for a window that is only assumed.

    Parameters
    ----------
    monitor, config
        Which monitor of which config; the only one there is if not named.
    precision, recall, flagged_rate, size, flagged_cost, passed_cost
        Assumed values in place of a monitor; of a window of 100,000 items and labels that cost 1,
        unless given.
    margin, precision_margin, recall_margin
        Half-width wanted of both intervals, or of one of them.
    labels
        Labels that there are. If neither margins nor labels are given: the half-widths of the
        config, or 0.05 each.
    judge_tpr, judge_fpr
        Shares of the positives and of the negatives to which an assumed judge says yes: what
        labels it would save is ``judged``.
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
    from monitor import api  # noqa: PLC0415

    return api.plan(
        monitor,
        config=config,
        assumed={"precision": precision, "recall": recall, "flagged_rate": flagged_rate},
        size=size,
        margins={
            "precision": margin if precision_margin is None else precision_margin,
            "recall": margin if recall_margin is None else recall_margin,
        },
        labels=labels,
        costs={"flagged_cost": flagged_cost, "passed_cost": passed_cost},
        judge={"judge_tpr": judge_tpr, "judge_fpr": judge_fpr},
        pilot=judge_pilot,
    )


def history(monitor: str | None = None, config: Path | str = "config.yaml") -> RoundHistory:
    """Read the estimates of all closed rounds of a monitor.

    Parameters
    ----------
    monitor, config
        Which monitor of which config; the only one there is if not named.

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
    from monitor import api  # noqa: PLC0415

    return api.history(monitor, config)


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

    The labels of the round decide: precision, recall and F1 of the window for both, and the
    difference between them, which is known better than either.

    Parameters
    ----------
    number
        Number of the round.
    monitor, config
        Which monitor of which config; the only one there is if not named.
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
    from monitor import api  # noqa: PLC0415
    from monitor.results.other_predictions import OtherColumns  # noqa: PLC0415

    return api.compare(
        number,
        monitor,
        config,
        threshold=threshold,
        file=None if predictions is None else Path(predictions),
        columns=OtherColumns(id, score, predicted),
    )
