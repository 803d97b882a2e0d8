"""The demo's folder: made, started over if it is our own, and filled with files and a config."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import compress
from pathlib import Path

from monitor.demo.digits import START, THRESHOLD, Batch, Camera, Confusion, DigitScenario
from monitor.domain.errors import InputRefused

MARKER = ".pr-monitor-demo"
MONITOR = "digits-eight"
CONFIG = "config.yaml"
_DATABASES = ("monitor.db", "mlflow.db")
_OURS = (
    *("predictions.parquet", "truth.parquet", CONFIG),
    *(f"{name}{end}" for name in _DATABASES for end in ("", "-wal", "-shm", "-journal")),
)
PICTURES = "pictures"
_OUR_FOLDERS = ("mlartifacts", PICTURES)

_CONFIG = """\
# Written by `pr-monitor demo`. A classifier of handwritten digits answers "is it an 8?"; every
# week {labels} of its answers are compared with the truth.
store: sqlite:///monitor.db
mlflow: {{tracking_uri: sqlite:///mlflow.db}}
monitors:
  - name: {name}
    source:
      kind: duckdb
      path: predictions.parquet
      columns: {{id: id, time: scored_at, score: score{show}}}
      threshold: {threshold}
    schedule: {{cron: "0 6 * * MON", lag: 6h}}        # Monday to Monday, counted at six
    sample: {{max_labels: {labels}}}
    labeling: {labeling}
    reference: {{tp: {tp}, fp: {fp}, fn: {fn}, tn: {tn}}}   # labeled before launch
    limits: {{precision: {precision:.2f}, recall: {recall:.2f}, false_alarm_every: 52}}
"""

_BY_TRUTH = "{kind: column, path: truth.parquet, id: id, value: is_eight, matures: 1d}"
_BY_PEOPLE = '{kind: page, question: "Is this an 8?"}'
_SHOW = f", show: [{{column: picture, kind: image, folder: {PICTURES}}}]"


@dataclass(frozen=True, slots=True)
class WrittenFolder:
    """What the folder was filled with: the truth of the reference and of every round.

    ``eights`` are the images of the last week that really show one.
    """

    reference: Confusion
    rounds: tuple[Confusion, ...]
    limits: dict[str, float]
    start: datetime
    eights: frozenset[str] = frozenset()


def prepare(folder: Path) -> bool:
    """Make the folder, or empty it of an earlier demo; says whether there was one."""
    marker = folder / MARKER
    repeated = marker.is_file()
    if folder.exists() and not folder.is_dir():
        message = f"{folder} is a file; name a folder for the demo that is empty or not there yet"
        raise InputRefused(message)
    folder.mkdir(parents=True, exist_ok=True)
    if not repeated and any(folder.iterdir()):
        message = (
            f"the folder {folder} is not empty and holds no demo, so nothing was written; name "
            "one that is empty or not there yet"
        )
        raise InputRefused(message)
    marker.write_text("pr-monitor demo made this folder and starts over in it.\n")
    # By name: anything else in the folder is somebody's.
    for name in _OURS:
        (folder / name).unlink(missing_ok=True)
    for name in _OUR_FOLDERS:
        if (folder / name).is_dir() and not (folder / name).is_symlink():  # a link leads elsewhere
            shutil.rmtree(folder / name)
    return repeated


def fill(
    folder: Path, scenario: DigitScenario, on_week: Callable[[int], None], *, pictures: bool = False
) -> WrittenFolder:
    """Train the classifier, score the traffic, and write all files that the monitor reads.

    ``pictures`` adds the images of the last week.
    """
    camera = Camera(scenario)
    reference = camera.reference()
    weeks: list[Batch] = []
    for number in range(1, scenario.rounds + 1):
        on_week(number)
        weeks.append(camera.week(number))
    _write_files(folder, weeks, pictures=pictures)
    limits = limits_of(reference.confusion, scenario.room)
    eights = frozenset(compress(weeks[-1].ids, weeks[-1].is_eight))
    truths = tuple(week.confusion for week in weeks)
    written = WrittenFolder(reference.confusion, truths, limits, START, eights)
    _write_config(folder, written, labels=scenario.labels, labeling=_BY_TRUTH)
    return written


def ask_people(folder: Path, written: WrittenFolder, labels: int) -> None:
    """Let the config ask people for ``labels`` labels a round, by its pictures."""
    _write_config(folder, written, labels=labels, labeling=_BY_PEOPLE, show=_SHOW)


def _write_config(
    folder: Path, written: WrittenFolder, *, labels: int, labeling: str, show: str = ""
) -> None:
    text = _CONFIG.format(
        name=MONITOR,
        threshold=THRESHOLD,
        labels=labels,
        labeling=labeling,
        show=show,
        **asdict(written.reference),
        **written.limits,
    )
    (folder / CONFIG).write_text(text, encoding="utf-8")


def limits_of(reference: Confusion, room: float) -> dict[str, float]:
    """Set each limit that much under what the reference says, rounded down to a full point."""
    values = {"precision": reference.precision, "recall": reference.recall}
    return {metric: math.floor(100 * (value - room)) / 100 for metric, value in values.items()}


def _write_files(folder: Path, weeks: list[Batch], *, pictures: bool) -> None:
    import numpy as np  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415  0.5 s, the demo only

    from monitor.demo.digits import write_pictures  # noqa: PLC0415

    predictions = pd.DataFrame(
        {
            "id": [each for week in weeks for each in week.ids],
            "scored_at": pd.DatetimeIndex([at for week in weeks for at in week.scored_at]),
            "score": np.concatenate([week.score for week in weeks]),
        }
    )
    if pictures:
        missing = [None] * (len(predictions) - len(weeks[-1].ids))
        names = write_pictures(folder / PICTURES, weeks[-1].paper)
        predictions["picture"] = [*missing, *names]
    truth = pd.DataFrame(
        {"id": predictions["id"], "is_eight": np.concatenate([week.is_eight for week in weeks])}
    )
    for name, table in {"predictions": predictions, "truth": truth}.items():
        table.to_parquet(folder / f"{name}.parquet", index=False)
