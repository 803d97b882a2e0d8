"""What a round costs, part by part: processor time of a first, a 12th and a 100th round.

Parts add up to the whole round, and those of MLflow to what it takes on top; figures are drawn and
the HTML report is made once more by themselves. Milliseconds, medians of the repeats.
"""

import gc
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import structlog

from monitor import wiring
from monitor.config.load import load_config
from monitor.domain.model import Effect, EffectKind
from monitor.domain.report import RoundReport
from monitor.rounds import versions
from monitor.rounds.context import MonitorContext
from monitor.rounds.run import run
from monitor.storage import schema
from monitor.storage.results import report_store
from monitor.storage.rounds import round_store

MONDAY = datetime(2024, 1, 1, 6, 1, tzinfo=UTC)
WEEK = timedelta(days=7)
ROWS = 3000  # a week
CONFIG = """\
store: sqlite:///monitor.db
mlflow: {tracking_uri: "sqlite:///mlflow.db"}
monitors:
  - name: mail
    source:
      kind: duckdb
      path: predictions.parquet
      columns: {id: id, time: at, score: score}
      threshold: 0.5
    schedule: {cron: "0 6 * * MON"}
    sample: {max_labels: 300}
    labeling: {kind: column, path: predictions.parquet, id: id, value: truth, matures: 1h}
    limits: {precision: 0.5, recall: 0.2}
"""
PREDICTIONS = """
copy (
    select 'm' || i as id,
        timestamptz '2023-12-25 06:00:00+00' + i * interval 1 week / {rows} as at,
        score, cast(random() < score as integer) as truth
    from (select i, pow(random(), 4) as score from range({rows} * {weeks}) as t(i))
) to '{path}' (format parquet)
"""
ROUND = ("source", "labels", "estimates", "all else")
MLFLOW = ("round's run", "monitor's run")

Figures = dict[str, dict[str, float]]


def main(rounds: tuple[int, ...] = (1, 12, 100), repeats: int = 3) -> None:
    """Print a line for each part of each measured round."""
    found = [_child(rounds) for _ in range(repeats)]
    print(f"{'round':>6}  {'part':<20}{'now':>9}")
    for where, parts in found[0].items():
        for part in parts:
            middle = statistics.median(each[where][part] for each in found)
            print(f"{where:>6}  {part:<20}{middle:>9.1f}")


def _child(rounds: Sequence[int]) -> Figures:
    """Play the rounds in a process and a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        told = subprocess.run(
            [sys.executable, "-P", __file__, folder, *map(str, rounds)],
            env=os.environ | {"PYTHONPATH": str(Path(wiring.__file__).parents[1])},
            cwd=folder,
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    figures: Figures = json.loads(told.stdout.splitlines()[-1])
    return figures


def play(folder: Path, wanted: Sequence[int], *, is_told: bool = True) -> Figures:
    """Play all rounds up to the last that is wanted; returns what the wanted ones cost."""
    _write(folder, max(wanted))
    now = MONDAY
    application = wiring.build(load_config(folder / "config.yaml"), clock=lambda: now)
    schema.ready(application.database)
    context = application.context("mail")
    timer = Timer()
    _time_parts(timer, context)
    told = Mlflow(application.handlers["mlflow"])
    figures: Figures = {}
    for number in range(1, max(wanted) + 1):
        timer.spent.clear()
        gc.collect()  # so that no search for garbage among what is loaded falls into a round
        gc.freeze()
        begun = time.process_time()
        report = _round(context, number)
        whole = 1e3 * (time.process_time() - begun)
        if number in wanted:
            parts = {part: timer.spent.get(part, 0.0) for part in ROUND[:-1]}
            parts |= {ROUND[-1]: whole - sum(parts.values()), "a round": whole}
            figures[f"{number}"] = parts | (told.costs(report) if is_told else {})
        now += WEEK
    figures["-"] = {"loading MLflow": told.loading}
    application.database.close()
    gc.unfreeze()
    return figures


def _write(folder: Path, weeks: int) -> None:
    folder.mkdir()
    duckdb.sql("select setseed(0.5)")
    path = folder / "predictions.parquet"
    duckdb.sql(PREDICTIONS.format(path=path, rows=ROWS, weeks=weeks))
    (folder / "config.yaml").write_text(CONFIG)


def _round(context: MonitorContext, number: int) -> RoundReport:
    """Draw a round and close it."""
    for _ in range(2):
        run(context)
        with context.database.read() as connection:
            newest = round_store.find_rounds(connection, "mail")[-1]
            if newest.state == "closed":
                payload = report_store.read_report(connection, newest.id, newest.version)
                return RoundReport.model_validate(payload)
    message = f"round {number} is {newest.state}"
    raise SystemExit(message)


class Timer:
    """Processor time of parts, in milliseconds; what a part calls of another is the other's."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._inner = [0.0]

    def wrap(self, owner: Any, name: str, part: str) -> None:
        """Count what a function or method takes as time of a part."""
        act = getattr(owner, name)

        def timed(*arguments: Any, **named: Any) -> Any:
            with self._as(part):
                return act(*arguments, **named)

        setattr(owner, name, timed)

    @contextmanager
    def _as(self, part: str) -> Iterator[None]:
        self._inner.append(0.0)
        begun = time.process_time()
        try:
            yield
        finally:
            took = 1e3 * (time.process_time() - begun)
            own = took - self._inner.pop()
            self._inner[-1] += took
            self.spent[part] = self.spent.get(part, 0.0) + own


