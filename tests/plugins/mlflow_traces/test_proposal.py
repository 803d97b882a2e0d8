"""`pr-monitor init --experiment` proposes a config, or asks with a command to copy."""

import re
import shlex
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
import structlog
import yaml
from typer.testing import CliRunner

from monitor.cli.app import app
from monitor.config.load import load_config
from monitor.domain.errors import InputRefused
from monitor.plugins.mlflow_traces.proposal import propose
from tests.plugins.mlflow_traces.trace_store import NAME, TraceStore, span, verdict
from tests.sources.prediction_files import WEEK

MINUTE = timedelta(minutes=1)


@pytest.fixture
def store(tmp_path):
    return TraceStore(tmp_path)


def fill(store, outputs_of, *, name="toxicity", verdicts=("yes", "no"), **more):
    """Twenty chats with a guard each, whose outputs a function of their number gives."""
    for number in range(20):
        root = span("chat", id_="a" * 16, inputs={"q": f"q {number}"}, outputs={"answer": "hi"})
        inputs = {"text": f"message {number}"}
        guard = span(name, parent="a" * 16, inputs=inputs, outputs=outputs_of(number), **more)
        given = [verdict("judge", verdicts[number % 2])]
        time = WEEK.start + number * MINUTE
        store.add(f"tr-{number:02}", time, spans=[root, guard], assessments=given)


def proposed(store, **chosen):
    proposal = propose(NAME, Path(), store.uri, chosen)
    return yaml.safe_load("\n".join(["monitors:", f"  - name: {proposal.name}", *proposal.source]))


def source(store, **chosen):
    return proposed(store, **chosen)["monitors"][0]["source"]


def question(store, **chosen):
    with pytest.raises(InputRefused) as caught:
        propose(NAME, Path(), store.uri, chosen)
    return str(caught.value)


def test_the_only_decision_its_score_and_its_judge_are_recognized(store):
    fill(store, lambda number: {"flagged": number % 5 == 0, "score": number / 20})

    [monitor] = proposed(store)["monitors"]

    assert monitor == {
        "name": "toxicity",
        "source": {
            "kind": "mlflow_traces",
            "experiment": NAME,
            "span": "toxicity",
            "columns": {
                "predicted": "outputs.flagged",
                "score": "outputs.score",
                "show": ["inputs.text"],
            },
        },
        "judge": {"assessment": "judge", "positive": "yes"},
    }


@pytest.mark.parametrize(
    ("outputs_of", "positive", "negative"),
    [
        (lambda n: {"passed": n % 5 > 0}, False, None),
        (lambda n: {"is_safe": n % 5 > 0}, False, None),
        (lambda n: {"is_invalid": n % 5 > 0}, True, None),
        (lambda n: {"not_allowed": n % 5 > 0}, True, None),
        (lambda n: {"is_spam": int(n % 5 == 0), "retries": n % 2}, "1", None),
        (lambda n: {"passed": int(n % 5 == 0), "retries": n % 2}, "0", None),
        (lambda _: {"flagged": 0}, "1", None),
        (lambda n: {"is_safe": "no" if n % 5 == 0 else "yes"}, "no", None),
        (lambda n: {"decision": ("block", "allow")[n % 2]}, "block", ["allow"]),
        (lambda n: {"decision": ("No", "Yes")[n % 2]}, "Yes", ["No"]),
    ],
)
def test_a_decision_and_its_flagged_class_are_recognized_by_their_names(
    store, outputs_of, positive, negative
):
    fill(store, outputs_of)
    [name, *_] = outputs_of(0)

    found = source(store)

    assert found["columns"]["predicted"] == f"outputs.{name}"
    assert repr(found.get("positive", True)) == repr(positive)
    if negative:
        assert found["negative"] == negative


def test_the_question_denies_a_name_of_what_is_right(store):
    fill(store, lambda number: {"is_safe": "no" if number % 5 == 0 else "yes"})

    assert propose(NAME, Path(), store.uri, {}).question == "Is this really not safe?"


@pytest.mark.parametrize("name", ["null", "Off", "a: b # c", "bot\u2028\x85 ${HOME}"])
def test_every_name_of_an_experiment_stays_as_it_is(store, name):
    fill(store, lambda number: {"flagged": number % 5 == 0})
    with sqlite3.connect(store.path) as connection:
        connection.execute("update experiments set name = ? where experiment_id = 1", [name])

    lines = propose(name, Path(), store.uri, {}).source

    written = yaml.safe_load("\n".join(["-", *lines]))[0]["source"]["experiment"]
    assert written == name.replace("${", "$${")


def test_words_that_tell_nothing_are_asked_for_with_a_command_that_works(store):
    fill(store, lambda number: {"decision": "rare" if number == 3 else "usual"})

    text = question(store)

    assert "It has 'usual', 'rare'" in text
    assert text.endswith("--predicted outputs.decision --positive rare")
    assert source(store, predicted="outputs.decision", positive="rare")["positive"] == "rare"


def test_of_several_decisions_one_is_asked_for_with_a_command_to_copy(store):
    fill(store, lambda number: {"flagged": number % 5 == 0, "is_spam": number % 7 == 0})

    text = question(store)

    assert "span 'toxicity': outputs.flagged (false or true), outputs.is_spam" in text
    command = shlex.split(text.rpartition("such as: ")[2])
    assert command[-4:] == ["--span", "toxicity", "--predicted", "outputs.flagged"]


def test_an_experiment_without_traces_is_refused(store):
    assert "has no traces yet" in question(store)


def test_the_path_that_no_item_has_is_named(store):
    fill(store, lambda number: {"flagged": number % 5 == 0, "score": number / 20})

    text = question(store, predicted="outputs.flagged", score="outputs.scor")

    assert text.startswith("no item has outputs.scor.")
    assert text.endswith("did you mean outputs.score?")


@pytest.mark.parametrize("more", [{}, {"predicted": "outputs.flagged", "score": "outputs.score"}])
def test_a_threshold_that_cannot_decide_is_refused(store, more):
    fill(store, lambda number: {"flagged": number % 5 == 0, "score": number / 20})

    assert "--threshold is for --score" in question(store, threshold="0.5", **more)


def test_a_span_that_no_trace_has_is_refused(store):
    fill(store, lambda number: {"flagged": number % 5 == 0})

    assert "did you mean toxicity?" in question(store, span="toxic")


def run(*words):
    result = CliRunner().invoke(app, ["init", *words])
    structlog.reset_defaults()  # the log was bound to this command's standard error
    return result


def test_init_writes_a_config_that_loads(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fill(store, lambda number: {"flagged": number % 5 == 0})

    result = run("--experiment", NAME, "--tracking-uri", "sqlite:///mlflow.db")

    assert result.exit_code == 0, result.output
    [monitor] = load_config(Path("config.yaml")).monitors
    assert monitor.source.tracking_uri == "sqlite:///mlflow.db"
    assert monitor.labeling.question == "Is this really flagged?"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ((), "name PREDICTIONS, or an experiment of MLflow by --experiment"),
        (("--experiment", NAME, "--id", "x"), "--id is for tables"),
        (("p.csv", "--experiment", NAME), "both name predictions"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(tmp_path, monkeypatch, words, answer):
    monkeypatch.chdir(tmp_path)

    result = run(*words)

    assert result.exit_code == 2
    assert answer in re.sub(r"\W*\n\W*", " ", result.output)
