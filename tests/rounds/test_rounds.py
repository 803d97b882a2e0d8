"""A round from its slot to its estimate, and all the ways it may end."""

from datetime import timedelta

import pytest

from monitor.domain.errors import SourceUnavailable
from monitor.domain.model import Answer
from monitor.domain.sample_settings import Bands, Margin, Sample
from monitor.domain.state import RoundState
from monitor.rounds import run
from monitor.storage.labels import label_store
from monitor.storage.samples import frame_store
from monitor.testing import MemorySource
from tests.rounds.scene import MONDAY, REFERENCE, WEEK, Scene, overview, settings


@pytest.fixture
def scene(database):
    return Scene(database, settings())


def test_a_due_slot_becomes_a_sample_in_labelers_hands(scene):
    scene.week(1)
    scene.run(1)

    found = scene.round(1)
    assert found.state is RoundState.LABELING
    assert (found.window.start, found.window.end) == (MONDAY - WEEK, MONDAY)
    assert len(scene.labeler.sent["mail-2025-03-03T0600"]) == 200


def test_the_sample_is_blind(scene):
    scene.week(1)
    scene.run(1)

    [tasks] = scene.labeler.sent.values()
    assert all(set(task.shown) == {"text"} for task in tasks.values())
    assert not any(task.item_id in task.key for task in tasks.values())


def test_a_round_closes_when_all_labels_are_in(scene):
    found = scene.play(1)

    assert (found.state, found.version, found.partial) == (RoundState.CLOSED, 1, False)
    [matrix] = scene.rows("select * from confusion_matrices")
    assert matrix["tp"] + matrix["fp"] + matrix["fn"] + matrix["tn"] == 200
    assert matrix["flagged_size"] + matrix["passed_size"] == 2000


def test_estimates_hold_the_truth_of_the_window(scene):
    scene.play(1)

    true_positive = sum(
        scene.truth[row["id"]] is Answer.POSITIVE and row["score"] >= 0.5
        for row in scene.source.rows
    )
    truth = {
        "precision": true_positive / sum(row["score"] >= 0.5 for row in scene.source.rows),
        "recall": true_positive / list(scene.truth.values()).count(Answer.POSITIVE),
    }
    for metric, value in truth.items():
        [row] = scene.rows(
            "select low, high from latest_estimates where metric = :metric"
            " and estimand = 'window' and basis = 'round'",
            metric=metric,
        )
        assert row["low"] <= value <= row["high"]


def test_running_again_changes_nothing(scene):
    scene.play(1)
    before = {
        table: scene.rows(f"select count(*) as n from {table}")
        for table in ("rounds", "items", "label_events", "estimates", "effects", "round_events")
    }

    scene.run()
    scene.run()

    after = {table: scene.rows(f"select count(*) as n from {table}") for table in before}
    assert after == before


def test_windows_follow_one_another_without_hole_or_overlap(scene):
    for number in (1, 2, 3):
        scene.play(number)

    windows = [scene.round(number).window for number in (1, 2, 3)]
    assert windows[0].end == windows[1].start
    assert windows[1].end == windows[2].start


def test_missed_slots_are_recorded_as_skipped_and_the_newest_runs(scene):
    scene.play(1)
    scene.week(4)
    scene.run(4)

    assert [scene.round(n).state for n in (2, 3)] == [RoundState.SKIPPED] * 2
    assert "missed" in scene.round(2).reason
    assert scene.round(4).state is RoundState.LABELING


def test_a_backfill_fills_a_recorded_skip(scene):
    scene.play(1)
    scene.week(2)
    scene.play(3)
    scene.labeler.asks_people = False
    scene.labeler.answers |= scene.truth

    list(run.backfill(scene.context, MONDAY))

    assert scene.round(2).state is RoundState.CLOSED
    assert scene.round(3).version == 2  # it pools round 2 now


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


