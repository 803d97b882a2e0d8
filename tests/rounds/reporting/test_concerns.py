"""What a broken classifier does to its window: told once, never ok, and no round stops for it."""

from datetime import timedelta

import pytest

from monitor.domain.model import Answer
from monitor.rounds.reporting.concerns import LEAST_TURNED, SHARE_TURNED, note
from monitor.service.web.metrics import Own, exposition
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, REFERENCE, Scene, settings
from tests.storage.payloads import PAYLOADS

ASKED = {"limits": LIMITS, "reference": REFERENCE, "model": "models:/mail/7", "hooks": ("ops",)}


@played
def scene(database):
    """Two good rounds."""
    scene = Scene(database, settings(**ASKED))
    scene.play(1)
    scene.play(2)
    return scene


def told(scene):
    """Sink and sentence of each notice that a round needs a look."""
    rows = scene.rows("select sink, payload from effects where kind = 'notice' order by id")
    payloads = [(row["sink"], row["payload"]) for row in rows]
    return [(sink, of["sentence"]) for sink, of in payloads if of["event"] == "round.attention"]


def model_statuses(scene):
    rows = scene.rows(f"{PAYLOADS} where e.kind = 'model_tags' order by e.id")
    return [row["payload"]["status"] for row in rows]


def metric(scene):
    text = exposition(scene.database, [scene.name], Own(), scene.now)
    [line] = [line for line in text.splitlines() if line.startswith("pr_monitor_attention{")]
    return float(line.split()[-1])


@pytest.mark.parametrize(
    ("share", "what"),
    [
        (0.0, "none of the 2000 items are flagged; in the last 2 rounds it was"),
        (0.9999999, "all 2000 items are flagged; in the last 2 rounds it was"),
    ],
)
def test_an_odd_flagged_rate_is_told_once_and_the_round_goes_on(scene, share, what):
    scene.draw(3, share=share, recall=1.0)
    scene.run()

    assert scene.round(3).state == "labeling"
    [(log, sentence), (hook, _)] = told(scene)
    assert (log, hook) == ("log", "ops")
    assert what in sentence


def test_what_is_odd_is_attention_everywhere_from_the_draw_to_the_next_good_round(scene):
    found = scene.overview()
    assert (found.status, found.concerns, told(scene), metric(scene)) == ("ok", [], [], 0)

    scene.draw(3, share=0.004)

    found = scene.overview()
    assert found.status == "attention"
    [concern] = found.concerns
    assert concern.startswith("round 3: 14 of 2000 items are flagged, 0.7 %;")
    assert metric(scene) == 1
    assert model_statuses(scene) == ["ok", "ok", "attention"]

    scene.label()

    report = scene.reports()[-1]
    assert report["status"] == scene.overview().status == "attention"
    assert "in the last 2 rounds it was" in report["concerns"][0]

    scene.play(4)

    assert (scene.overview().status, metric(scene)) == ("ok", 0)
    assert model_statuses(scene)[-1] == "ok"


def test_a_concern_about_an_abandoned_round_is_not_why_it_has_no_estimate(scene):
    scene.draw(3)
    scene.now += timedelta(days=6)
    scene.run()
    abandoned = scene.round(3)

    scene.write(note, abandoned, "restored", "the store looks older than MLflow", scene.now)

    assert abandoned.state == "abandoned"
    assert model_statuses(scene) == ["ok", "ok", "stale", "attention"]


def test_a_rate_that_chance_explains_needs_no_look(database):
    scene = Scene(database, settings(limits=LIMITS))
    scene.play(1, count=300, share=0.02)
    scene.week(2, count=300, share=0.02)
    flagged = [row for row in scene.source.rows[300:] if row["score"] >= 0.5]
    for row in flagged[1:]:
        row["score"] = 0.1

    scene.run(2)

    assert len(flagged) >= 5
    assert told(scene) == []


