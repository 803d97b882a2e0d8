"""Answers on the labeling page as feedback on the traces."""

import pytest
from mlflow.entities import AssessmentSource, Feedback
from mlflow.tracing.client import TracingClient

from monitor.domain.model import ANSWERS, Answer
from monitor.rounds.answers import store_of_answers
from monitor.rounds.labels.collect import forget_item
from monitor.testing import MemoryLabeler
from tests.plugins.mlflow_traces.feedback_scene import (
    answer_all,
    feedback,
    fill,
    item_of,
    put_back,
    queue_of,
    scene_over,
    value_of,
)
from tests.plugins.mlflow_traces.trace_store import TraceStore, source_of


@pytest.fixture
def store(tmp_path):
    store = TraceStore(tmp_path)
    fill(store)
    return store


@pytest.fixture
def scene(database, store, tmp_path):
    scene = scene_over(database, store, tmp_path)
    scene.run(1)
    return scene


def answered(scene):
    """Let a person answer every task of the round, whose answers go to their traces."""
    keys = answer_all(scene, Answer.POSITIVE)
    close(scene)
    return keys


def close(scene):
    scene.run()
    return put_back(scene)


def forget(scene, item):
    forget_item(
        scene.database,
        scene.round(1),
        item,
        [scene.labeler],
        lambda: scene.now,
        source=scene.source,
    )


def test_each_answer_stands_on_its_trace_once_however_often_it_is_delivered(scene, store):
    keys = answered(scene)

    scene.execute("update effects set status = 'waiting' where sink = 'answers'")
    again = put_back(scene)

    assert again.failed == {}
    assert again.done == {ANSWERS: 1}
    found = feedback(store, history=True)
    assert sorted(found) == sorted(item_of(scene, key) for key in keys)
    assert set(map(tuple, found.values())) == {(("mail", "ada", True),)}


def test_a_correction_overrides_and_one_who_cannot_tell_takes_the_answer_back(scene, store):
    keys = answered(scene)
    corrected, unclear = (item_of(scene, key) for key in keys[:2])

    queue_of(scene).record_answer("ada", keys[0], Answer.NEGATIVE, 1)
    queue_of(scene).record_answer("ada", keys[1], Answer.CANNOT_TELL, 1)
    close(scene)

    current, history = feedback(store), feedback(store, history=True)
    assert current[corrected] == [("mail", "ada", False)]
    assert sorted(value for _, _, value in history[corrected]) == [False, True]
    assert unclear not in history
    assert len(current) == len(keys) - 1


def test_forget_deletes_the_answers_to_an_item_and_keeps_later_ones_away(scene, store):
    keys = answered(scene)
    item = item_of(scene, keys[0])

    forget(scene, item)
    put_back(scene)
    scene.execute("update rounds set label_revision = label_revision + 1")
    close(scene)

    assert item not in feedback(store, history=True)
    assert len(feedback(store)) == len(keys) - 1


def test_an_item_that_was_forgotten_before_its_answer_never_gets_one(scene, store):
    keys = answer_all(scene, Answer.NEGATIVE)
    item = item_of(scene, keys[0])

    forget(scene, item)
    close(scene)

    assert item not in feedback(store, history=True)
    assert len(feedback(store)) == len(keys) - 1


def test_feedback_of_others_stays_as_it_is(scene, store):
    keys = answer_all(scene, Answer.POSITIVE)
    item = item_of(scene, keys[0])
    source = AssessmentSource(source_type="HUMAN", source_id="ada")
    client = TracingClient(store.uri)
    client.log_assessment(item, Feedback(name="mail", value=False, source=source))
    close(scene)
    forget(scene, item)
    put_back(scene)

    [own] = client.get_trace_info(item).assessments
    assert (value_of(own), own.valid) == (False, True)


def test_the_setting_names_the_feedback_or_turns_it_off(database, store, tmp_path):
    scene = scene_over(database, store, tmp_path, answers="toxic")
    scene.run(1)
    answered(scene)

    names = {name for values in feedback(store).values() for name, _, _ in values}
    assert names == {"toxic"}
    off = scene_over(database, store, tmp_path, answers=False)
    assert not off.source.takes_answers


def test_trying_whether_answers_can_be_stored_stores_nothing(scene, store):
    text = scene.source.try_answers("mail")

    assert text == "feedback 'mail' on traces of experiment 'support-bot'"
    assert feedback(store, history=True) == {}


def test_an_experiment_without_traces_cannot_be_tried(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()

    text = source_of(TraceStore(empty), answers="toxic").try_answers("mail")

    assert text == (
        "feedback 'toxic' on traces of experiment 'support-bot'; whether this user may is not "
        "tried, since there is no trace yet"
    )


@pytest.mark.parametrize(("answers", "stores"), [(None, True), (False, False)])
def test_only_answers_of_the_page_are_stored(database, store, tmp_path, answers, stores):
    scene = scene_over(database, store, tmp_path, answers=answers)

    assert (store_of_answers(scene.context) is not None) is stores
    scene.labeler = MemoryLabeler()
    assert store_of_answers(scene.context) is None


def test_answers_that_wait_are_not_written_after_they_are_turned_off(scene, store):
    answer_all(scene, Answer.POSITIVE)
    scene.run()
    scene.source = source_of(store, answers=False)

    delivered = put_back(scene)

    assert delivered.done == {ANSWERS: 1}
    assert feedback(store, history=True) == {}


def test_forget_also_deletes_answers_that_earlier_settings_wrote(scene, store):
    keys = answered(scene)
    scene.source = source_of(store, answers=False)

    forget(scene, item_of(scene, keys[0]))
    put_back(scene)

    assert len(feedback(store, history=True)) == len(keys) - 1
    assert item_of(scene, keys[0]) not in feedback(store, history=True)


def test_feedback_that_somebody_deleted_is_written_with_the_next_answer(scene, store):
    keys = answered(scene)
    client = TracingClient(store.uri)
    for item in (item_of(scene, key) for key in keys):
        [own] = client.get_trace_info(item).assessments
        client.delete_assessment(item, str(own.assessment_id))

    queue_of(scene).record_answer("ada", keys[0], Answer.NEGATIVE, 1)
    close(scene)

    values = {item: value for item, [(_, _, value)] in feedback(store).items()}
    assert values == {item_of(scene, key): key != keys[0] for key in keys}


def test_a_trace_that_was_deleted_meanwhile_holds_up_no_other(scene, store):
    keys = answer_all(scene, Answer.POSITIVE)
    scene.run()
    gone = item_of(scene, keys[0])
    store.delete(gone)

    delivered = put_back(scene)

    assert delivered.failed == {}
    assert scene.rows("select status from effects where sink = 'answers'") == [{"status": "done"}]


def test_spans_get_the_feedback_of_their_own_items(scene, store, tmp_path):
    scene.source.put_answers("mail", "key", {"tr-00/00f067aa0ba902b7": {"ada": True}})

    [one] = TracingClient(store.uri).get_trace_info("tr-00").assessments
    assert (one.span_id, value_of(one)) == ("00f067aa0ba902b7", True)
    assert one.source.source_type == "HUMAN"