def test_a_backfill_numbers_rounds_before_the_first_one_downwards(scene):
    scene.week(5)
    scene.run(5)
    scene.week(3)
    scene.week(4)
    scene.labeler.asks_people = False
    scene.labeler.answers |= scene.truth

    list(run.backfill(scene.context, MONDAY + WEEK))

    rounds = scene.rows("select number, slot from rounds order by slot")
    assert [row["number"] for row in rounds] == [-1, 0, 1]


def test_the_deadline_closes_a_round_on_what_came_and_marks_it_partial(scene):
    scene.week(1)
    scene.run(1)
    scene.answer(share=0.5)
    scene.now += timedelta(days=5)
    scene.run()

    found = scene.round(1)
    assert (found.state, found.partial) == (RoundState.CLOSED, True)
    [row] = scene.rows(
        "select low, high, bound_low, bound_high from estimates"
        " where metric = 'precision' and basis = 'round' and estimand = 'window'"
    )
    assert (row["low"], row["high"]) == (row["bound_low"], row["bound_high"])


def test_before_the_deadline_a_round_waits(scene):
    scene.week(1)
    scene.run(1)
    scene.answer(share=0.5)
    scene.now += timedelta(days=4, hours=23)
    scene.run()

    assert scene.round(1).state is RoundState.LABELING


def test_no_label_by_the_deadline_abandons_the_round_and_tells_people(scene):
    scene.week(1)
    scene.run(1)
    scene.now += timedelta(days=5)
    scene.run()

    assert scene.round(1).state is RoundState.ABANDONED
    assert (
        scene.round(1).reason
        == "no flagged item has a label: 0 of 200 answers came by the deadline"
    )
    effects = scene.rows("select kind, sink from effects order by id")
    assert {(row["kind"], row["sink"]) for row in effects} == {
        ("round_run", "mlflow"),
        ("notice", "log"),
    }


def test_a_window_without_predictions_is_abandoned_with_the_reason(database):
    scene = Scene(database, settings(grace=timedelta(0)))
    scene.run(1)

    assert scene.round(1).state is RoundState.ABANDONED
    assert "no predictions from 2025-02-24 06:00 to" in scene.round(1).reason


def test_too_many_bad_rows_abandon_the_round_with_the_reasons_counted(database):
    scene = Scene(database, settings(grace=timedelta(0)))
    scene.week(1)
    for row in scene.source.rows[:40]:
        row["score"] = float("nan")
    scene.run(1)

    assert scene.round(1).state is RoundState.ABANDONED
    assert "40 of 2000 rows cannot be used (40 score NaN)" in scene.round(1).reason


def test_a_few_bad_rows_are_counted_and_left_out(scene):
    scene.week(1)
    for row in scene.source.rows[:7]:
        row["score"] = None
    scene.run(1)

    [issue] = scene.rows("select reason, count, bad from round_issues")
    assert (issue["reason"], issue["count"], bool(issue["bad"])) == ("score missing", 7, True)
    assert scene.round(1).state is RoundState.LABELING


def test_zero_flagged_items_give_no_precision_and_no_crash(scene):
    scene.week(1)
    for row in scene.source.rows:
        row["score"] = min(row["score"], 0.4)
    scene.run(1)
    scene.answer()
    scene.run()

    assert scene.round(1).state is RoundState.CLOSED
    rows = scene.rows("select metric, point, reason from latest_estimates where basis = 'round'")
    precision = next(row for row in rows if row["metric"] == "precision")
    assert precision["point"] is None
    assert "nothing was predicted positive" in precision["reason"]


def test_all_labels_negative_is_an_estimate_like_any_other(scene):
    scene.week(1)
    scene.truth = dict.fromkeys(scene.truth, Answer.NEGATIVE)
    scene.run(1)
    scene.answer()
    scene.run()

    [row] = scene.rows(
        "select point, low, high from latest_estimates"
        " where metric = 'precision' and basis = 'round' and estimand = 'window'"
    )
    assert 0 <= row["low"] <= row["point"] < row["high"] < 0.1


