"""Rounds on the labeling page from their draw to the end of what they showed."""

from datetime import timedelta

import pytest

from monitor.rounds.labels.collect import forget_item
from monitor.rounds.opening.removed_monitors import forget_removed_monitors
from monitor.service.pages.labeling.task_queue import LAST_DAY
from tests.service.pages.test_labeling import answer_all

LATE = timedelta(days=90)


def texts(place):
    """How many tasks of the page still show something."""
    return place.scene.rows("select count(*) as n from page_tasks where shown is not null")[0]["n"]


def let_no_slot_come(place):
    """Let the rest of the year have no round but the one that is there."""
    yearly = place.scene.settings.schedule.model_copy(update={"cron": "0 6 1 1 *"})
    place.scene.settings = place.scene.settings.model_copy(update={"schedule": yearly})


def test_what_the_page_showed_goes_when_the_round_takes_no_more_labels(place, ada):
    answer_all(ada)
    place.scene.run()
    let_no_slot_come(place)
    place.scene.now = place.scene.round(1).closed_at + LATE
    place.scene.run()
    last_day = texts(place)

    place.scene.now += timedelta(seconds=1)
    place.scene.run()

    assert last_day == 12
    assert texts(place) == 0
    assert len(place.said) == 12


def test_late_answers_are_taken_for_as_long_as_a_pass_a_day_later_reads_them(place, ada):
    answer_all(ada)
    place.scene.run()
    let_no_slot_come(place)
    until = place.scene.round(1).labels_until

    place.scene.now = until - LAST_DAY
    ada = place.person("ada")
    undo = ada.page.forms["/label/undo"]
    ada.post("/label/undo")
    place.scene.now = until
    place.scene.run()
    read = list(place.labels().values()).count(None)
    place.scene.run()
    late = place.person("ada").get()

    assert read == 1
    assert late.page.forms["/label/undo"]["task"] == ""
    assert (
        late.client.post("/label/undo", data=undo | {"form_token": late.form_token}).status_code
        == 404
    )


def test_what_the_page_showed_of_a_removed_monitor_goes_in_due_time(place):
    def forget():
        forget_removed_monitors(place.scene.database, ["another"], lambda: place.scene.now)

    forget()
    before = texts(place)
    place.scene.now += timedelta(days=5) + LATE + timedelta(seconds=1)
    forget()

    assert before == 12
    assert texts(place) == 0


@pytest.mark.parametrize("reached", [True, False])
def test_one_item_is_forgotten_on_the_page_too(place, ada, reached):
    [item] = [
        row["item_id"] for row in place.scene.rows("select * from tasks") if row["key"] == ada.task
    ]
    labelers = [place.scene.labeler] if reached else []

    done = forget_item(
        place.scene.database, place.scene.round(1), item, labelers, lambda: place.scene.now
    )

    assert done.deleted
    assert texts(place) == 11
    assert "What this item showed was deleted." in ada.get().page.text
