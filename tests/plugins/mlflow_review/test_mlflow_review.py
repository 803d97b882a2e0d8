"""Labels given in MLflow's review view, at a real MLflow server."""

# ruff: noqa: ARG002  the contract passes more than each way needs

import threading
import traceback
from datetime import UTC, datetime

import pytest

from monitor.domain import crashpoint
from monitor.domain.errors import LabelsRefused, LabelsUnavailable
from monitor.domain.model import Answer, Task
from monitor.plugins.mlflow_review import experiment as mlflow_experiment
from monitor.plugins.mlflow_review import rest as mlflow_rest
from monitor.plugins.mlflow_review import traces
from monitor.plugins.mlflow_review.settings import CANNOT_TELL, ReviewSettings
from monitor.testing import LabelerContract
from tests.plugins.mlflow_review.review_people import QUESTION, V3, View, review_labeler
from tests.tracking.conftest import Stub

pytestmark = pytest.mark.server
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
TASKS = {key: Task(key, f"item-{key}", {"text": f"text of {key}"}) for key in ("aa", "bb", "cc")}
ALL = list(TASKS.values())


@pytest.fixture
def view(mlflow_url):
    """The view of an experiment of the test's own."""
    return View.of_a_new_experiment(mlflow_url)


@pytest.fixture
def labeler_at(database):
    """Make the labeler of a server, and of an experiment there."""

    def made(url, experiment="monitor/mail/labels", **asked):
        return review_labeler(url, experiment, database, lambda: NOW, **asked)

    return made


@pytest.fixture
def labeler(view, labeler_at):
    return labeler_at(view.url, view.name)


class TestMlflowReview(LabelerContract):
    @pytest.fixture(autouse=True)
    def _places(self, database, view):
        self.database, self.view = database, view

    def labeler(self):
        return review_labeler(self.view.url, self.view.name, self.database, lambda: NOW)

    def give(self, labeler, answers):
        for task in self.tasks:
            if task.item_id in answers:
                self.view.answer(task.key, answers[task.item_id])

    def seen_by_people(self, labeler, round_name):
        return self.view.shown()


def test_a_round_is_a_queue_of_two_questions_the_own_one_first(labeler, view):
    labeler.send("r", ALL)

    questions = view.questions("r")
    assert sorted(questions) == sorted([QUESTION, CANNOT_TELL])
    assert next(text for text in view.newest_questions() if text in questions) == QUESTION
    assert set(view.queues()) == {"r"}
    assert len(view.queues()["r"]) == len(ALL)


def test_a_trace_holds_texts_and_keys_and_nothing_else(labeler, view, database):
    labeler.send("r", ALL)

    tags = {
        name: value
        for trace in view.traces().values()
        for name, value in trace["tags"].items()
        if not name.startswith("mlflow.")
    }
    assert set(tags) == {"monitor.round", "monitor.task", "monitor.question"}
    [names] = view.span_attributes("aa")
    assert {name for name in names if not name.startswith("mlflow.traceTag.")} <= {
        "mlflow.spanInputs",
        "mlflow.spanType",
        "mlflow.traceRequestId",
    }


def test_many_tasks_go_in_parts_and_come_back_whole(labeler, view, monkeypatch):
    monkeypatch.setattr(traces, "BATCH", 30)
    monkeypatch.setattr(mlflow_experiment, "PAGE", 30)
    tasks = {f"t{n:03}": Task(f"t{n:03}", f"i{n}", {"text": f"text {n}"}) for n in range(40)}
    sizes: list[int] = []
    posted = mlflow_experiment.ReviewExperiment.post

    def counted(self, spans):
        sizes.append(len(spans))
        posted(self, spans)

    monkeypatch.setattr(mlflow_experiment.ReviewExperiment, "post", counted)

    labeler.send("r", list(tasks.values()))
    for key in ("t000", "t039"):
        view.answer(key, Answer.POSITIVE)
    read = labeler.collect(tasks, None)
    labeler.close("r")

    assert sizes[:2] == [30, 10]
    assert {event.task_key for event in read.events} == {"t000", "t039"}
    assert read.problems == ()
    assert view.traces() == {}
    assert {event.task_key for event in labeler.collect(tasks, None).events} == {"t000", "t039"}


def test_the_order_of_a_queue_is_that_of_hashes(labeler, view):
    tasks = [Task(f"t{n:02}", f"i{n}", {"text": f"text {n}"}) for n in range(40)]

    labeler.send("r", tasks)

    by_trace = {trace["trace_id"]: key for key, trace in view.traces().items()}
    order = [by_trace[item["item_id"]] for item in view.queues()["r"]]
    assert sorted(order) == [task.key for task in tasks]
    assert order not in (sorted(order), sorted(order)[::-1])


