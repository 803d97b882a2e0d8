"""Labels of a column after its settings changed: a round goes on by what it was opened with."""

from datetime import timedelta

import pytest

from monitor.rounds import restating, run
from monitor.rounds.restating import RestateRequest
from tests.rounds.test_recounts import FIRST, ITEMS, WEEK, Weeks

BOTH = pytest.mark.parametrize(
    "way", [{"sample": {"max_labels": 40}}, {}], ids=["drawn", "counted whole"]
)


def labeled(weeks, number):
    """Labels and positive ones of a round, as its newest version counts them."""
    return weeks.rows(
        "select sum(c.labeled), sum(c.positive), max(r.version), max(r.partial) from counts c "
        "join rounds r on r.id = c.round_id and r.version = c.version "
        f"where r.number = {number}"
    )


def close_first(weeks, labeling, **way):
    """Let the first round be drawn, and close by these labels."""
    for _ in range(2):
        weeks.play(labeling=labeling, **way)


@pytest.fixture
def weeks(store_folder):
    """Return predictions of three weeks, whose truth has rows for positive items alone."""
    weeks = Weeks(store_folder)
    weeks.truth = {item: label for item, label in weeks.truth.items() if label}
    weeks.write_truth()
    return weeks


@BOTH
def test_a_longer_maturity_withdraws_no_label_of_a_closed_round(weeks, way):
    implied = {"missing_means": "negative"}
    close_first(weeks, implied, **way)
    before = labeled(weeks, 1)

    weeks.write_truth(later=1)
    weeks.play(labeling=implied | {"matures": "30d"}, **way)
    weeks.play(labeling={"missing_means": "unanswered"}, **way)

    assert labeled(weeks, 1) == before
    assert before[0][2:] == (1, 0)


@BOTH
def test_an_open_round_closes_whole_by_the_maturity_that_it_was_opened_with(weeks, way):
    weeks.now = FIRST + WEEK
    weeks.play(labeling={"missing_means": "negative"}, **way)
    assert weeks.rows("select state from rounds") == [("labeling",)]

    weeks.now += timedelta(hours=2)
    weeks.play(labeling={"missing_means": "negative", "matures": "30d"}, **way)

    assert weeks.rows("select state, partial from rounds") == [("closed", 0)]


@BOTH
def test_another_positive_value_is_for_later_rounds(weeks, way):
    weeks.truth = {item: "fraud" if item.endswith("59") else "ok" for item in weeks.truth}
    weeks.write_truth()
    opened = {"positive": "fraud", "negative": "ok"}
    close_first(weeks, opened, **way)
    before = labeled(weeks, 1)

    weeks.write_truth(later="ok")
    weeks.play(labeling={"positive": "ok", "negative": "fraud"}, **way)

    assert labeled(weeks, 1) == before


def test_a_value_without_a_meaning_has_the_one_that_the_config_gives_it_later(weeks):
    weeks.truth = dict.fromkeys([f"0-{n:02}" for n in range(ITEMS)], "no") | {"0-59": "chargeback"}
    weeks.write_truth()
    opened = {"positive": "fraud", "negative": "no"}
    close_first(weeks, opened)
    assert labeled(weeks, 1)[0][:2] == (ITEMS - 1, 0)

    weeks.play(labeling={"positive": ["fraud", "chargeback"], "negative": "no"})

    assert labeled(weeks, 1)[0][:2] == (ITEMS, 1)


@BOTH
def test_a_path_and_column_that_were_renamed_are_read_for_rounds_opened_before(weeks, way):
    implied = {"missing_means": "negative"}
    close_first(weeks, implied, **way)
    [(_, before, *_)] = labeled(weeks, 1)
    rows = [[item, 0] for item in weeks.truth]

    weeks.write("moved.csv", [["item", "is_fraud"], *rows])
    weeks.play(labeling={"path": "moved.csv", "id": "item", "value": "is_fraud"}, **way)

    assert (before > 0, labeled(weeks, 1)[0][1]) == (True, 0)


@BOTH
@pytest.mark.parametrize("implied", ["negative", "unanswered"])
def test_a_truth_without_any_row_of_a_round_takes_none_of_its_labels_back(weeks, way, implied):
    weeks.truth = {f"0-{n:02}": int(n % 3 == 0) for n in range(ITEMS)}
    weeks.write_truth()
    close_first(weeks, {"missing_means": implied}, **way)
    before = labeled(weeks, 1)

    other = [["other", "id", "label"], *([item, f"x{item}", 1] for item in weeks.truth)]
    weeks.write("truth.csv", other)
    weeks.play(labeling={"missing_means": implied}, **way)
    [(number, sentence)] = weeks.concerns()
    lost = labeled(weeks, 1)
    weeks.play(labeling={"missing_means": implied, "id": "other"}, **way)

    assert (lost, before[0][1] > 0) == (before, True)
    assert (number, "no item of the round has a row" in sentence) == (1, True)
    assert "labeling.id" in sentence
    assert labeled(weeks, 1)[0][:3] == (before[0][0], before[0][0], 2)
    assert not any("no item" in text for _, text in weeks.concerns())


