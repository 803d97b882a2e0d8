"""What a round costs at places of its history, and a late label of its first round.

One monitor of weekly rounds of 400 labels in score cells, over stand-ins in memory. A round is
drawn and closed: the medians of the rounds around each place. Long histories are copies in SQL.
"""

import logging
import statistics
import tempfile
from datetime import UTC, datetime, timedelta

import numpy as np
import structlog

from benchmarks.copied_rounds import copy_closed
from benchmarks.harness import timed
from monitor.domain.model import Answer, LabelEvent
from monitor.domain.sample_settings import Sample
from monitor.domain.settings import Limits, MonitorSettings, RoundSettings, Schedule
from monitor.rounds import run
from monitor.rounds.context import MonitorContext
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.labels import label_store
from monitor.storage.rounds import round_store
from monitor.storage.rounds.round_store import Round
from monitor.testing import MemoryLabeler, MemorySource

MONDAY = datetime(2016, 1, 4, 6, tzinfo=UTC)
WEEK = timedelta(days=7)
ITEMS = 4_000
PLAYED = 20
"""Rounds that are played before some may be copied: enough that nothing is a first time."""

AROUND = 2
"""Rounds before and after a place of which the median is taken."""


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
        """Run a whole round; returns its processor time."""
        self.begin(number)
        taken, _ = timed(lambda: run.run(self.context))  # its labels are there: it is closed too
        if number == 1:
            run.run(self.context)  # its second wave
        return 1e3 * taken

    def copy(self, last: int) -> None:
        """Let the newest round be followed by copies of it, up to the last number."""
        with self.context.database.write() as connection:
            source = round_store.find_rounds(connection, "mail")[-1]
            copy_closed(connection, source, range(source.number + 1, last + 1))

    def correct(self, back: int) -> float:
        """Correct a round so many places back after a late label; returns the processor time."""
        self.now += timedelta(minutes=1)
        changed = self.change_a_label(back)
        return 1e3 * timed(lambda: run.finish(self.context, changed.id))[0]

    def change_a_label(self, back: int) -> Round:
        """Let people change one answer in the round so many places back, and return that."""
        labeler = self.labeler
        with self.context.database.write() as connection:
            round_ = round_store.find_rounds(connection, "mail")[-1 - back]
            tasks = label_store.all_tasks(connection, [round_.id])
            task = tasks[min(tasks)]
            was = labeler.answers[task.item_id]
            other = Answer.NEGATIVE if was is Answer.POSITIVE else Answer.POSITIVE
            labeler.answers[task.item_id] = other
            event = LabelEvent(task.key, labeler.annotator, other, at=self.now)
            label_store.add_events(connection, labeler.name, [event], self.now)
        return round_

    def begin(self, number: int) -> None:
        """Let the week of a round be over, with its predictions and what people answer."""
        self.now = MONDAY + number * WEEK
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


def main(rounds: tuple[int, ...] = (10, 100, 500), correct: int = 300) -> None:
    """Print a line for each place, and one for a correction of the first round."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/monitor.db")
        schema.ready(database)
        stage = Stage(database)
        cost: list[float] = []
        played = 0

        def play_to(last: int) -> None:
            nonlocal played
            cost.extend(stage.play(number) for number in range(played + 1, last + 1))
            played = max(played, last)

        print(f"{'CPU ms of':<34}")
        for place in sorted({*rounds, correct}):
            if place - AROUND > PLAYED:
                play_to(PLAYED)
                stage.copy(place - AROUND - 1)
                played = place - AROUND - 1
            play_to(place + AROUND)
            if place in rounds:
                near = statistics.median(cost[-2 * AROUND - 1 :])
                print(f"{f'round {place}':<34}{near:>10,.1f}")
            if place == correct:
                taken = stage.correct(played - 1)
                print(f"{f'a label of round 1 of {played}':<34}{taken:>10,.1f}")
        database.close()
