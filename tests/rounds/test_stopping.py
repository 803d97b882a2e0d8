"""A round ends once its margins hold: by its first answers in the page's order, and for good."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from monitor.cli.views.rounds_page import round_json, say_rounds
from monitor.cli.views.status_page import say_overview
from monitor.domain.errors import StoreUnavailable
from monitor.domain.labels import Statement
from monitor.domain.model import Answer, LabelKind
from monitor.domain.sample_settings import Cells, Margin, Sample
from monitor.domain.settings import Limits, MonitorSettings
from monitor.domain.state import RoundState
from monitor.rounds import publish
from monitor.rounds.listing import listed
from monitor.rounds.stopping import enough
from monitor.service.pages.labeling.desk import Desk
from monitor.service.pages.labeling.outcome import Outcome
from monitor.stats.core.counts import Counts
from monitor.stats.estimation.posterior import estimates
from monitor.stats.estimation.stopping import looks
from monitor.storage import label_store, page_store
from monitor.storage.fleet_store import read_fleet
from monitor.storage.listed_rounds import Asked
from monitor.storage.many_rounds import read_progress
from monitor.storage.past_store import read_past
from monitor.storage.round_labels import read_labels
from tests.rounds.scene import overview
from tests.service.pages.people import hand
from tests.service.pages.stops import drawn, scene_of, stopping

MARGIN = 0.12


@pytest.fixture
def scene(database, tmp_path):
    return drawn(database, tmp_path)


def in_order(scene):
    """Key and item of each task, as the page hands them out."""
    query = "select p.key, t.item_id, i.stratum from page_tasks p join tasks t on t.key = p.key"
    return scene.rows(f"{query} join items i on i.id = t.item_id order by p.place")


def say(scene, key, answer, *, name="ada", revision=0):
    desk = Desk(scene.database, lambda: scene.now, lambda: [scene.name])
    hand(scene.database, key, name)
    return desk.say(name, key, answer, revision)


def answer(scene, rows):
    for row in rows:
        assert say(scene, row["key"], scene.truth[row["item_id"]]) is Outcome.TAKEN


def counts_at(scene, rows):
    """Count the true answers to these tasks."""
    strata = scene.rows("select stratum, size, flagged from strata order by position")
    mine = [[row for row in rows if row["stratum"] == part["stratum"]] for part in strata]
    return Counts.of_arrays(
        size=[part["size"] for part in strata],
        labeled=[len(part) for part in mine],
        positive=[sum(scene.truth[row["item_id"]] == "1" for row in part) for part in mine],
        is_flagged=[bool(part["flagged"]) for part in strata],
    )


def widths_at(scene, rows):
    """Widths of the window's own estimates by the true answers to these tasks."""
    seed = scene.round(1).sobol_seed
    found = estimates(counts_at(scene, rows), estimands=("window",), seed=seed)
    return [row.high - row.low for row in found if row.high is not None and row.low is not None]


def holds_at(scene, rows):
    counts = counts_at(scene, rows)
    fewest = min(*counts.positive, *(counts.labeled - counts.positive))
    return fewest >= 5 and max(widths_at(scene, rows)) <= 2 * MARGIN


def first_look(scene, rows):
    """The look at which the round is to end."""
    return next(n for n in looks(len(rows)) if holds_at(scene, rows[:n]))


def test_a_round_ends_at_the_first_look_at_which_its_margins_hold(scene):
    rows = in_order(scene)
    end = first_look(scene, rows)
    last = max(n for n in looks(len(rows)) if n < end)
    answer(scene, rows[:last])
    scene.run()
    before = scene.round(1).state

    answer(scene, rows[last:end])
    scene.run()

    closed = scene.round(1)
    assert before is RoundState.LABELING
    assert (closed.state, closed.stopped, closed.partial) == (
        RoundState.CLOSED,
        (end, len(rows)),
        False,
    )
    widths = [
        row["high"] - row["low"]
        for row in scene.rows(
            "select high, low from estimates where metric in ('precision', 'recall')"
            " and estimand = 'window' and basis = 'round' order by metric"
        )
    ]
    assert widths == widths_at(scene, rows[:end])
    [reason] = {row["reason"] for row in scene.rows("select reason from round_events")} - {
        "due",
        f"drew {len(rows)} of 4000 predictions",
    }
    assert reason == f"stopped at {end} of {len(rows)} labels: margins held"


def test_each_stratum_keeps_what_was_answered_of_it_first_in_the_draw(scene):
    rows = in_order(scene)
    end = first_look(scene, rows)
    answer(scene, rows[:end])
    scene.run()

    kept = Counter(row["stratum"] for row in rows[:end])
    planned = {row["stratum"]: row["planned"] for row in scene.rows("select * from strata")}
    first = {
        row["id"]
        for row in scene.rows(
            "select i.id from items i join strata s on s.stratum = i.stratum"
            ' where i."order" < s.planned'
        )
    }
    assert planned == kept
    assert first == {row["item_id"] for row in rows[:end]}
    assert {row["item_id"] for row in scene.rows("select item_id from tasks")} == first
    assert {row["item_id"] for row in scene.rows("select item_id from payloads")} == first