def test_a_window_smaller_than_the_plan_is_labeled_whole(scene):
    scene.week(1, count=120)
    scene.run(1)
    scene.answer()
    scene.run()

    [row] = scene.rows(
        "select low, high from latest_estimates"
        " where metric = 'recall' and basis = 'round' and estimand = 'window'"
    )
    assert row["low"] == row["high"]


def test_answers_that_cannot_tell_are_counted_as_declined(scene):
    scene.week(1)
    scene.run(1)
    scene.answer()
    declined = sorted(scene.labeler.answers)[:20]
    scene.labeler.answers |= dict.fromkeys(declined, Answer.CANNOT_TELL)
    scene.run()

    [matrix] = scene.rows("select declined, unanswered from confusion_matrices")
    assert (matrix["declined"], matrix["unanswered"]) == (20, 0)
    assert scene.round(1).partial


def test_a_late_label_makes_a_new_version_and_keeps_the_old_one(scene):
    scene.play(1)
    [first] = scene.rows("select tp, fp from confusion_matrices where version = 1")
    wrong = next(i for i, a in scene.labeler.answers.items() if a is Answer.POSITIVE)
    flagged = wrong in {row["id"] for row in scene.source.rows if row["score"] >= 0.5}
    scene.labeler.answers[wrong] = Answer.NEGATIVE
    scene.run()

    assert scene.round(1).version == 2
    versions = scene.rows("select version, tp, fp, latest from confusion_matrices order by version")
    assert [row["version"] for row in versions] == [1, 2]
    assert (versions[0]["tp"], versions[0]["fp"]) == (first["tp"], first["fp"])
    assert versions[1]["tp"] == first["tp"] - flagged


def test_a_late_label_renews_every_later_round_that_carries_it(scene):
    for number in (1, 2, 3):
        scene.play(number)
    item = scene.rows(
        "select i.id from items i join rounds r on r.id = i.round_id where r.number = 2 limit 1"
    )[0]["id"]
    was = scene.labeler.answers[item]
    scene.labeler.answers[item] = Answer.NEGATIVE if was is Answer.POSITIVE else Answer.POSITIVE
    scene.run()

    assert [scene.round(n).version for n in (1, 2, 3)] == [1, 2, 2]


def test_labels_that_change_no_count_make_no_version(scene):
    scene.play(1)
    scene.labeler.annotator = "bo"  # a second person says the same about everything
    scene.run()

    assert scene.round(1).version == 1
    assert scene.round(1).label_revision == scene.round(1).estimated_revision == 2


def test_labels_later_than_late_labels_are_not_asked_for(scene):
    scene.settings = settings(late_labels=timedelta(days=10), grace=timedelta(0))
    scene.play(1)
    item = next(iter(scene.labeler.answers))
    scene.labeler.answers[item] = Answer.CANNOT_TELL
    scene.now += timedelta(days=11)
    scene.run()

    assert scene.round(1).version == 1


def test_a_round_that_closes_after_a_later_one_renews_it(scene):
    scene.settings = settings(deadline=timedelta(days=30))
    scene.week(1)
    scene.run(1)
    first = dict(scene.labeler.sent)
    scene.week(2)
    scene.run(2)
    for name in first:
        del scene.labeler.sent[name]
    scene.answer()
    scene.run()
    assert scene.round(2).version == 1
    assert scene.round(1).state is RoundState.LABELING

    scene.labeler.sent = first
    scene.answer()
    scene.run()

    assert (scene.round(1).version, scene.round(2).version) == (1, 2)


def test_the_same_counts_give_the_same_numbers(database, tmp_path):
    first = Scene(database, settings(reference=REFERENCE))
    first.play(1)
    first.play(2)
    wanted = "select metric, estimand, basis, point, low, high from estimates e join rounds r on"
    wanted += " r.id = e.round_id and e.version = r.version where r.number = 2"
    before = first.rows(wanted)

    item = next(iter(first.labeler.answers))
    was = first.labeler.answers[item]
    first.labeler.answers[item] = Answer.CANNOT_TELL
    first.run()
    first.labeler.answers[item] = was
    first.run()

    after = first.rows(wanted)
    assert first.round(2).version == 3
    assert sorted(map(str, after)) == sorted(map(str, before))


