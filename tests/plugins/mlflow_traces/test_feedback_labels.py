"""Labels that people gave as feedback on traces."""

from types import SimpleNamespace
from typing import Any

import pytest
from mlflow.entities import AssessmentError, AssessmentSource, Expectation, Feedback
from mlflow.tracing.client import TracingClient
from pydantic import ValidationError

from monitor.domain.errors import LabelsUnavailable, SettingRefused
from monitor.domain.model import Answer, Task
from monitor.plugins.mlflow_traces.adapter import LABELS
from monitor.plugins.mlflow_traces.labels import FeedbackLabeler
from monitor.plugins.mlflow_traces.settings import FeedbackLabels
from monitor.testing import MemorySource
from tests.plugins.mlflow_traces.trace_store import TraceStore, source_of, span, verdict
from tests.rounds.scene import MONDAY, WEEK, Scene, settings

TOXIC = FeedbackLabels(name="toxic")


@pytest.fixture
def store(tmp_path):
    return TraceStore(tmp_path)


def said(value, *, name="toxic", source="HUMAN", at=1000, **more):
    return verdict(name, value, source=source, at=at, **more)


def labeler_of(store):
    return FeedbackLabeler(TOXIC, source_of(store).reader)


def collect(store, *items):
    tasks = {item: Task(key=item, item_id=item, shown={}) for item in items}
    return labeler_of(store).collect(tasks, None)


def answers(collected):
    return {event.task_key: event.answer for event in collected.events}


def test_what_people_say_is_a_label_in_every_spelling_of_yes_and_no(store):
    for number, value in enumerate([True, "No", 1, "cannot tell"]):
        store.add(f"tr-{number}", MONDAY, assessments=[said(value)])
    store.add("tr-silent", MONDAY)

    collected = collect(store, "tr-0", "tr-1", "tr-2", "tr-3", "tr-silent")

    assert answers(collected) == {
        "tr-0": Answer.POSITIVE,
        "tr-1": Answer.NEGATIVE,
        "tr-2": Answer.POSITIVE,
        "tr-3": Answer.CANNOT_TELL,
    }
    assert "tr-silent" in collected.complete


def test_judges_other_names_and_overridden_values_are_no_labels(store):
    others = [said(True, source="LLM_JUDGE"), said(True, name="rude"), said(True, valid=False)]
    store.add("tr-1", MONDAY, assessments=others)

    assert answers(collect(store, "tr-1")) == {}


def test_feedback_with_an_error_is_no_label(store):
    store.add("tr-1", MONDAY, assessments=[said(True)])
    source = AssessmentSource(source_type="HUMAN", source_id="someone")
    failed = Feedback(name="toxic", error=AssessmentError("NO_PAGE"), source=source)
    TracingClient(store.uri).log_assessment("tr-1", failed)

    collected = collect(store, "tr-1")

    assert answers(collected) == {"tr-1": Answer.POSITIVE}
    assert collected.refused == ()


def test_the_newest_value_of_a_person_counts_and_one_that_is_no_answer_is_refused(store):
    store.add("tr-1", MONDAY, assessments=[said(True, at=1000), said(False, at=2000)])
    store.add("tr-2", MONDAY, assessments=[said("very")])

    collected = collect(store, "tr-1", "tr-2")

    assert answers(collected) == {"tr-1": Answer.NEGATIVE}
    [refusal] = collected.refused
    assert "tr-2, someone: label 'very' is not known" in str(refusal)


def test_a_span_has_the_feedback_on_itself_only(store):
    store.add(
        "tr-1",
        MONDAY,
        spans=[span(id_="a" * 16), span("toxicity", id_="b" * 16, parent="a" * 16)],
        assessments=[said(True), said(False, span_id="b" * 16)],
    )

    found = collect(store, f"tr-1/{'b' * 16}", f"tr-1/{'c' * 16}")

    assert answers(found) == {f"tr-1/{'b' * 16}": Answer.NEGATIVE}


def scene_of(database, store, has_feedback):
    """Return a monitor of 40 traces, of which the 10 flagged are right."""
    for number in range(40):
        score = 0.9 if number % 4 == 0 else 0.1
        root = span(inputs={"text": "hello"}, outputs={"score": score})
        at = MONDAY - WEEK * (number + 1) / 50
        given = [said(number % 4 == 0)] if has_feedback(number) else []
        store.add(f"tr-{number:02}", at, spans=[root], assessments=given)
    scene = Scene(database, settings(labels=20), source=source_of(store))
    scene.labeler = labeler_of(store)
    return scene


def test_a_round_of_feedback_closes_without_waiting_for_people(database, store):
    scene = scene_of(database, store, lambda _: True)

    scene.run(1)
    scene.run()

    round_ = scene.round(1)
    assert round_.state == "closed"
    assert scene.estimates(1)["precision", "round", "rate"].point == 1


def test_items_without_feedback_may_be_anything(database, store):
    scene = scene_of(database, store, lambda number: number % 8 < 3)

    scene.run(1)
    scene.run(later=scene.settings.deadline)

    precision = scene.estimates(1)["precision", "round", "window"]
    assert scene.round(1).state == "closed"
    assert (precision.low, precision.point, precision.high) == (0.5, 1, 1)


def test_a_second_person_cannot_be_asked():
    with pytest.raises(ValidationError, match="overlap: nobody is asked"):
        FeedbackLabels(name="toxic", overlap=0.2)


def test_another_source_is_refused_with_what_to_do():
    site: Any = SimpleNamespace(source=MemorySource([], threshold=0.5, show=["text"]))

    with pytest.raises(SettingRefused, match=r"source\.kind must be mlflow_traces"):
        LABELS.make(TOXIC, site)


def test_a_name_that_no_trace_has_is_described_with_those_that_exist(store):
    given = [said(True, name="toxics"), said(True, name="toxi", source="LLM_JUDGE")]
    store.add("tr-1", MONDAY, assessments=given)

    usable = labeler_of(store).usable()

    assert usable.text.startswith("feedback 'toxic' of people in experiment")
    assert usable.concerns == (
        "people gave no feedback 'toxic' on the newest 1 trace; is labeling.name right? There are "
        "toxics; did you mean toxics?",
    )


def test_an_expectation_of_that_name_is_no_feedback(store):
    store.add("tr-1", MONDAY)
    source = AssessmentSource(source_type="HUMAN", source_id="someone")
    expected = Expectation(name="toxic", value=True, source=source)
    TracingClient(store.uri).log_assessment("tr-1", expected)

    [concern] = labeler_of(store).usable().concerns
    assert concern.endswith("labeling.name right? There are none")
    assert answers(collect(store, "tr-1")) == {}


def test_where_people_gave_the_feedback_nothing_else_is_said(store):
    store.add("tr-1", MONDAY, assessments=[said(True)])

    assert labeler_of(store).usable().concerns == ()


def test_a_store_that_is_not_there_is_tried_again(tmp_path, store):
    labeler = labeler_of(store)
    store.path.rename(tmp_path / "moved.db")
    store.path.parent.joinpath("mlflow.db").mkdir()

    with pytest.raises(LabelsUnavailable):
        labeler.collect({"t": Task(key="t", item_id="tr-1", shown={})}, None)