def _time_parts(timer: Timer, context: MonitorContext) -> None:
    """Count what the source and the labeler do, and the estimates and parts of a batch."""
    for part, owner in (("source", type(context.source)), ("labels", type(context.labeler))):
        for name, member in vars(owner).items():
            if not name.startswith("_") and type(member).__name__ == "function":
                timer.wrap(owner, name, part)
    timer.wrap(versions, "estimate_batch", "estimates")
    timer.wrap(versions, "version_parts", "estimates")


class Mlflow:
    """Tells rounds to MLflow and counts what that takes."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler
        self.loading = 0.0

    def costs(self, report: RoundReport) -> dict[str, float]:
        """Deliver a report as both runs; returns milliseconds by part."""
        if not self.loading:
            earlier = report.model_copy(update={"monitor": "other", "round_key": "other/1"})
            self.loading = sum(self._deliver(earlier).values())
        runs = self._deliver(report)
        return runs | {
            "MLflow on top": sum(runs.values()),
            "figures alone": _drawing(report),
            "report alone": _writing(report),
        }

    def _deliver(self, report: RoundReport) -> dict[str, float]:
        taken = {}
        kinds = (EffectKind.ROUND_RUN, EffectKind.FLEET_POINT)
        for name, kind in zip(MLFLOW, kinds, strict=True):
            effect = Effect(
                id=report.round,
                key=f"{report.round_key}/{kind}",
                kind=kind,
                sink="mlflow",
                monitor=report.monitor,
                payload=report.model_dump(mode="json"),
                attempt=1,
            )
            begun = time.process_time()
            self._handler.deliver(effect)
            taken[name] = 1e3 * (time.process_time() - begun)
        return taken


def _drawing(report: RoundReport) -> float:
    """Draw all figures of a round."""
    from monitor.report import curve_figures, figures  # noqa: PLC0415  not before rounds are played

    begun = time.process_time()
    for draw in (figures.timeline_svg, curve_figures.curves_svg):
        draw(report)
    return 1e3 * (time.process_time() - begun)


def _writing(report: RoundReport) -> float:
    """Make the HTML report of a round once more."""
    from monitor.report.html import report_html  # noqa: PLC0415  as above

    begun = time.process_time()
    report_html(report)
    return 1e3 * (time.process_time() - begun)


def _played(folder: Path, rounds: list[int]) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    play(folder / "warm", [1], is_told=False)  # loads what rounds need, but for MLflow
    print(json.dumps(play(folder / "played", rounds)))


if __name__ == "__main__":
    _played(Path(sys.argv[1]), [int(number) for number in sys.argv[2:]])
