"""How cost grows: with the rounds of a history, with those after a correction, with monitors.

    python -m benchmarks growth [--rounds 10 100 500] [--correct 300] [--monitors 10 100 1000]
        [--before TREE]

Rounds: one monitor of weekly rounds, 400 labels and two limits, drawn by score cells or
(``--bands``) by 4 + 10 bands, on SQLite, over stand-ins in memory for the predictions and the
people, so that only our own work counts: draw, plan, labels in, estimates, evidence, effects
written. Prints the processor time of a round at several places of its history, the median of five
around each; and, of a history about as long as ``--correct``, what one late label of its first
round costs, which gives all its rounds a new version. Rounds far from these places are copies of
one that was played.

Monitors: those of `benchmarks.many_monitors`, each with a first round due: processor time of the
tick of the service that draws and closes them all, and of one with nothing due (median of five).

``--before`` is another state of this repository, such as ``git worktree add ../before 850b855``
makes one. Both are then played step by step in turn, so that both meet the same machine; the last
columns are its figures and their ratio. Milliseconds. The rounds take some minutes, a thousand
monitors ten.
"""

from __future__ import annotations

import json
import logging
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import structlog

from monitor.domain.model import Answer, LabelEvent
from monitor.domain.sample_settings import Sample
from monitor.domain.settings import Limits, MonitorSettings, RoundSettings, Schedule
from monitor.rounds import run
from monitor.rounds.context import MonitorContext
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.labels import label_store
from monitor.storage.rounds import round_store
from monitor.testing import MemoryLabeler, MemorySource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monitor.domain.model import Task

MONDAY = datetime(2016, 1, 4, 6, tzinfo=UTC)
WEEK = timedelta(days=7)
ITEMS = 4_000
PLAYED = 20
"""Rounds that are played before some may be copied: enough that nothing is a first time."""

AROUND = 2
"""Rounds before and after a place of which the median is taken."""

COPIED_ROUNDS = Path(__file__).with_name("copied_rounds.py")
TICKS = 5


class Stage:
    """A classifier whose weeks are made when they are looked at, and a clock."""

    def __init__(self, database: Database, *, bands: bool = False) -> None:
        self.now = MONDAY
        self.source = MemorySource([], threshold=0.5)
        self.labeler = MemoryLabeler()
        sample = Sample(max_labels=400)
        settings = RoundSettings(
            threshold=0.5,
            schedule=Schedule(cron="0 6 * * MON"),
            sample=sample.model_copy(update={"cells": None}) if bands else sample,
            limits=Limits.model_validate({"precision": 0.6, "recall": 0.3}),
            deadline=timedelta(days=5),
            late_labels=timedelta(days=90),
        )
        self.context = MonitorContext(
            settings=MonitorSettings(name="mail", round=settings),
            database=database,
            source=self.source,
            labeler=self.labeler,
            clock=lambda: self.now,
        )

    def play(self, number: int) -> float:
        """Run a whole round; returns its processor time."""
        self.now = MONDAY + number * WEEK
        self._fill(number)
        taken = _taken(lambda: run.run(self.context))  # its labels are there, so it is closed too
        if number == 1:
            run.run(self.context)  # its second wave
        return taken

    def copy(self, last: int) -> float:
        """Let the newest round be followed by copies of it, up to the last number."""
        # From beside this file, whichever tree the rest is from.
        copy_closed = runpy.run_path(str(COPIED_ROUNDS))["copy_closed"]
        with self.context.database.write() as connection:
            source = round_store.find_rounds(connection, "mail")[-1]
            copy_closed(connection, source, range(source.number + 1, last + 1))
        return 0.0

    def correct(self, back: int) -> float:
        """Change one answer in the round so many places back; returns the processor time."""
        with self.context.database.write() as connection:
            round_ = round_store.find_rounds(connection, "mail")[-1 - back]
            task = min(label_store.all_tasks(connection, [round_.id]).values(), key=_key)
            was = self.labeler.answers[task.item_id]
            other = Answer.NEGATIVE if was is Answer.POSITIVE else Answer.POSITIVE
            self.now += timedelta(minutes=1)
            event = LabelEvent(task.key, self.labeler.annotator, other, at=self.now)
            label_store.add_events(connection, self.labeler.name, [event], self.now)
        return _taken(lambda: run.finish(self.context, round_.id))

    def _fill(self, number: int) -> None:
        rng = np.random.default_rng(number)
        score = rng.beta(0.6, 3, ITEMS)
        positive = rng.random(ITEMS) < score**1.3
        start = self.now - WEEK
        self.source.rows = [
            {"id": f"{number}-{i}", "time": start + i * WEEK / ITEMS, "score": float(score[i])}
            for i in range(ITEMS)
        ]
        self.labeler.answers.update(
            (f"{number}-{i}", Answer.POSITIVE if up else Answer.NEGATIVE)
            for i, up in enumerate(positive)
        )


def _key(task: Task) -> str:
    return task.key


def _taken(act: Callable[[], object]) -> float:
    begun = time.process_time()
    act()
    return 1e3 * (time.process_time() - begun)