def test_a_source_that_is_down_leaves_the_round_open_with_the_reason(scene):
    scene.week(1)
    scene.source.down = True
    with pytest.raises(SourceUnavailable):
        scene.run(1)

    assert scene.round(1).state is RoundState.OPEN
    assert "set to be down" in scene.round(1).reason

    scene.source.down = False
    scene.run()
    assert scene.round(1).state is RoundState.LABELING
    assert scene.round(1).reason is None


def test_a_broken_draw_does_not_keep_an_earlier_round_from_closing(scene):
    scene.week(1)
    scene.run(1)
    scene.answer()
    scene.source.down = True
    with pytest.raises(SourceUnavailable):
        scene.run(2)

    assert scene.round(1).state is RoundState.CLOSED


def test_another_model_version_opens_a_new_history(scene):
    scene.week(1, version="7")
    scene.run(1)
    scene.answer()
    scene.run()
    scene.week(2, version="8")
    scene.run(2)
    scene.answer()
    scene.run()

    versions = scene.rows("select model_version from histories order by id")
    assert [row["model_version"] for row in versions] == ["7", "8"]
    assert scene.round(1).history_id != scene.round(2).history_id


def test_a_window_of_two_versions_watches_the_newest_and_counts_the_other(scene):
    scene.week(1, version="7")
    for row in scene.source.rows[1500:]:
        row["model_version"] = "8"
    scene.run(1)

    issues = scene.rows("select reason, count, bad from round_issues")
    assert [(row["count"], bool(row["bad"])) for row in issues] == [(1500, False)]
    [history] = scene.rows("select model_version from histories")
    assert history["model_version"] == "8"


def test_band_edges_are_frozen_with_the_history(scene):
    scene.settings = settings(sample=Sample(max_labels=200, bands=Bands(flagged=3, passed=5)))
    scene.play(1)
    scene.play(2, precision=0.6)

    with scene.database.read() as connection:
        strata = [
            [part.stratum for part in frame_store.read_strata(connection, scene.round(n).id)]
            for n in (1, 2)
        ]
    assert strata[0] == strata[1]
    assert len(strata[0]) == 8


def test_the_steady_state_needs_one_scan_a_round(scene):
    scene.play(1)
    before = scene.source.scans
    scene.play(2)

    assert scene.source.scans - before == 1


def test_items_without_a_score_get_a_band_of_their_own(scene):
    rows = [
        {
            "id": f"i{n}",
            "time": MONDAY - WEEK + n * timedelta(minutes=5),
            "score": None if n % 10 == 0 else (n % 97) / 97,
            "predicted": n % 20 == 0 or n % 97 > 90,
        }
        for n in range(2000)
    ]
    scene.source = MemorySource(rows)
    scene.settings = settings(
        threshold=None, sample=Sample(max_labels=200, bands=Bands(flagged=2, passed=2))
    )
    scene.run(1)

    sizes = {r["stratum"]: r["size"] for r in scene.rows("select stratum, size from strata")}
    unscored = [bool(row["predicted"]) for row in rows if row["score"] is None]
    assert sizes["flagged-unscored"] == sum(unscored)
    assert sizes["passed-unscored"] == len(unscored) - sum(unscored)
    assert sum(sizes.values()) == 2000


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


def test_a_plan_for_margins_stays_within_the_budget_and_uses_what_rounds_found(scene):
    margin = Margin(precision=0.1, recall=0.15)
    scene.settings = settings(
        sample=Sample(margin=margin, max_labels=1500, bands=Bands(flagged=1, passed=1)),
        reference=REFERENCE,
    )
    scene.play(1, count=20_000)

    planned = scene.rows("select planned from strata where flagged order by position")
    total = scene.rows("select sum(planned) as n from strata")[0]["n"]
    assert total <= 1500
    assert 40 <= planned[0]["planned"] <= 200


