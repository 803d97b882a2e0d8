"""One notice where provisional numbers of open rounds are beyond a limit."""

from datetime import timedelta

import pytest

from monitor.domain.model import Answer
from monitor.domain.report import ProvisionalMetric, ProvisionalRow
from monitor.domain.settings import Limits
from monitor.rounds.reporting.concerns import note_provisional
from tests.rounds.scene import REFERENCE, Scene, settings


@pytest.fixture
def scene(database):
    """Two rounds that are out."""
    limits = Limits.model_validate({"precision": 0.7, "prevalence": {"at_most": 0.2}})
    asked = {"reference": REFERENCE, "deadline": timedelta(days=30), "hooks": ("ops",)}
    scene = Scene(database, settings(limits=limits, **asked))
    scene.draw(1)
    scene.draw(2)
    return scene


def early(scene, number, **ends):
    metrics = [
        ProvisionalMetric(metric=name, point=(low + high) / 2, low=low, high=high)
        for name, (low, high) in ends.items()
    ]
    row = ProvisionalRow(at=scene.now, matured=0.6, metrics=metrics)
    scene.write(note_provisional, scene.round(number), row, scene.now)


def sent(scene):
    return [each for each in scene.notices("ops") if "provisional numbers" in each["sentence"]]


def test_hooks_hear_once_of_open_rounds_that_overlap_and_again_after_it_was_over(scene):
    early(scene, 1, precision=(0.3, 0.5))
    early(scene, 1, precision=(0.2, 0.4))
    early(scene, 2, precision=(0.3, 0.5))
    once = sent(scene)
    scene.answer_round(1)
    scene.run()
    early(scene, 2, precision=(0.3, 0.5))
    overlapping = sent(scene)
    early(scene, 2, precision=(0.6, 0.8))
    over = scene.concerns(2)
    early(scene, 2, precision=(0.3, 0.5))

    assert overlapping == once
    assert over == {}
    assert "precision is 0.400" in scene.concerns(2)["provisional"]
    assert (scene.round(1).state, scene.round(2).state) == ("closed", "labeling")
    assert [each["round"] for each in sent(scene)] == [1, 2]
    [notice] = once
    assert notice["event"] == "round.attention"
    assert (
        "60 % matured: precision is 0.400 [0.300, 0.500], under its limit 0.7"
        in (notice["sentence"])
    )


def test_a_limit_from_above_is_told_as_over_it(scene):
    early(scene, 1, prevalence=(0.3, 0.5))

    assert "over its limit 0.2" in sent(scene)[0]["sentence"]


def test_an_interval_that_holds_the_limit_is_not_told(scene):
    early(scene, 1, precision=(0.5, 0.7), prevalence=(0.2, 0.4))

    assert sent(scene) == []


def test_a_limit_with_an_open_alert_is_not_told(scene):
    for item in scene.truth:
        scene.truth[item] = Answer.NEGATIVE
    scene.answer_round(1)
    scene.run()
    firing = [(alert.metric, alert.state) for alert in scene.alerts()]
    early(scene, 2, precision=(0.0, 0.1))

    assert firing == [("precision", "firing")]
    assert sent(scene) == []