@BOTH
@pytest.mark.parametrize(("id_", "expected"), [("other", True), ("id", False)])
def test_a_round_of_which_no_item_has_a_row_says_that_all_are_implied(weeks, way, id_, expected):
    rows = [
        [f"row {n + 500}", item, 1] for n, (item, label) in enumerate(weeks.truth.items()) if label
    ]
    weeks.write("truth.csv", [["other", "id", "label"], *rows])
    labeling = {"missing_means": "negative", "id": id_, "passed_without_rows": "accept"}
    close_first(weeks, labeling, **way)

    assert labeled(weeks, 1)[0][2] == 1
    assert any("none of 60 items" in text for _, text in weeks.concerns()) == expected


LATE = {"late_labels": "1d"}


@BOTH
def test_restate_reads_the_truth_of_final_rounds_by_the_settings_of_today(weeks, way):
    weeks.truth = {f"0-{n:02}": "ok" if n % 3 else "fraud" for n in range(ITEMS)}
    weeks.write_truth()
    opened = LATE | {"positive": "fraud", "negative": "ok"}
    close_first(weeks, opened, **way)
    [(answers, before, *_)] = labeled(weeks, 1)
    weeks.now += timedelta(days=2)

    context = weeks.play(labeling=LATE | {"positive": ["ok", "fraud"], "negative": "no"}, **way)
    assert labeled(weeks, 1)[0][:3] == (answers, before, 1)
    request = RestateRequest(by="ana", why="ok meant fraud", truth=True)
    shown = restating.restate(context, request, dry_run=True)
    assert labeled(weeks, 1)[0][2] == 1
    outcome = restating.restate(context, request)

    assert before < answers
    assert labeled(weeks, 1)[0][:3] == (answers, answers, 2)
    assert [each.labels_changed for each in outcome.restated] == [answers - before]
    assert [each.labels_changed for each in shown.restated] == [answers - before]
    assert restating.restate(context, request).restated == []
    run.run(context)
    assert labeled(weeks, 1)[0][:3] == (answers, answers, 2)


@BOTH
def test_a_restated_round_takes_its_late_labels_as_it_was_restated(weeks, way):
    weeks.truth = {f"0-{n:02}": "ok" if n % 3 else "fraud" for n in range(ITEMS)}
    weeks.write_truth()
    opened = {"positive": "fraud", "negative": "ok"}
    close_first(weeks, opened, **way)
    [(answers, *_)] = labeled(weeks, 1)
    today = {"positive": ["ok", "fraud"], "negative": "no"}
    context = weeks.play(labeling=today, **way)
    request = RestateRequest(by="ana", why="ok meant fraud", truth=True)
    restating.restate(context, request)
    weeks.play(labeling=today, **way)
    assert labeled(weeks, 1)[0][:3] == (answers, answers, 2)

    late = {f"0-{n:02}" for n in range(0, ITEMS, 2)}
    weeks.write_truth(**dict.fromkeys(late, "no"))
    weeks.play(labeling=today, **way)

    drawn = {item for (item,) in weeks.rows("select id from items")} or set(weeks.truth)
    assert labeled(weeks, 1)[0][:3] == (answers, len(drawn - late), 3)


def test_restate_names_a_round_whose_predictions_are_deleted_and_restates_the_others(store_folder):
    weeks = Weeks(store_folder)
    for _ in range(2):
        weeks.play(labeling=LATE)
        weeks.now += WEEK
    weeks.now -= timedelta(days=3)
    context = weeks.play(labeling=LATE)
    [first, second] = weeks.total(1), weeks.total(2)
    (weeks.folder / "predictions" / "0.csv").unlink()
    weeks.write_truth(**{"0-59": 0, "1-59": 0})

    outcome = restating.restate(context, RestateRequest(by="ana", why="wrong", truth=True))

    assert [(each.round, each.labels_changed) for each in outcome.restated] == [(2, 1)]
    assert (weeks.total(1), weeks.total(2)) == (first, second - 1)
    [refusal] = outcome.refused
    assert "keeps its last count of 60 labels" in refusal.reason
