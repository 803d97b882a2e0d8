"""Limits on a judge that is asked about a sample: alerts through whole rounds."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from monitor.domain.judging import Reply
from monitor.domain.model import Answer
from monitor.domain.settings import Limits
from monitor.domain.state import RoundState
from tests.plugins.judges.asking import asking, http_settings

LIMITS = Limits.model_validate({"recall": 0.3, "judge_tpr": 0.7, "judge_fpr": 0.1})
GOOD, WORSE = (0.9, 0.02), (0.3, 0.02)


@dataclass
class NoisyJudge:
    """Says yes to a share of the positives and of the negatives; has no reply on a few items."""

    truth: dict[str, Answer] = field(default_factory=dict)
    rates: tuple[float, float] = GOOD
    batch: int = 500

    def ask(self, items, seconds):
        del seconds
        return [self.reply(shown["text"]) for shown in items]

    def reply(self, item):
        rng = np.random.default_rng([*item.encode()])
        if rng.random() < 0.02:
            return Reply(fault="empty")
        of_positive, of_negative = self.rates
        is_positive = self.truth[item] is Answer.POSITIVE
        return Reply(
            "yes" if rng.random() < (of_positive if is_positive else of_negative) else "no"
        )

    def resolved(self):
        return None


def play(scene, number):
    if number > 1:
        scene.week(number, count=1200, share=0.15)
    for row in scene.source.rows:
        row["text"] = row["id"]
    scene.run(number)
    for _ in range(3):
        scene.answer()
        scene.run()
    assert scene.round(number).state is RoundState.CLOSED
    return scene.report(number)


def test_an_asked_judge_that_becomes_worse_raises_its_own_alert_until_it_is_good_again(
    database, tmp_path
):
    judge_settings = http_settings(tmp_path, "http://127.0.0.1:1/v1", items=100)
    judge = NoisyJudge()
    scene: Any = asking(database, judge_settings, judge, limits=LIMITS)
    judge.truth = scene.truth
    for number in (1, 2):
        assert play(scene, number)["alerts"] == []

    judge.rates = WORSE
    [alert] = play(scene, 3)["alerts"] or play(scene, 4)["alerts"]
    judge.rates = GOOD
    play(scene, 5)
    play(scene, 6)

    assert (alert["metric"], alert["side"], alert["state"]) == ("judge_tpr", "at_least", "firing")
    [ended] = scene.alerts()
    assert ended.state == "resolved"
    sizes = scene.rows("select size, judged from strata where verdict = 'missing'")
    assert sum(row["size"] for row in sizes if row["judged"]) > 0
