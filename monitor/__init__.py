"""Precision and recall of a binary classifier in production, from few human labels.

``estimate`` works on one labeled matrix, ``history`` reads a monitor's rounds as a table. Both
load what they need when called: importing `monitor` or `monitor.stats` stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

__all__ = ["estimate", "history"]


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
    0.560 [0.512, 0.609]
    """
    from dataclasses import asdict  # noqa: PLC0415

    from monitor.domain.errors import InputRefused  # noqa: PLC0415
    from monitor.stats.quick import estimate_matrix  # noqa: PLC0415

    try:
        found = estimate_matrix(
            tp=tp,
            fp=fp,
            fn=fn,
            tn=tn,
            flagged_size=flagged_size,
            passed_size=passed_size,
            level=level,
        )
    except ValueError as error:
        raise InputRefused(str(error)) from error
    return {"estimates": [asdict(each) for each in found]}


def history(monitor: str, config: Path | str = "config.yaml") -> pd.DataFrame:
    """Read a monitor's estimates as a table: one row per round, metric, estimand and basis.

    Raises
    ------
    ConfigRefused
        If the config cannot be used, has no such monitor, or its store has another schema.
    """
    import pandas as pd  # noqa: PLC0415

    from monitor.config import load_config  # noqa: PLC0415
    from monitor.storage import estimate_store, schema  # noqa: PLC0415
    from monitor.storage.database import Database  # noqa: PLC0415

    loaded = load_config(config)
    name = loaded.monitor(monitor).name
    database = Database(loaded.store_url)
    try:
        schema.check(database)
        with database.read() as connection:
            rows = estimate_store.latest_estimates(connection, name)
    finally:
        database.close()
    return pd.DataFrame(rows)
