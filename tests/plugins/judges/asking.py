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
        for _ in range(3):
            self.answer()
            self.run()
        assert self.round(1).state is RoundState.CLOSED
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


def asking(database, judge_settings, model=None, **changes):
    model = HttpJudge(judge_settings) if model is None else model
    scene = AskingScene(
        database,
        settings(judge=judge_settings.frozen(), sample=CELLS, **changes),
        judge=JudgeClient(judge_settings, model),
    )
    scene.week(1, count=1200, share=0.15)
    return scene


def is_positive(scene, text):
    """Whether the item that a prompt shows is positive."""
    number = text.split("item ")[1].split()[0]
    item = next(row["id"] for row in scene.source.rows if row["text"].split()[1] == number)
    return scene.truth[item] is Answer.POSITIVE