class Fleet:
    """Many monitors on one service."""

    def __init__(self, folder: Path, monitors: int) -> None:
        from benchmarks import many_monitors  # noqa: PLC0415  not for children that play rounds
        from monitor import wiring  # noqa: PLC0415
        from monitor.config.load import load_config  # noqa: PLC0415
        from monitor.service.loop import TICK, MonitorWork  # noqa: PLC0415

        self.now = many_monitors.MONDAY
        many_monitors.write_config(folder, "sqlite:///monitor.db", monitors)
        application = wiring.build(load_config(folder / "config.yaml"), clock=lambda: self.now)
        schema.ready(application.database)
        self._work, self._tick = MonitorWork(application, None, TICK), TICK

    def full(self) -> float:
        """Draw and close the round of each monitor; returns the processor time."""
        return _taken(self._pass)

    def idle(self) -> float:
        """Find nothing due; returns the processor time."""
        self.now += self._tick + timedelta(seconds=1)
        return _taken(self._pass)

    def _pass(self) -> None:
        work = self._work
        work.running.last_success = None
        work.rounds()
        while not self._is_quiet():
            time.sleep(0.01)
        work.notices()

    def _is_quiet(self) -> bool:
        return self._work.running.last_success is not None


def main(
    rounds: tuple[int, ...] = (10, 100, 500),
    correct: int = 300,
    monitors: tuple[int, ...] = (10, 100, 1000),
    bands: bool = False,
    before: Path | None = None,
) -> None:
    """Print a line for each place, correction and number of monitors."""
    trees = [Path(__file__).parents[1], *([before.resolve()] if before else [])]
    heads = ["now", *(["before", "ratio"] if len(trees) > 1 else [])]
    print(f"{'CPU ms of':<34}" + "".join(f"{head:>10}" for head in heads), flush=True)
    compare_rounds(trees, rounds, correct, bands=bands)
    for number in monitors:
        compare_fleets(trees, number)


def compare_rounds(
    trees: Sequence[Path], places: Sequence[int], corrected: int, *, bands: bool
) -> None:
    """Play rounds with the code of each tree in turn, and print what they cost."""
    with ExitStack() as stack:
        children = [stack.enter_context(Child(tree, bands=bands)) for tree in trees]
        cost: list[list[float]] = []
        played = 0

        def play_to(last: int) -> None:
            nonlocal played
            cost.extend(_all(children, "play", number) for number in range(played + 1, last + 1))
            played = max(played, last)

        for place in sorted({*places, corrected}):
            if place - AROUND > PLAYED:
                play_to(PLAYED)
                _all(children, "copy", place - AROUND - 1)
                played = max(played, place - AROUND - 1)
            play_to(place + AROUND)
            if place in places:
                near = cost[-2 * AROUND - 1 :]
                _line(
                    f"round {place}", [statistics.median(mine) for mine in zip(*near, strict=True)]
                )
            if place == corrected:
                figures = _all(children, "correct", played - 1)
                _line(f"a label of round 1 of {played}", figures)


def _all(children: Sequence[Child], act: str, number: int) -> list[float]:
    return [child.ask(act, number) for child in children]


def compare_fleets(trees: Sequence[Path], monitors: int) -> None:
    """Let so many monitors have a round each, and print what ticks cost."""
    with ExitStack() as stack:
        children = [stack.enter_context(Child(tree)) for tree in trees]
        _line(f"{monitors} monitors, all due", _all(children, "full", monitors))
        for _ in range(2):  # the first ticks find what the big one left
            _all(children, "idle", 0)
        idle = [_all(children, "idle", 0) for _ in range(TICKS)]
        figures = [statistics.median(mine) for mine in zip(*idle, strict=True)]
        _line(f"{monitors} monitors, nothing due", figures)


def _line(what: str, figures: Sequence[float]) -> None:
    now, *before = figures
    cells = [f"{figure:>10,.1f}" for figure in figures]
    print(f"{what:<34}" + "".join(cells) + "".join(f"{now / b:>10.2f}" for b in before), flush=True)


class Child:
    """A process that plays with the code of a tree, in a folder of its own, step by step."""

    def __init__(self, tree: Path, *, bands: bool = False) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, self._folder.name] + (["--bands"] if bands else []),
            env=os.environ | {"PYTHONPATH": str(tree)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Child:
        return self

    def ask(self, act: str, number: int) -> float:
        """Let it do one thing; returns the processor time."""
        pipes = self._process
        if pipes.stdin is None or pipes.stdout is None:
            message = "a child is asked through pipes"
            raise AssertionError(message)
        print(act, number, file=pipes.stdin, flush=True)
        told = pipes.stdout.readline()
        if not told:
            message = f"the child ended with {pipes.wait()} when asked to {act} {number}"
            raise SystemExit(message)
        return float(json.loads(told))

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
        self._folder.cleanup()


def _new_stage(folder: Path, *, bands: bool) -> Stage:
    database = Database(f"sqlite:///{folder}/monitor.db")
    schema.ready(database)
    return Stage(database, bands=bands)


def serve(folder: Path, *, bands: bool) -> None:
    """Do what is asked line by line, and say how long each took."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    os.chdir(folder)
    stage: Stage | None = None
    fleet: Fleet | None = None
    for line in sys.stdin:
        act, number = line.split()
        if act in {"play", "copy", "correct"}:
            stage = stage or _new_stage(folder, bands=bands)
            taken = getattr(stage, act)(int(number))
        else:
            fleet = fleet or Fleet(folder, int(number))
            taken = fleet.full() if act == "full" else fleet.idle()
        print(json.dumps(taken), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), bands="--bands" in sys.argv)
