"""Limits on a judge that is asked about a sample: alerts through whole rounds."""

import numpy as np

from monitor.domain.judging import Reply
from monitor.domain.model import Answer
from monitor.domain.settings import Limits
from monitor.domain.state import RoundState
from tests.plugins.judges.asking import asking_within

LIMITS = Limits.model_validate({"recall": 0.3, "judge_tpr": 0.7, "judge_fpr": 0.1})
GOOD, WORSE = (0.9, 0.02), (0.3, 0.02)


def play(scene, number):
    if number > 1:
        scene.week(number, count=1200, share=0.15)
    for row in scene.source.rows:
        row["text"] = row["id"]
    scene.run(number)
    assert scene.finish(number).state is RoundState.CLOSED
    return scene.report(number)


def test_an_asked_judge_that_becomes_worse_raises_its_own_alert_until_it_is_good_again(
    database, tmp_path
):
    rates = [GOOD]

    def noisy(scene, item):
        """Say yes to a share of the positives and of the negatives, and nothing on a few items."""
        rng = np.random.default_rng([*item.encode()])
        if rng.random() < 0.02:
            return Reply(fault="empty")
        of_positive, of_negative = rates[-1]
        share = of_positive if scene.truth[item] is Answer.POSITIVE else of_negative
        return Reply("yes" if rng.random() < share else "no")

    scene = asking_within(database, tmp_path, noisy, items=100, limits=LIMITS)
    for number in (1, 2):
        assert play(scene, number)["alerts"] == []

    rates.append(WORSE)
    [alert] = play(scene, 3)["alerts"] or play(scene, 4)["alerts"]
    rates.append(GOOD)
    play(scene, 5)
    play(scene, 6)

    assert (alert["metric"], alert["side"], alert["state"]) == ("judge_tpr", "at_least", "firing")
    [ended] = scene.alerts()
    assert ended.state == "resolved"
    sizes = scene.rows("select size, judged from strata where verdict = 'missing'")
    assert sum(row["size"] for row in sizes if row["judged"]) > 0