def test_settings_are_frozen_when_the_round_opens(scene):
    scene.week(1)
    scene.run(1)
    scene.settings = settings(sample=Sample(max_labels=50, bands=Bands(flagged=1, passed=1)))

    assert scene.round(1).settings.sample.max_labels == 200


def test_stored_labels_outlive_a_labeler_that_forgets_them(scene):
    scene.play(1)
    scene.labeler.answers.clear()
    scene.labeler._given.clear()
    scene.run()

    with scene.database.read() as connection:
        labels = label_store.current_labels(connection, scene.round(1).id)
    assert len(labels) == 200
    assert scene.round(1).version == 1


def test_what_people_were_shown_goes_when_late_labels_end_and_labels_stay(scene):
    scene.settings = settings(late_labels=timedelta(days=10), grace=timedelta(0))
    scene.play(1)
    scene.now += timedelta(days=9)
    scene.run()
    before = scene.rows(
        "select count(*) as n from payloads p join rounds r on r.id = p.round_id where r.number = 1"
    )
    scene.now += timedelta(days=2)
    scene.run()

    after = scene.rows(
        "select count(*) as n from payloads p join rounds r on r.id = p.round_id where r.number = 1"
    )
    assert (before[0]["n"], after[0]["n"]) == (200, 0)
    assert "mail-2025-03-03T0600" not in scene.labeler.sent
    [labels] = scene.rows("select count(*) as n from label_events")
    assert labels["n"] == 200


def test_an_abandoned_round_is_put_away_at_once(scene):
    scene.week(1)
    scene.run(1)
    scene.now += timedelta(days=5)
    scene.run()

    assert scene.round(1).state is RoundState.ABANDONED
    assert scene.rows("select * from payloads") == []
    assert scene.labeler.sent == {}


def answer_few_mistakes(scene, share=0.35):
    """Let people answer a share of the classifier's mistakes, and everything else."""
    scores = {row["id"]: row["score"] for row in scene.source.rows}
    for tasks in scene.labeler.sent.values():
        ids = sorted(task.item_id for task in tasks.values())
        wrong = [i for i in ids if (scores[i] >= 0.5) != (scene.truth[i] is Answer.POSITIVE)]
        kept = set(wrong[: round(share * len(wrong))])
        scene.labeler.answers |= {i: scene.truth[i] for i in ids if i not in wrong or i in kept}


def test_mistakes_without_answers_leave_no_interval_that_excludes_the_truth(scene):
    for number in range(1, 6):
        scene.week(number)
        scene.run(number)
        answer_few_mistakes(scene)
        scene.now += timedelta(days=5)
        scene.run()

    rows = scene.rows(
        "select round, basis, point, low, high from latest_estimates"
        " where metric = 'precision' and estimand = 'rate'"
    )
    assert {row["basis"] for row in rows} == {"round", "pooled"}
    assert all(row["low"] < 0.8 < row["high"] for row in rows)
    assert all(row["point"] > 0.85 for row in rows)


def test_status_says_that_answers_are_missing_until_they_come_late(scene):
    scene.play(1)
    scene.week(2)
    scene.run(2)
    scene.answer(share=0.5)
    scene.now += timedelta(days=5)
    scene.run()
    early = overview(scene.database, scene.context.settings, scene.now)
    scene.answer()
    scene.run()
    late = overview(scene.database, scene.context.settings, scene.now)

    assert (early.status, early.last_partial) == ("attention", True)
    assert early.worst_case is not None
    assert "answers are missing" in early.worst_case
    assert early.concerns[0].startswith("round 2: partial: ")
    assert (late.last_partial, late.worst_case, late.concerns) == (False, None, [])