def test_a_deleted_answer_is_withdrawn_and_an_edited_one_keeps_its_place(labeler, view):
    labeler.send("r", ALL)
    for key in ("aa", "bb"):
        view.answer(key, Answer.POSITIVE)
    first = labeler.collect(TASKS, None)

    view.take_back("aa")
    edited = view.record_answer("bb", value=False)
    second = labeler.collect(TASKS, first.cursor)

    assert edited == view.assessment("bb", QUESTION, "ada")
    assert [(e.task_key, e.answer) for e in second.events] == [("bb", Answer.NEGATIVE)]
    assert second.complete == TASKS.keys()  # so what is said of `aa` no more is withdrawn


def test_nothing_is_read_anew_until_somebody_says_more(labeler, view):
    labeler.send("r", ALL)
    view.answer("aa", Answer.POSITIVE)
    state, cursor = labeler.state(), labeler.collect(TASKS, None).cursor

    again = labeler.collect(TASKS, cursor)
    same = labeler.state()
    view.answer("bb", Answer.CANNOT_TELL)

    assert (again.was_read, again.cursor) == (False, cursor)
    assert same == state
    assert labeler.state() != state
    assert labeler.collect(TASKS, cursor).was_read


def test_traces_that_somebody_deleted_are_told_and_their_answers_stand(labeler, view):
    labeler.send("r", ALL)
    view.answer("aa", Answer.POSITIVE)
    cursor = labeler.collect(TASKS, None).cursor

    view.delete("aa")
    read = labeler.collect(TASKS, cursor)

    [problem] = read.problems
    assert problem.startswith("1 tasks, such as aa, have no trace in MLflow's experiment")
    assert read.complete == {"bb", "cc"}


def test_a_forgotten_task_is_not_sent_again_and_its_answer_stands(labeler, view):
    labeler.send("r", ALL)
    view.answer("aa", Answer.POSITIVE)
    cursor = labeler.collect(TASKS, None).cursor

    places = labeler.forget("r", ["aa"])
    labeler.send("r", [Task("aa", "item-aa"), TASKS["bb"], TASKS["cc"]])  # of `aa` no text is left

    read = labeler.collect(TASKS, cursor)
    assert places == (labeler.location,)
    assert set(view.traces()) == {"bb", "cc"}
    assert "text of aa" not in view.shown()
    assert [(e.task_key, e.answer) for e in read.events] == [("aa", Answer.POSITIVE)]
    assert read.problems == ()


def test_a_round_keeps_its_question_also_for_tasks_that_come_later(labeler, view, labeler_at):
    labeler.send("r", ALL[:1])
    other = labeler_at(view.url, view.name, question="Is it urgent?")

    other.send("r", ALL)
    other.send("next", [Task("dd", "item-dd", {"text": "text of dd"})])
    view.answer("cc", Answer.POSITIVE)

    assert sorted(view.questions("r")) == sorted([QUESTION, CANNOT_TELL])
    assert sorted(view.questions("next")) == sorted(["Is it urgent?", CANNOT_TELL])
    assert [event.task_key for event in other.collect(TASKS, None).events] == ["cc"]


def test_second_copies_have_a_queue_of_their_own(labeler, view):
    second = Task("dd", "item-aa", {"text": "text of aa"}, slot=2)

    labeler.send("r", [*ALL, second])

    sizes = {name: len(items) for name, items in view.queues().items()}
    assert sizes == {"r": 3, "r second copies": 1}


def test_two_workers_at_once_make_one_queue_and_each_trace_once(view, labeler_at):
    tasks = [Task(f"t{n:02}", f"i{n}", {"text": f"text {n}"}) for n in range(30)]
    failed = []

    def work():
        try:
            labeler_at(view.url, view.name).send("r", tasks)
        except Exception as error:  # noqa: BLE001  it is shown below
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert len(view.queues()["r"]) == len(view.found()) == 30


def test_a_queue_that_another_worker_is_making_is_read_again(labeler, view, monkeypatch):
    labeler.send("r", ALL[:1])
    ask = mlflow_rest.MlflowRest.find
    reads: list[str] = []

    def half_made(calls, path, **params):
        result = ask(calls, path, **params)
        if path.endswith("review-queues/get-by-name") and not reads:
            reads.append(path)
            assert result is not None
            result["review_queue"]["schema_ids"] = []
        return result

    monkeypatch.setattr(mlflow_rest.MlflowRest, "find", half_made)
    labeler.send("r", ALL)

    assert len(reads) == 1
    assert len(view.queues()["r"]) == len(ALL)


def test_no_trace_is_asked_for_by_its_id(labeler, view, monkeypatch):
    """With accounts MLflow refuses such a request unless every one of its traces is there."""
    met: list[str] = []

    with monkeypatch.context() as patch:
        patch.setattr(crashpoint, "hook", met.append)
        labeler.send("r", ALL)
        labeler.collect(TASKS, None)
        labeler.forget("r", ["aa"])
        labeler.collect(TASKS, None)
        labeler.close("r")

    asked = {name.rpartition("/")[2] for name in met if "/mlflow/traces/" in name}
    assert asked == {"search", "delete-traces"}


