"""What the page says of the rest: how much remains, and margins that come from the plan."""

from monitor.domain.model import Answer
from monitor.domain.sample_settings import Bands, Margin, Sample
from tests.rounds.scene import REFERENCE, Scene, settings
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
    assert f"{left} to go;" in page
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
            words.append(desk.progress("ada").text)
        for key in keys:
            desk.record_answer("ada", key, None, 2 * place + 1)

    assert said[Answer.POSITIVE] == said[Answer.NEGATIVE] == said[Answer.CANNOT_TELL]
    [margins] = {words.partition("; ")[2] for words in said[Answer.POSITIVE]}
    assert "recall ±" in margins
