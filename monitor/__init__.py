"""Precision and recall of a binary classifier in production, from few human labels.

``estimate`` works on one labeled matrix, ``history`` reads a monitor's rounds as a table, ``plan``
says how many labels a round needs. They load what they need when called: importing `monitor` or
`monitor.stats` stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

__all__ = ["estimate", "history", "plan"]


def estimate(
    *,
    tp: int,
    fp: int,
    fn: int,
    tn: int,
    flagged_size: int,
    passed_size: int,
    level: float = 0.95,
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
        "method", ...}]}``. Estimand ``rate`` is the classifier's, ``window`` that of the very
        items of the window. ``point`` and ends are None where undefined, with a ``reason``.

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
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        flagged_size=flagged_size,
        passed_size=passed_size,
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
    """Say how many labels a round needs, in which strata, and what other numbers would buy.

    Of a monitor of the config, from its predictions and what is known of them; or, with
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
