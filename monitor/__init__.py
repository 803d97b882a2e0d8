"""Precision and recall of a binary classifier in production, from few human labels.

``estimate`` works on one labeled matrix, ``evaluate`` on labeled items, ``history`` reads a
monitor's rounds as a table, ``plan`` says how many labels a round needs. They load what they need
when called: importing `monitor` or `monitor.stats` stays cheap.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from monitor.evaluation.result import Evaluation

__all__ = ["estimate", "evaluate", "history", "plan"]


def estimate(
    *, tp: int, fp: int, fn: int, tn: int, flagged_size: int, passed_size: int, level: float = 0.95
) -> dict[str, list[dict[str, Any]]]:
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
    dict
        ``{"estimates": [{"metric", "estimand", "basis", "point", "low", "high", "level",
        "method", ...}]}``. Estimand ``rate`` is the classifier's, ``window`` describes the very
        items of the window. ``point`` and ends are None if undefined, with a ``reason``.

    Raises
    ------
    InputRefused
        If a count is impossible, naming it.

    Examples
    --------
    >>> found = estimate(tp=138, fp=22, fn=108, tn=4732, flagged_size=1600, passed_size=48400)
    >>> recall = next(e for e in found["estimates"] if e["metric"] == "recall")
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
        ``metrics``, ``estimates``, ``table()``, ``reference``, ``p3_svg()``, ``curves_svg()``;
        printed, the main figures.

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
    size: int = 100_000,
    margins: Mapping[str, float] | None = None,
    max_labels: int | None = None,
    flagged_cost: float = 1.0,
    passed_cost: float = 1.0,
) -> dict[str, Any]:
    """Return how many labels a round needs, in which strata, and what other numbers would buy.

    Of a monitor of the config, from its predictions and its prior; or, with
    ``precision``, ``recall`` and ``flagged_rate``, of a window that is only assumed.

    Parameters
    ----------
    monitor, config
        Which monitor of which config; the only one there is if not named.
    precision, recall, flagged_rate, size, flagged_cost, passed_cost
        Assumed values, and what a label of each predicted class costs, in place of a monitor.
    margins, max_labels
        Half-widths wanted of ``precision``, ``recall`` or both, and the labels that there are. If
        neither is given: the half-widths of the config, or 0.05 each.

    Returns
    -------
    dict
        ``labels``, ``cost``, ``margins``, ``needed``, ``strata``; ``labels_for_margins``, also for
        two strata and for random sampling; ``margins_for_labels``; and ``alerts`` with the
        smallest drop found within 4 rounds and the delay of a 10-point drop.

    Raises
    ------
    ConfigRefused, InputRefused
        If the config cannot be used or has no such monitor, a value is impossible, or there are
        no predictions to plan from.

    Examples
    --------
    >>> found = plan(precision=0.8, recall=0.6, flagged_rate=0.03, max_labels=2000)
    >>> found["labels"], {name: round(half, 3) for name, half in found["margins"].items()}
    (2000, {'precision': 0.07, 'recall': 0.086})
    """
    from monitor import api  # noqa: PLC0415

    return api.planned(
        monitor,
        config=config,
        assumed={"precision": precision, "recall": recall, "flagged_rate": flagged_rate},
        size=size,
        margins=margins,
        max_labels=max_labels,
        costs=(flagged_cost, passed_cost),
    ).as_json()


def history(monitor: str, config: Path | str = "config.yaml") -> pd.DataFrame:
    """Read a monitor's estimates as a table: one row per round, metric, estimand and basis.

    Raises
    ------
    ConfigRefused
        If the config cannot be used, has no such monitor, or its store has another schema.
    """
    from monitor import api  # noqa: PLC0415

    return api.history(monitor, config)
