"""One answer of a person settles several classes, in whatever order rounds and answers come."""

from datetime import timedelta
from pathlib import Path

from sqlalchemy import update

from monitor.domain.model import Answer
from monitor.domain.page_answer import ClassChosen
from monitor.domain.settings import Schedule
from monitor.labeling.column import ColumnSettings
from monitor.rounds.labels.collect import forget_item
from monitor.service.pages.labeling.outcome import AnswerOutcome
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.pages import page_store
from monitor.storage.tables import store
from tests.rounds.class_block import CLASSES
from tests.rounds.class_page import ClassPage
from tests.rounds.played import played
from tests.rounds.scene import MONDAY
from tests.truth_files import labeler_of_files

TRAVEL, FINANCE = map(ClassChosen, range(2))
DEADLINE = timedelta(days=5)


@played
def block(database):
    """A block whose first window has predictions."""
    found = ClassPage(database, Path())
    found.week()
    return found


@played
def opened(block):
    """That block, whose rounds are labeled."""
    block.run(number=1)
    return block


class ByColumn(ClassPage):
    """The same block, labeled by a column of truth."""

    def labeler(self, of_round):
        asked = {"path": "truth.csv", "id": "id", "value": "topic", "matures": "0d"}
        settings = ColumnSettings.model_validate({**asked, "positive": [of_round.block.value]})
        return labeler_of_files(settings, self.folder, clock=lambda: self.now)


def shared(block, one="travel", other="finance"):
    """Items that the rounds of two classes have in common."""
    return sorted(block.drawn(one) & block.drawn(other))


def shown(block):
    """Items of which the page still holds what is shown."""
    rows = block.rows("select key from page_tasks where shown is not null")
    return {block.items[row["key"]] for row in rows}


def change(scene, **changes):
    """Let the config say something else, from the next round on."""
    scene.settings = scene.settings.model_copy(update=changes)


def as_wanted(block, items=None):
    """Whether each round has the labels that the truth gives what it drew, and no others."""
    found = {value: block.labels(value) for value in CLASSES}
    return found == {value: block.wanted(value, items) for value in CLASSES}


def test_each_item_is_asked_once_and_each_round_gets_labels_of_what_it_drew(opened):
    block = opened
    items = set().union(*map(block.drawn, CLASSES))
    progress = block.desk().progress("ada")

    said = block.answer()
    block.run()

    assert sorted(said) == sorted(items)
    assert progress.text.startswith(f"{len(items)} to go")
    assert len(items) < sum(len(block.drawn(value)) for value in CLASSES)
    assert as_wanted(block)
    assert block.states() == dict.fromkeys(CLASSES, "closed")


def test_estimates_are_those_of_the_same_truth_in_a_column(block, tmp_path):
    other = Database(f"sqlite:///{tmp_path}/other.db")
    schema.ready(other)
    with block.database.read() as connection, other.write() as written:
        written.execute(update(store).values(id=schema.store_id(connection)))
    column = ByColumn(other, tmp_path)
    column.week()
    truths = "".join(f"{item},{topic}\n" for item, topic in column.truth.items())
    (tmp_path / "truth.csv").write_text(f"id,topic\n{truths}")

    for one in (block, column):
        one.run(number=1)
    block.answer()
    for one in (block, column):
        one.now += timedelta(days=1)
        one.run()

    assert block.estimates() == column.estimates() != []
    assert block.averages() == column.averages() != []
    other.close()


def test_a_round_that_is_drawn_later_has_the_answers_that_are_there(block):
    block.run("travel", number=1)
    first = block.answer()
    block.run("travel")

    block.run("finance", "news")
    assert as_wanted(block, first)
    second = block.answer()
    block.run()

    assert set(first) == block.drawn("travel")
    assert set(first).isdisjoint(second)
    assert as_wanted(block)
    assert block.states() == dict.fromkeys(CLASSES, "closed")


def test_what_only_an_ended_round_asked_leaves_the_page_and_the_rest_stays(block):
    block.run("travel", number=1)
    block.now += timedelta(days=3)
    block.run("finance")
    both = shared(block)

    block.now = MONDAY + DEADLINE
    block.run("travel")  # abandoned, since nobody has answered anything
    said = block.answer()
    block.run()

    assert block.states()["travel"] == "abandoned"
    assert set(said) == block.drawn("finance")
    assert block.labels("travel") == {}
    assert block.labels("finance") == block.wanted("finance")
    assert set(both) <= set(said)
    assert not shown(block) & (block.drawn("travel") - block.drawn("finance"))