def test_scores_that_order_the_other_way_round_are_told_when_labels_are_in(scene):
    scene.week(3)
    week = [row for row in scene.source.rows if row["id"].startswith("0310")]
    assert len(week) == 2000
    for row in week:
        scene.truth[row["id"]] = Answer.POSITIVE if row["score"] < 0.3 else Answer.NEGATIVE

    scene.run(3)
    scene.label()

    assert scene.round(3).state == "closed"
    [concern] = [each for each in scene.overview().concerns if "positives have lower" in each]
    assert concern.startswith("round 3: by the labels of this round, positives have lower scores")
    assert len([sink for sink, sentence in told(scene) if "positives have lower" in sentence]) == 2


def test_few_labels_a_round_tell_of_a_turned_score_together(database):
    asked = settings(limits=LIMITS, labels=20)
    scene = Scene(database, asked)
    told_after = []
    for number in range(1, 6):
        scene.week(number)
        for row in scene.source.rows:
            scene.truth[row["id"]] = Answer.POSITIVE if row["score"] < 0.1 else Answer.NEGATIVE
        scene.run(number)
        scene.label()
        told_after.append(any("positives have lower" in sentence for _, sentence in told(scene)))

    assert (told_after[0], told_after[-1]) == (False, True)
    [concern] = [each for each in scene.overview().concerns if "positives have lower" in each]
    assert "by the labels of the last" in concern


def test_rows_that_come_after_the_draw_are_counted_and_told_once_unless_they_are_few(scene):
    scene.source.rows.append({**scene.source.rows[-1], "id": "late"})
    scene.week(3)
    here = scene.source.rows[-2000:]
    del scene.source.rows[-2000:]
    scene.source.rows += here[:1900]
    scene.run(3)
    few = "round 3: 1 rows of the window of round 2 came after its draw" in scene.overview().notes
    scene.label()
    before = told(scene)
    scene.source.rows += here[1900:]
    scene.week(4)

    scene.run(4)
    scene.run()

    assert (few, before) == (True, [])
    [(_, sentence), _] = told(scene)
    assert "100 rows of the window of round 3 came after its draw, to 1900 that it saw" in sentence
    assert scene.overview().status == "attention"


def test_a_round_that_could_not_estimate_recall_is_not_ok(scene):
    scene.play(3, precision=0.0)

    found = scene.overview()

    assert any("recall is not estimable" in concern for concern in found.concerns)
    assert found.status != "ok"


def test_labels_that_mature_are_not_missed_before(database):
    labeling = {"kind": "stand-in", "matures": "10d"}
    scene = Scene(database, settings(deadline=timedelta(days=20), labeling=labeling, limits=LIMITS))
    scene.draw(1)
    scene.now += timedelta(days=6, hours=23)
    early = scene.overview().status
    scene.settings = scene.settings.model_copy(
        update={"schedule": scene.settings.schedule.model_copy(update={"cron": "0 6 3 3 *"})}
    )
    scene.now += timedelta(days=8, hours=2)

    late = scene.overview()

    assert (early, late.status) == ("learning", "attention")
    assert late.concerns == [
        "round 1: it has no answer, and more than half of its labeling time is over"
    ]


def test_an_abandoned_round_is_not_forgotten_while_the_next_one_is_labeled(scene):
    scene.draw(3)
    scene.now += timedelta(days=5)
    scene.run()
    scene.draw(4)

    found = scene.overview()

    assert found.status == "stale"
    assert any("round 3 gave no estimate" in problem for problem in found.problems)
    assert metric(scene) == 1


def test_a_model_under_alert_stays_under_alert_whatever_else_is_odd(scene):
    scene.play(3, precision=0.1)
    scene.week(4, share=0.004)

    scene.run(4)

    assert scene.overview().status == "alert"
    assert model_statuses(scene)[-1] == "alert"


