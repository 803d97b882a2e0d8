"""A round from its slot to its estimate, and all the ways it may end."""

from datetime import timedelta

from sqlalchemy import update

from monitor.domain.model import Answer
from monitor.domain.sample_settings import Bands, Sample
from monitor.domain.state import RoundState
from monitor.rounds import run
from monitor.storage.tables import estimates
from monitor.testing import MemorySource
from tests.rounds.played import played
from tests.rounds.scene import MONDAY, WEEK, Scene, settings


@played
def drawn(database):
    """A round whose items are out."""
    scene = Scene(database, settings())
    scene.draw(1)
    return scene


@played
def closed(drawn):
    """That round with all its labels."""
    drawn.label()
    return drawn


def test_a_due_slot_becomes_a_blind_sample_in_labelers_hands_by_settings_that_stay(drawn):
    drawn.settings = settings(labels=50)

    found = drawn.round(1)
    assert found.state is RoundState.LABELING
    assert (found.window.start, found.window.end) == (MONDAY - WEEK, MONDAY)
    assert found.settings.sample.max_labels == 200
    tasks = drawn.labeler.sent["mail-2025-03-03T0600"].values()
    assert len(tasks) == 200
    assert all(set(task.shown) == {"text"} for task in tasks)
    assert not any(task.item_id in task.key for task in tasks)


def test_a_round_closes_when_all_labels_are_in_and_running_again_changes_nothing(closed):
    scene, found = closed, closed.round(1)

    assert (found.state, found.version, found.partial) == (RoundState.CLOSED, 1, False)
    [matrix] = scene.rows("select * from confusion_matrices")
    assert matrix["tp"] + matrix["fp"] + matrix["fn"] + matrix["tn"] == 200
    assert matrix["flagged_size"] + matrix["passed_size"] == 2000
    flagged = scene.flagged()
    positive = {item for item, answer in scene.truth.items() if answer is Answer.POSITIVE}
    both = len(flagged & positive)
    for metric, value in {"precision": both / len(flagged), "recall": both / len(positive)}.items():
        [row] = scene.rows(
            "select low, high from latest_estimates where metric = :metric"
            " and estimand = 'window' and basis = 'round'",
            metric=metric,
        )
        assert row["low"] <= value <= row["high"]

    tables = ("rounds", "items", "label_events", "estimates", "effects", "round_events")
    before = {table: scene.rows(f"select count(*) as n from {table}") for table in tables}
    scene.run()
    scene.run()
    after = {table: scene.rows(f"select count(*) as n from {table}") for table in tables}
    assert after == before


def test_a_backfill_fills_a_recorded_skip(closed):
    closed.week(2)
    closed.play(3)
    closed.labeler.asks_people = False
    closed.labeler.answers |= closed.truth

    list(run.backfill(closed.context, MONDAY))

    assert closed.round(2).state is RoundState.CLOSED
    assert closed.round(3).version == 2  # it pools round 2 now


def test_a_backfill_waits_for_labels_that_have_not_matured(scene):
    scene.week(1)
    scene.labeler.answers |= scene.truth
    scene.week(2)
    positive = {each for each, answer in scene.truth.items() if answer is Answer.POSITIVE}
    scene.labeler.answers |= dict.fromkeys(positive, Answer.POSITIVE)  # they come early
    scene.labeler.asks_people = False
    scene.now = MONDAY + WEEK + timedelta(hours=1)

    list(run.backfill(scene.context, MONDAY - WEEK))

    new = scene.round(2)
    assert scene.round(1).state is RoundState.CLOSED
    assert (new.state, new.deadline) == (RoundState.LABELING, new.slot + new.settings.deadline)
    scene.labeler.answers |= scene.truth
    scene.now = new.deadline
    scene.run()
    assert scene.round(2).state is RoundState.CLOSED


def test_the_deadline_and_nothing_before_closes_a_round_on_what_came_as_partial(drawn):
    drawn.answer(share=0.5)
    drawn.run(later=timedelta(days=4, hours=23))
    before = drawn.round(1).state
    drawn.run(later=timedelta(hours=1))

    found = drawn.round(1)
    assert (before, found.state) == (RoundState.LABELING, RoundState.CLOSED)
    assert found.partial
    [row] = drawn.rows(
        "select low, high, bound_low, bound_high from estimates"
        " where metric = 'precision' and basis = 'round' and estimand = 'window'"
    )
    assert (row["low"], row["high"]) == (row["bound_low"], row["bound_high"])

    early = drawn.overview()
    drawn.label()
    late = drawn.overview()

    assert (early.status, early.last_partial) == ("attention", True)
    assert early.worst_case is not None
    assert "answers are missing" in early.worst_case
    assert early.concerns[0].startswith("round 1: partial: ")
    assert (late.last_partial, late.worst_case, late.concerns) == (False, None, [])


def test_no_label_by_the_deadline_abandons_the_round_and_tells_people(drawn):
    drawn.run(later=timedelta(days=5))

    assert drawn.round(1).state is RoundState.ABANDONED
    assert (
        drawn.round(1).reason
        == "no flagged item has a label: 0 of 200 answers came by the deadline"
    )
    assert drawn.rows("select * from payloads") == []
    assert drawn.labeler.sent == {}
    effects = drawn.rows("select kind, sink from effects order by id")
    assert {(row["kind"], row["sink"]) for row in effects} == {
        ("round_run", "mlflow"),
        ("notice", "log"),
    }