def test_an_answer_that_changes_from_class_to_class_changes_both_rounds_also_closed_ones(opened):
    block = opened
    item = shared(block)[0]
    block.truth[item] = "travel"
    block.answer()
    block.run()
    before = block.estimates()

    assert block.record_answer(item, FINANCE) is AnswerOutcome.TAKEN
    block.run()

    assert block.states() == dict.fromkeys(CLASSES, "closed")
    assert (block.labels("travel")[item], block.labels("finance")[item]) == ("0", "1")
    assert block.estimates() != before

    assert block.record_answer(item, None) is AnswerOutcome.TAKEN
    block.run()

    assert item not in {**block.labels("travel"), **block.labels("finance")}


def test_a_late_answer_reaches_the_rounds_that_still_take_labels(database, tmp_path):
    block = ClassPage(database, tmp_path)
    change(block["travel"], late_labels=timedelta(days=10))
    block.week()
    block.run(number=1)
    item = shared(block)[0]
    block.truth[item] = "travel"
    block.answer()
    block.run()

    for value in CLASSES:  # no other round meanwhile
        change(block[value], schedule=Schedule(cron="0 6 1 1 *"))
    block.now += timedelta(days=12)
    block.run()  # what travel showed is let go
    assert item in shown(block)
    assert not shown(block) & (block.drawn("travel") - block.drawn("finance") - block.drawn("news"))
    block.record_answer(item, FINANCE)
    block.run()

    assert block.labels("travel")[item] == "1"
    assert block.labels("finance")[item] == "1"
    only = min(block.drawn("travel") - block.drawn("finance") - block.drawn("news"))
    assert block.record_answer(only, FINANCE) is AnswerOutcome.NOT_OPEN


def test_none_of_these_is_negative_for_all_and_cannot_tell_is_for_none(opened):
    block = opened
    items = sorted(set.intersection(*map(block.drawn, CLASSES)))
    block.truth[items[0]], block.truth[items[1]] = "other", None
    for answer in (Answer.POSITIVE, ClassChosen(3)):  # are not offered
        assert block.record_answer(items[0], answer) is AnswerOutcome.NOT_REQUESTED

    block.answer()
    block.run()

    assert [block.labels(value)[items[0]] for value in CLASSES] == ["0"] * 3
    assert [block.labels(value)[items[1]] for value in CLASSES] == ["cannot tell"] * 3


def test_two_people_share_the_items_and_differ_only_about_second_copies(database, tmp_path):
    block = ClassPage(database, tmp_path, overlap=0.3)
    block.week()
    block.run(number=1)
    desk = block.desk()

    ada, bob = desk.screen("ada").tasks, desk.screen("bob").tasks
    assert not {task.key for task in ada} & {task.key for task in bob}
    copies = block.rows("select item from page_tasks group by item having count(*) > 1")
    for _ in range(12):
        for who in ("ada", "bob"):
            block.answer(who, at_most=5, desk=desk)
    block.run()

    assert copies
    assert desk.screen("ada").tasks == desk.screen("bob").tasks == ()
    for value in CLASSES:
        both = {**block.labels(value, "ada"), **block.labels(value, "bob")}
        assert both == block.wanted(value)
    assert block.states() == dict.fromkeys(CLASSES, "closed")


def test_an_item_that_is_forgotten_shows_as_long_as_one_round_may_show_it(opened):
    block = opened
    item = shared(block)[0]
    drew = [value for value in CLASSES if item in block.drawn(value)]

    for value in drew:
        assert item in shown(block)
        scene = block[value]
        labelers = (scene.context.labeler,)
        forget_item(block.database, scene.round(1), item, labelers, lambda: block.now)

    assert item not in shown(block)
    block.run()
    assert item not in shown(block)
    assert len(shown(block)) == len(set(block.items.values())) - 1


def test_a_round_of_other_classes_asks_for_itself(database, tmp_path):
    block = ClassPage(database, tmp_path)
    block.week()
    block.run("travel", number=1)
    for value in ("finance", "news"):
        others = block[value].settings.block.model_copy(update={"values": (*CLASSES, "sport")})
        change(block[value], block=others)
    block.run("finance", "news")

    with block.database.read() as connection:
        names = block.desk().accepting(connection).values()
        asked = page_store.read_rounds(connection, set(names))
    block.answer()
    block.run()

    assert {one.choices for one in asked} == {CLASSES, (*CLASSES, "sport")}
    assert as_wanted(block)