def test_a_backfill_wakes_nobody(scene):
    scene.settings = settings(**ASKED, origin="backfill")
    scene.draw(3, share=0.0, recall=1.0)

    assert [sink for sink, _ in told(scene)] == ["log"]


def relabel(scene, number, share):
    """Turn this share of the answers of a round."""
    items = scene.items(number)
    scene.turn(*items[: round(share * len(items))])
    scene.run()


def test_a_correction_that_turns_many_labels_of_an_old_round_is_shown_and_told_once(scene):
    relabel(scene, 2, 0.02)
    few = scene.round(2).version, scene.overview().status, told(scene)
    relabel(scene, 1, 0.6)
    scene.run()

    found = scene.overview()
    [sentence] = {sentence for _, sentence in told(scene)}
    assert few == (2, "ok", [])
    assert scene.round(1).version == 2
    assert found.status == "attention"
    assert [sink for sink, _ in told(scene)] == ["log", "ops"]
    assert sentence.startswith("mail, round 2 needs a look: a correction turned at least ")
    assert "positive ones are not positive now" in sentence
    shown = sentence.partition("needs a look: ")[2].rstrip(".")
    assert found.concerns == [f"round 2: {shown}"]


def test_a_correction_that_takes_a_third_of_the_few_positive_labels_is_told(scene):
    items = scene.items(1)
    positive = [item for item in items if scene.labeler.answers[item] is Answer.POSITIVE]
    third = positive[::3]
    assert LEAST_TURNED <= len(third) < SHARE_TURNED * len(items)

    scene.labeler.answers |= dict.fromkeys(third, Answer.NEGATIVE)
    scene.run()

    [sentence] = {sentence for _, sentence in told(scene)}
    assert f" of its {len(positive)} positive ones are not positive now" in sentence


# Labels that do not come: said while they still may, and told when it is too late.


@played
def waiting(database):
    """A closed round and one that is being labeled, for five days."""
    waiting = Scene(database, settings(**ASKED))
    waiting.play(1)
    waiting.draw(2)
    return waiting


def test_a_round_without_any_answer_is_told_the_more_urgently_the_less_time_is_left(waiting):
    half = "round 2: it has no answer, and more than half of its labeling time is over"
    end = "round 2 has no answer and ends in 10 h without an estimate, unless answers arrive"
    opened = waiting.now

    for after, status, concerns, problems in (
        (timedelta(days=2, hours=11), "ok", [], []),
        (timedelta(days=3, hours=23), "attention", [half], []),
        (timedelta(days=4, hours=14), "stale", [], [end]),
    ):
        waiting.now = opened + after
        found = waiting.overview()
        assert (found.status, found.problems) == (status, problems)
        assert found.concerns == concerns or problems

    waiting.now = opened + timedelta(days=5)
    waiting.run()

    assert model_statuses(waiting) == ["ok", "stale"]
    [notice] = waiting.rows(
        "select payload from effects where key like '%/log' order by id desc limit 1"
    )
    told = notice["payload"]
    assert "0 of 200 answers came by the deadline" in told["sentence"]
    assert "answer in time" in told["to_do"]


def test_a_round_with_some_answers_near_its_end_is_worth_a_note(waiting):
    waiting.label(0.25)
    waiting.now += timedelta(days=4, hours=23, minutes=30)

    found = waiting.overview()

    assert found.status == "ok"
    assert found.notes[0] == ("round 2 closes in 30 min; 150 answers are still missing")


def test_a_model_under_alert_stays_under_alert_when_a_round_is_abandoned(waiting):
    waiting.truth |= dict.fromkeys(waiting.truth, Answer.NEGATIVE)
    waiting.label()
    waiting.draw(3)
    waiting.now += timedelta(days=5)
    waiting.run()

    assert waiting.round(3).state == "abandoned"
    assert model_statuses(waiting)[-1] == "alert"
    [told] = waiting.overview().alerts
    assert told.metric == "precision"