def test_a_server_that_is_away_is_told_and_loses_nothing(labeler_at):
    gone = labeler_at("http://127.0.0.1:9")

    for act in (
        lambda: gone.send("r", ALL),
        lambda: gone.collect(TASKS, None),
        lambda: gone.close("r"),
        gone.state,
        gone.usable,
    ):
        with pytest.raises(
            LabelsUnavailable, match=r"MLflow at http://127\.0\.0\.1:9 does not answer"
        ):
            act()


@pytest.mark.parametrize(
    ("status", "body", "error", "said"),
    [
        (503, b"{}", LabelsUnavailable, "it answers 503"),
        (429, b"{}", LabelsUnavailable, "it answers 429"),
        (401, b"no", LabelsRefused, "set MLFLOW_TRACKING_USERNAME"),
        (403, b"{}", LabelsRefused, "for a user who may edit there"),
        (404, b"<html>", LabelsRefused, "is it MLflow 3.17.2 or later?"),
        (302, b"", LabelsRefused, "is mlflow.tracking_uri right"),
        (400, b'{"error_code": "X", "message": "no \\u001b[31m"}', LabelsRefused, "no \\x1b[31m"),
    ],
)
def test_each_refusal_of_a_server_has_its_sentence(status, body, error, said, labeler_at):
    with Stub(status, body) as server:
        labeler = labeler_at(server.url)

        with pytest.raises(error) as raised:
            labeler.collect(TASKS, None)

    assert said in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_a_server_that_answers_slowly_is_given_up(labeler_at):
    with Stub(200, b"{}", wait=5) as server:
        slow = labeler_at(server.url, timeout="1s")
        with pytest.raises(LabelsUnavailable, match="does not answer"):
            slow.collect(TASKS, None)


def test_no_credential_is_in_what_a_server_or_a_library_says(monkeypatch, labeler_at):
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "canary-0123")
    said = b'{"error_code": "X", "message": "no user of Bearer canary-0123, use ?sig=canary-4"}'
    with Stub(400, said) as server:
        labeler = labeler_at(server.url)
        with pytest.raises(LabelsRefused, match="no user of Bearer") as refused:
            labeler.collect(TASKS, None)
        texts = [str(refused.value)]
        for unsendable in ("canary\ntoken", "canar\u0142"):
            monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", unsendable)
            with pytest.raises(LabelsUnavailable) as unsent:
                labeler.collect(TASKS, None)
            texts += traceback.format_exception(unsent.value)

    assert not [text for text in texts if "canary" in text or "canar\\" in text]


def test_an_mlflow_in_a_file_is_refused_with_the_way_out(labeler_at):
    labeler = labeler_at("sqlite:///mlflow.db")

    with pytest.raises(LabelsRefused, match=r"needs an MLflow server.*mlflow server --backend"):
        labeler.usable()


def test_a_check_names_the_place_and_makes_nothing(labeler, view):
    assert labeler.usable() == (
        f"MLflow's review view at {view.url}, experiment {view.name}: {QUESTION}"
    )
    assert labeler.collect({}, None).events == ()
    with pytest.raises(Exception, match="404"):
        view.experiment  # noqa: B018


def test_a_second_person_is_refused_where_everybody_has_one_name(view, labeler_at):
    labeler = labeler_at(view.url, view.name, overlap=0.1)

    with pytest.raises(LabelsRefused, match="everybody there is 'default'"):
        labeler.usable()


def test_items_without_anything_to_show_are_refused(labeler):
    with pytest.raises(LabelsRefused, match=r"name columns in source\.columns\.show"):
        labeler.send("r", [Task("aa", "item-aa")])


def test_an_experiment_that_was_deleted_is_told(labeler, view):
    labeler.send("r", ALL)
    view.call("POST", "/api/2.0/mlflow/experiments/delete", experiment_id=view.experiment)

    with pytest.raises(LabelsRefused, match=r"was deleted.*mlflow experiments restore"):
        labeler.collect(TASKS, None)


def test_a_question_that_is_there_in_another_kind_is_refused(labeler, view, labeler_at):
    labeler.send("other", [Task("dd", "item-dd", {"text": "text"})])
    text = {"name": "Is it spam?", "type": "FEEDBACK", "input": {"text": {}}}
    view.call("POST", f"{V3}/label-schemas/create", experiment_id=view.experiment, **text)
    asked = labeler_at(view.url, view.name, question="Is it spam?")

    with pytest.raises(LabelsRefused, match="that yes and no do not answer"):
        asked.send("r", ALL)


@pytest.mark.parametrize("question", ["", " ", "x" * 251, "Feedback", CANNOT_TELL.upper()])
def test_a_question_must_be_there_and_free(question):
    with pytest.raises(ValueError, match="question"):
        ReviewSettings.model_validate({"question": question})