def test_where_answers_come_in_another_order_the_same_first_ones_decide(scene):
    rows = in_order(scene)
    end = first_look(scene, rows)
    answer(scene, rows[end - 1 :: -1][: end - 1])  # all but the first, backwards
    answer(scene, rows[end : end + 9])  # and some that lie behind the end
    scene.run()
    waits = scene.round(1).state

    answer(scene, rows[:1])
    scene.run()

    assert waits is RoundState.LABELING
    assert scene.round(1).stopped == (end, len(rows))
    counted = scene.rows("select sum(labeled) n, sum(positive) y from counts")
    truth = [scene.truth[row["item_id"]] for row in rows[:end]]
    assert counted == [{"n": end, "y": truth.count(Answer.POSITIVE)}]
    assert len(scene.rows("select * from label_events")) == end + 9


def test_whoever_takes_what_the_page_hands_out_answers_nothing_behind_the_end(scene):
    rows = in_order(scene)
    end = first_look(scene, rows)
    truth = {row["key"]: scene.truth[row["item_id"]] for row in rows}
    desk = Desk(scene.database, lambda: scene.now, lambda: [scene.name])

    said = []
    for _ in range(end):
        said.append(desk.screen("ada").tasks[0].key)
        desk.say("ada", said[-1], truth[said[-1]], 0)
    scene.run()

    assert scene.round(1).stopped == (end, len(rows))
    assert said != [row["key"] for row in rows[:end]]  # the order is still ada's own


@pytest.mark.parametrize("taken_back", [False, True], ids=["given", "one taken back"])
def test_a_round_that_stopped_and_is_not_closed_counts_no_answer_behind_its_end(
    scene, monkeypatch, taken_back
):
    rows = in_order(scene)
    end = first_look(scene, rows)
    answer(scene, rows[: end + 9])
    if taken_back:
        say(scene, rows[end + 8]["key"], None, revision=1)
        say(scene, rows[end + 8]["key"], Answer.POSITIVE, revision=2)

    def cut(*_, **__):
        message = "cut"
        raise StoreUnavailable(message)

    with monkeypatch.context() as patch:
        patch.setattr(publish, "close", cut)
        with pytest.raises(StoreUnavailable):
            scene.run()

    assert scene.round(1).stopped == (end, len(rows))
    assert scene.round(1).state is RoundState.LABELING
    with scene.database.read() as connection:
        progress = read_progress(connection, [1])[1]
        labeling = read_fleet(connection, scene.now).labeling[scene.name]
    assert (progress.wanted, progress.answered) == (end, end)
    assert (labeling.wanted, labeling.received) == (end, end)


def test_what_was_withdrawn_takes_no_answer_and_what_was_kept_does(scene):
    rows = in_order(scene)
    end = first_look(scene, rows)
    answer(scene, rows[:end])
    scene.run()
    kept, gone = rows[0], rows[end]
    other = Answer.NEGATIVE if scene.truth[kept["item_id"]] is Answer.POSITIVE else Answer.POSITIVE

    refused = say(scene, gone["key"], Answer.POSITIVE)
    taken = say(scene, kept["key"], other, revision=1)
    scene.now += timedelta(minutes=1)
    scene.run()

    assert (refused, taken) == (Outcome.NOT_OPEN, Outcome.TAKEN)
    again = scene.round(1)
    assert (again.version, again.stopped) == (2, (end, len(rows)))
    counts = scene.rows("select version, sum(labeled) n, sum(positive) y from counts group by 1")
    assert [row["n"] for row in counts] == [end, end]
    assert abs(counts[0]["y"] - counts[1]["y"]) == 1


def test_a_cannot_tell_is_an_answer_that_is_no_label(scene):
    rows = in_order(scene)
    say(scene, rows[0]["key"], Answer.CANNOT_TELL)
    answer(scene, rows[1:])
    scene.run()

    closed = scene.round(1)
    assert closed.stopped is not None
    [counted] = scene.rows("select sum(labeled) n, sum(declined) d from counts")
    assert (counted["d"], counted["n"]) == (1, closed.stopped.kept - 1)


def test_an_answer_that_is_taken_back_is_waited_for(scene):
    rows = in_order(scene)
    end = first_look(scene, rows)
    answer(scene, rows[:end])
    say(scene, rows[3]["key"], None, revision=1)
    scene.run()

    assert scene.round(1).state is RoundState.LABELING


