"""A monitor whose judge is asked, with the people and the clock of `tests.rounds.scene`."""

from dataclasses import dataclass, field, replace
from typing import Any

from monitor.domain.model import Answer
from monitor.domain.sample_settings import Cells, Sample
from monitor.domain.state import RoundState
from monitor.judges.ask import JudgeClient
from monitor.plugins.judges.http import HttpJudge, HttpSettings
from tests.rounds.scene import Scene, settings

CELLS = Sample(max_labels=200, cells=Cells(flagged=2, passed=4))
PROMPT = "Is this fraud?\n{text}\n"


@dataclass
class AskingScene(Scene):
    """A scene whose monitor asks a judge."""

    judge: Any = field(default=None)

    @property
    def context(self):
        return replace(super().context, judge=self.judge)

    def judged(self):
        return self.rows("select item_id, verdict, fault, tokens from verdicts order by item_id")

    def judging(self, number=1):
        return self.rows("select * from judgings where round_id = :id", id=self.round(number).id)[0]

    def close(self):
        assert self.finish(1).state is RoundState.CLOSED
        return self.report(1)["judge"]


def http_settings(folder, url, prompt=PROMPT, **changes):
    (folder / "prompt.txt").write_text(prompt)
    asked = {
        "url": url,
        "model": "small-model",
        "prompt": str(folder / "prompt.txt"),
        "key": "sk-secret-key",
        "positive": "yes",
        "items": 30,
        "allow_private": True,
        "concurrency": 4,
        "timeout": "2s",
        "retries": 1,
    }
    return HttpSettings.model_validate(asked | changes)


class Model:
    """A judge in the process: a reply to each item by its text."""

    batch = 10

    def __init__(self, reply):
        self.reply = reply

    def resolved(self):
        return None

    def ask(self, items, _):
        return [self.reply(item["text"]) for item in items]


def asking(database, judge_settings, model=None, *, sample=CELLS, count=1200, **changes):
    model = HttpJudge(judge_settings) if model is None else model
    scene = AskingScene(
        database,
        settings(judge=judge_settings.frozen(), sample=sample, **changes),
        judge=JudgeClient(judge_settings, model),
    )
    scene.week(1, count=count, share=0.15)
    return scene


def asking_within(database, folder, reply, *, items=30, **more):
    """A scene whose judge is a function of the scene and an item's text."""
    scene: Any = None
    judge = http_settings(folder, "http://127.0.0.1:1/v1", items=items)
    scene = asking(database, judge, Model(lambda text: reply(scene, text)), **more)
    return scene


def is_positive(scene, text):
    """Whether the item that a prompt shows is positive."""
    number = text.split("item ")[1].split()[0]
    item = next(row["id"] for row in scene.source.rows if row["text"].split()[1] == number)
    return scene.truth[item] is Answer.POSITIVE