def test_answers_that_cannot_tell_are_counted_as_declined(drawn):
    drawn.answer()
    declined = sorted(drawn.labeler.answers)[:20]
    drawn.labeler.answers |= dict.fromkeys(declined, Answer.CANNOT_TELL)
    drawn.run()

    [matrix] = drawn.rows("select declined, unanswered from confusion_matrices")
    assert (matrix["declined"], matrix["unanswered"]) == (20, 0)
    assert drawn.round(1).partial


def test_labels_that_change_no_count_make_no_version(closed):
    closed.labeler.annotator = "bo"  # a second person says the same about everything
    closed.run()

    assert closed.round(1).version == 1
    assert closed.round(1).label_revision == closed.round(1).estimated_revision == 2


def test_labels_later_than_late_labels_are_not_asked_for(scene):
    scene.settings = settings(late_labels=timedelta(days=10), grace=timedelta(0))
    scene.play(1)
    item = next(iter(scene.labeler.answers))
    scene.labeler.answers[item] = Answer.CANNOT_TELL
    scene.run(later=timedelta(days=11))

    assert scene.round(1).version == 1


def test_a_window_of_two_versions_watches_the_newest_and_counts_the_other(scene):
    scene.week(1, version="7")
    for row in scene.source.rows[1500:]:
        row["model_version"] = "8"
    scene.run(1)

    issues = scene.rows("select reason, count, bad from round_issues")
    assert [(row["count"], bool(row["bad"])) for row in issues] == [(1500, False)]
    [history] = scene.rows("select model_version from histories")
    assert history["model_version"] == "8"


def test_items_that_come_without_a_score_later_open_a_history_with_a_band_for_them(scene):
    def rows(start, unscored):
        return [
            {
                "id": f"{start:%m%d}-{n}",
                "time": start + n * timedelta(minutes=5),
                "score": None if n < unscored else (n % 97) / 97,
                "predicted": n % 97 > 90,
            }
            for n in range(2000)
        ]

    scene.source = MemorySource(rows(MONDAY - WEEK, 0) + rows(MONDAY, 200))
    scene.settings = settings(
        threshold=None, sample=Sample(max_labels=200, bands=Bands(flagged=2, passed=2))
    )
    scene.run(1)
    scene.run(2)

    found = scene.round(2)
    assert found.state is RoundState.LABELING
    assert found.history_id != scene.round(1).history_id
    sizes = scene.rows("select size from strata where round_id = :id and unscored", id=found.id)
    assert sum(row["size"] for row in sizes) == 200


def answer_few_mistakes(scene, share=0.35):
    """Let people answer a share of the classifier's mistakes, and everything else."""
    scores = {row["id"]: row["score"] for row in scene.source.rows}
    for tasks in scene.labeler.sent.values():
        ids = sorted(task.item_id for task in tasks.values())
        wrong = [i for i in ids if (scores[i] >= 0.5) != (scene.truth[i] is Answer.POSITIVE)]
        kept = set(wrong[: round(share * len(wrong))])
        scene.labeler.answers |= {i: scene.truth[i] for i in ids if i not in wrong or i in kept}


def test_mistakes_without_answers_leave_no_interval_that_excludes_the_truth(scene):
    for number in range(1, 4):
        scene.draw(number)
        answer_few_mistakes(scene)
        scene.run(later=timedelta(days=5))

    rows = scene.rows(
        "select round, basis, point, low, high from latest_estimates"
        " where metric = 'precision' and estimand = 'rate'"
    )
    assert {row["basis"] for row in rows} == {"round", "pooled"}
    assert all(row["low"] < 0.8 < row["high"] for row in rows)
    assert all(row["point"] > 0.85 for row in rows)


ROWS = (
    "select e.basis, e.estimand, e.metric, e.point, e.low, e.high, e.method, r.number from "
    "estimates e join rounds r on r.id = e.round_id and e.version = r.version"
)


def rows_of(scene, number, *, pooled):
    found = scene.rows(f"{ROWS} where r.number = {number} order by 1, 2, 3")
    return [row for row in found if (row["basis"] == "pooled") == pooled]


def test_a_round_whose_labels_change_is_estimated_anew_and_a_later_one_keeps_its_own_numbers(
    closed,
):
    closed.play(2)
    with closed.database.write() as connection:  # points as another method had them
        connection.execute(update(estimates).values(point=estimates.c.low, method="the old one"))
    own, with_history = (rows_of(closed, 2, pooled=pooled) for pooled in (False, True))

    closed.turn(closed.items(1)[0])
    closed.run()

    assert [closed.round(number).version for number in (1, 2)] == [2, 2]
    assert closed.source.scans == 2  # the predictions are not read again
    assert not any(row["method"] == "the old one" for row in rows_of(closed, 1, pooled=False))
    assert rows_of(closed, 2, pooled=False) == own
    assert all(row["method"] == "the old one" for row in own)
    assert rows_of(closed, 2, pooled=True) != with_history
