"""What a round costs after many others: CPU of round 500 of a monitor beside that of round 10.

    python -m benchmarks.long_history [--rounds 500]

A monitor of weekly rounds with 400 labels in 4 + 10 bands and two limits, on SQLite, over
stand-ins in memory for the predictions and the people, so that only our own work is counted:
draw, plan, labels in, estimates, evidence, notices, effects written. Prints the median of five
rounds at several places and its ratio to round 10; then what one late label costs that changes the
round 1, 20 or 100 places back, and with it all rounds after. Takes about six minutes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.model import Answer, LabelEvent
from monitor.domain.sample_settings import Sample
from monitor.domain.settings import Limits, MonitorSettings, RoundSettings, Schedule
from monitor.rounds import run
from monitor.rounds.context import MonitorContext
from monitor.storage import label_store, round_store, schema
from monitor.storage.database import Database
from monitor.testing import MemoryLabeler, MemorySource

if TYPE_CHECKING:
    from monitor.domain.model import Task

MONDAY = datetime(2016, 1, 4, 6, tzinfo=UTC)
WEEK = timedelta(days=7)
ITEMS = 4_000
PLACES = (10, 50, 100, 250, 500)
BACK = (1, 20, 100)


class Stage:
    """A classifier whose weeks are made when they are looked at, and a clock."""

    def __init__(self, database: Database) -> None:
        self.now = MONDAY
        self.source = MemorySource([], threshold=0.5)
        self.labeler = MemoryLabeler()
        settings = RoundSettings(
            threshold=0.5,
            schedule=Schedule(cron="0 6 * * MON"),
            sample=Sample(max_labels=400),
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
        """Run a whole round; returns its CPU in milliseconds."""
        self.now = MONDAY + number * WEEK
        self._fill(number)
        begun = time.process_time()
        run.run(self.context)  # draws it and closes it, since the labels are there
        return 1e3 * (time.process_time() - begun)

    def correct(self, back: int) -> float:
        """Change one answer in the round so many places back; returns CPU in milliseconds."""
        with self.context.database.write() as connection:
            round_ = round_store.find_rounds(connection, "mail")[-1 - back]
            task = min(label_store.all_tasks(connection, [round_.id]).values(), key=_key)
            answer = self.labeler.answers[task.item_id]
            other = Answer.NEGATIVE if answer is Answer.POSITIVE else Answer.POSITIVE
            self.now += timedelta(minutes=1)
            event = LabelEvent(task.key, self.labeler.annotator, other, at=self.now)
            label_store.add_events(connection, self.labeler.name, [event], self.now)
        begun = time.process_time()
        run.finish(self.context, round_.id)
        return 1e3 * (time.process_time() - begun)

    def _fill(self, number: int) -> None:
        rng = np.random.default_rng(number)
        score = rng.beta(0.6, 3, ITEMS)
        positive = rng.random(ITEMS) < score**1.3
        start = self.now - WEEK
        self.source.rows = [
            {
                "id": f"{number}-{i}",
                "time": start + i * WEEK / ITEMS,
                "score": float(score[i]),
            }
            for i in range(ITEMS)
        ]
        self.labeler.answers.update(
            (f"{number}-{i}", Answer.POSITIVE if up else Answer.NEGATIVE)
            for i, up in enumerate(positive)
        )


def _key(task: Task) -> str:
    return task.key


def main() -> None:
    """Print what rounds and corrections cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=max(PLACES))
    wanted = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder)}/monitor.db")
        schema.ready(database)
        stage = Stage(database)
        cost = [stage.play(number) for number in range(1, wanted + 3)]
        print("round  CPU ms  to round 10")
        at = {place: _around(cost, place) for place in PLACES if place <= wanted}
        for place, taken in at.items():
            print(f"{place:>5}  {taken:>6.0f}  {taken / at[10]:>11.2f}")
        for back in (each for each in BACK if each < wanted):
            taken = stage.correct(back)
            print(
                f"a label {back} rounds back: {taken:.0f} ms, {taken / (back + 1):.0f} for each of "
                f"{back + 1} new versions"
            )
        database.close()


def _around(cost: list[float], place: int) -> float:
    return float(np.median(cost[place - 3 : place + 2]))


if __name__ == "__main__":
    main()
