"""A block of classes: a monitor for each of them, over the predictions of one classifier."""

from dataclasses import replace

import numpy as np

from monitor.domain.block import Block
from monitor.domain.model import Answer
from monitor.rounds.round_page import class_overviews
from monitor.storage.database import Database
from tests.rounds.scene import MONDAY, THRESHOLD, WEEK, Scene, settings

CLASSES = ("travel", "finance", "news")


class OfClass(Scene):
    """The monitor of one class."""

    block: "ClassBlock"

    @property
    def context(self):
        return replace(super().context, class_monitors=self.block.names)


class ClassBlock:
    """A classifier with some classes; items that are of none of them are ``other``."""

    kind = OfClass

    def __init__(self, database: Database, classes=CLASSES, **asked):
        self.database = database
        self.names = {
            value: f"mail-{value if value.isalpha() else place}"
            for place, value in enumerate(classes)
        }
        self.truth: dict[str, str | None] = {}
        self.monitors: dict[str, OfClass] = {}
        for value, name in self.names.items():
            of = Block(name="mail", kind="classes", value=value, values=classes)
            scene = self.kind(database, settings(block=of, **asked), name=name)
            scene.block = self
            self.monitors[value] = scene

    def __getitem__(self, value):
        return self.monitors[value]

    def week(self, number=1, *, count=240, right=0.7):
        """Add the predictions of a week, the same items for each class."""
        rng, start = np.random.default_rng(number), MONDAY + (number - 2) * WEEK
        truths = [*self.monitors, "other"]
        true, predicted = rng.integers(0, len(truths), (2, count))
        predicted = np.where(rng.random(count) < right, true, predicted)
        noise = rng.random(count) / 2 * 0.99
        for item in range(count):
            name = f"{number}-{item:04}"
            self.truth[name] = truths[true[item]]
            at = start + item * WEEK / count
            for value, scene in self.monitors.items():
                score = noise[item] + (THRESHOLD if truths[predicted[item]] == value else 0)
                row = {"id": name, "time": at, "score": score, "text": f"mail {name}"}
                scene.source.rows.append(row)
                is_positive = self.truth[name] == value
                scene.truth[name] = Answer.POSITIVE if is_positive else Answer.NEGATIVE

    def play(self, *values, number=1):
        """Draw, label and close the rounds of some classes, in this order."""
        for value in values or self.monitors:
            self[value].run(number)
            self[value].answer()
            self[value].run()

    @property
    def overview(self):
        """How the block stands."""
        asked = [scene.context.settings for scene in self.monitors.values()]
        [found] = class_overviews(self.database, asked)
        return found

    def rows(self, query, **values):
        """Ask the store."""
        return next(iter(self.monitors.values())).rows(query, **values)
