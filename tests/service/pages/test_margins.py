"""What the page says of the rest: how long it takes, and margins that come from the plan."""

import re
from datetime import timedelta

from monitor.domain.model import Answer
from monitor.domain.sample_settings import Bands, Margin, Sample
from monitor.service.pages.labeling.pace import AT_FIRST, seconds_each
from tests.rounds.scene import MONDAY, REFERENCE, Scene, settings
from tests.service.pages.people import Place, on_page

MARGIN = Margin(precision=0.2, recall=0.2)


def scene_with(database, folder, **more):
    """A round on the page whose plan knows what to expect."""
    asked = {"margin": MARGIN, "max_labels": 600, "bands": Bands(flagged=1, passed=1)}
    scene = Scene(database, settings(sample=Sample(**{**asked, **more}), reference=REFERENCE))
    scene.week(1)
    return on_page(scene, folder)


def test_the_page_says_within_which_margins_the_round_will_be(database, tmp_path):
    scene = scene_with(database, tmp_path)
    scene.run(1)

    page = Place(scene).person("ada").page.text

    planned = {
        row["metric"]: row["half_width"] for row in scene.rows("select * from planned_margins")
    }
    precision, recall = (round(100 * planned[metric]) for metric in ("precision", "recall"))
    left = len(scene.rows("select * from tasks"))
    assert 0 < precision < 20 > recall > 0
    assert f"{left} to go, about {round(left * 5 / 60)} minutes" in page
    assert f"; then precision within ±{precision} %, recall ±{recall} %" in page


def test_margins_are_the_same_whatever_is_answered(database, tmp_path):
    scene = scene_with(database, tmp_path)
    scene.run(1)
    desk = Place(scene).desk()
    keys = [task.key for task in desk.screen("ada").tasks[:4]]
    said: dict[Answer, list[str]] = {}

    for place, answer in enumerate(Answer):
        words = said[answer] = []
        for key in keys:
            desk.record_answer("ada", key, answer, 2 * place)
            scene.run()  # a pass reads the answer
            words.append(re.sub(r"about [^;]*|less than a minute", "", desk.progress("ada").text))
        for key in keys:
            desk.record_answer("ada", key, None, 2 * place + 1)

    assert said[Answer.POSITIVE] == said[Answer.NEGATIVE] == said[Answer.CANNOT_TELL]
    [margins] = {words.partition("; ")[2] for words in said[Answer.POSITIVE]}
    assert "recall ±" in margins


def test_a_first_wave_promises_nothing_and_both_together_do(database, tmp_path):
    bands = Bands(flagged=2, passed=2)
    scene = scene_with(database, tmp_path, bands=bands, margin=Margin(), max_labels=200)
    scene.run(1)
    place = Place(scene)
    first = place.desk().progress("ada").text

    place.answer_all("ada", "0")
    scene.run()

    assert scene.round(1).second_wave_at is None
    assert "then" not in first
    assert "; then precision within ±" in place.desk().progress("ada").text


def times(*gaps):
    """Times of answers with these seconds between them, in no order."""
    found = [MONDAY]
    for gap in gaps:
        found.append(found[-1] + timedelta(seconds=gap))
    return found[::-1]


def test_the_pace_is_that_of_the_last_items_and_pauses_are_none():
    assert seconds_each(times(3, 4, 5, 6, 3600, 4)) == 4
    assert seconds_each(times(4, 4, 4, 4, 4, 119)) == 4


def test_until_enough_is_known_a_usual_pace_is_assumed():
    assert seconds_each([]) == AT_FIRST
    assert seconds_each(times(1, 1, 1, 1)) == AT_FIRST
    assert seconds_each(times(1, 1, 1, 1, 1)) == 1