@pytest.mark.parametrize(
    "changes",
    [
        {"limits": Limits.model_validate({"precision": 0.5})},
        {"overlap": 0.2},
        {"planned": {"flagged": 60, "passed": 120}},
        {"sample": stopping(stop=None)},
    ],
    ids=["limits", "overlap", "done again", "not asked"],
)
def test_no_other_round_ends_before_its_plan_is_answered(database, tmp_path, changes):
    scene = drawn(database, tmp_path, **changes)
    for row in in_order(scene)[:-1]:
        truth = scene.truth[row["item_id"]]
        if say(scene, row["key"], truth) is Outcome.NOT_YOURS:  # the second copy
            say(scene, row["key"], truth, name="bob")
    scene.run()

    assert scene.round(1).state is RoundState.LABELING
    assert scene.round(1).stopped is None


def test_a_class_that_hardly_showed_a_positive_ends_no_round(scene):
    rows = in_order(scene)
    passed = [row["item_id"] for row in rows if row["stratum"] == "passed"]
    wide = stopping(margin=Margin(precision=0.3, recall=0.49))
    settings = scene.round(1).settings.model_copy(update={"sample": wide})
    round_ = replace(scene.round(1), settings=settings)
    half = {row["item_id"]: Answer(str(place % 2)) for place, row in enumerate(rows)}

    four, five = (
        half | {item: Answer(str(int(place < ones))) for place, item in enumerate(passed)}
        for ones in (4, 5)
    )

    ordered, labels = with_answers(scene, four)
    assert enough(ordered, labels, round_) is None
    ordered, labels = with_answers(scene, five)
    assert enough(ordered, labels, round_) is not None


def with_answers(scene, answers):
    """The tasks of the round in the order of the page, and its labels as if these were given."""
    round_ = scene.round(1)
    with scene.database.read() as connection:
        labels = read_labels(connection, round_)
        tasks = label_store.all_tasks(connection, [round_.id])
        order = page_store.read_page_tasks(connection, [round_.name])
    said = {
        item: [Statement(scene.now, "ada", LabelKind.GIVEN, answer)]
        for item, answer in answers.items()
    }
    return [tasks[task.key] for task in order], replace(labels, said=said)


def test_tasks_in_an_order_of_their_own_end_no_round(scene):
    truth = {row["item_id"]: scene.truth[row["item_id"]] for row in in_order(scene)}

    ordered, labels = with_answers(scene, truth)
    by_key = sorted(ordered, key=lambda task: task.key)

    assert enough(ordered, labels, scene.round(1)) is not None
    assert enough(by_key, labels, scene.round(1)) is None


def test_a_round_over_score_cells_stops_from_the_second_of_its_history_on(database, tmp_path):
    cells = Sample(
        margin=Margin(precision=0.12, recall=0.12),
        max_labels=600,
        cells=Cells(flagged=3, passed=6),
        stop="margin",
    )
    scene = scene_of(database, tmp_path, sample=cells, reference=None)
    scene.run(1)
    answer(scene, in_order(scene))
    scene.run()  # the second wave goes out
    answer(scene, [row for row in in_order(scene) if row["key"] not in answered_keys(scene)])
    scene.run()
    first = scene.round(1)

    scene.week(2, count=4000, precision=0.85, recall=0.8, share=0.25)
    scene.run(2)
    mine = [row for row in in_order(scene) if row["key"] not in answered_keys(scene)]
    answer(scene, mine)
    scene.run()
    second = scene.round(2)

    assert (first.state, first.stopped) == (RoundState.CLOSED, None)
    assert second.state is RoundState.CLOSED
    assert second.stopped is not None
    assert second.stopped.planned == len(mine) > second.stopped.kept
    kept = Counter(row["stratum"] for row in mine[: second.stopped.kept])
    planned = scene.rows("select stratum, planned from strata where round_id = 2 and planned > 0")
    assert {row["stratum"]: row["planned"] for row in planned} == kept
    assert len(kept) == 9


def answered_keys(scene):
    return {row["task_key"] for row in scene.rows("select task_key from page_answers")}


def test_the_rounds_after_a_stop_pool_what_it_kept_and_the_lists_say_so(scene, capsys):
    rows = in_order(scene)
    end = first_look(scene, rows)
    answer(scene, rows)
    scene.run()
    with scene.database.read() as connection:
        past = read_past(
            connection, scene.round(1).history_id, before=scene.now + timedelta(days=9)
        )
        listed_ = listed(connection, Asked())
    monitor = MonitorSettings(name=scene.name, round=scene.settings)

    say_rounds(listed_)
    say_overview(overview(scene.database, monitor, scene.now))

    said = " ".join(capsys.readouterr().out.split())
    assert int(past[0].counts.labeled.sum()) == end
    assert said.count(f"stopped at {end} of {len(rows)} labels: margins held") == 2
    assert round_json(listed_.rows[0])["stopped"] == {"kept": end, "planned": len(rows)}
