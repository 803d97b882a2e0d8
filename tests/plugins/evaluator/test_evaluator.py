"""The evaluator in MLflow: what it logs, returns and refuses."""

import json
import shutil
import tomllib
from contextlib import nullcontext
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import monitor
from monitor.domain.errors import InputRefused
from monitor.stats.core.metrics import METRICS
from tests.evaluation.sets import SIZES, drawn_by_class
from tests.workers import python

ROOT = Path(__file__).parents[3]
FILES = {
    "pr_monitor_estimates.json",
    "pr_monitor_strata.json",
    "pr_monitor_report.json",
    "pr_monitor_p3.svg",
    "pr_monitor_curves.svg",
    "pr_monitor_reference.yaml",
}


@pytest.fixture(scope="module")
def expected():
    return monitor.evaluate(drawn_by_class(), predicted="predicted", score="score", sizes=SIZES)


@pytest.fixture(scope="module")
def url(tmp_path_factory, mlflow_tables):
    path = tmp_path_factory.mktemp("evaluations") / "mlflow.db"
    shutil.copy(mlflow_tables, path)
    return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def told(url):
    """What `mlflow_story` was told by MLflow."""
    artifacts = Path(url.removeprefix("sqlite:///")).with_name("artifacts").as_uri()
    story = ("-m", "tests.plugins.evaluator.mlflow_story", url, artifacts)
    done = python(*story, cwd=ROOT, GIT_PYTHON_REFRESH="quiet")
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def client(url, told):
    from mlflow import MlflowClient  # noqa: PLC0415

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", url)  # by which MLflow before 3.7 finds files
        yield MlflowClient(url)


def test_data_a_function_a_logged_model_and_a_data_set_give_the_numbers_of_the_notebook(
    told, expected
):
    for way in ("static", "function", "logged model"):
        ours = {name: told[way]["metrics"][name] for name in expected.metrics}

        assert ours == pytest.approx(expected.metrics, abs=2e-6), way
    assert told["data set"]["metrics"] == pytest.approx(
        {f"later_{name}": value for name, value in expected.metrics.items()}
    )
    assert "later_pr_monitor_report" in told["data set"]["artifacts"]


def test_the_default_evaluator_beside_it_takes_the_set_for_the_traffic(told):
    metrics = told["static"]["metrics"]

    assert metrics["recall_score"] == pytest.approx(0.975, abs=0.001)
    assert metrics["recall/low"] < 0.562 < metrics["recall/high"]


def test_the_run_has_metrics_tags_figures_and_tables(told, client, expected):
    run = client.get_run(told["static"]["run"])

    files = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert files >= FILES
    assert run.data.metrics["recall/point"] == pytest.approx(expected.metrics["recall/point"])
    assert run.data.tags["pr_monitor.drawn"] == expected.drawn
    assert run.data.tags["pr_monitor.recall"].startswith("0.564 (0.4")
    assert run.data.tags["pr_monitor.warnings"] == "none"
    assert json.loads(run.data.tags["mlflow.loggedArtifacts"]) == [
        {"path": "pr_monitor_estimates.json", "type": "table"},
        {"path": "pr_monitor_strata.json", "type": "table"},
    ]


def test_the_description_of_the_run_says_it_in_a_line_unless_somebody_wrote_one(told, client):
    first, second = (
        client.get_run(told[way]["run"]).data.tags["mlflow.note.content"]
        for way in ("asked by its config", "static")
    )

    assert first.startswith("**Recall 0.975 (")
    assert "**Warning:** 1,000 flagged and 1,000 passed items are labeled" in first
    assert "| specificity | 0.876 (" in first
    assert second == "as somebody wrote"


def test_the_result_has_the_artifacts_and_the_tables(told):
    artifacts = told["function"]["artifacts"]

    assert set(artifacts) == {Path(name).stem for name in FILES}
    assert artifacts["pr_monitor_report"] == "JsonEvaluationArtifact"
    assert artifacts["pr_monitor_p3"] == "TextEvaluationArtifact"
    rows = {"pr_monitor_estimates": 2 * len(METRICS), "pr_monitor_strata": 2}
    assert told["logged model"]["tables"] == rows


def test_the_report_and_the_figures_on_the_run_are_those_of_the_notebook(
    told, client, expected, tmp_path
):
    run = told["static"]["run"]

    report, figure, reference = (
        Path(client.download_artifacts(run, f"pr_monitor_{name}", str(tmp_path)))
        for name in ("report.json", "curves.svg", "reference.yaml")
    )

    assert json.loads(report.read_text()) == json.loads(json.dumps(expected.to_dict()))
    assert figure.read_bytes() == expected.plot("curves").svg
    assert "reference: {tp: 28, fp: 5, fn: 22, tn: 978}" in reference.read_text()


def test_it_is_silent_where_nobody_asks_and_runs_where_the_config_does(told, client):
    run = client.get_run(told["silent"]["run"])

    assert "recall_score" in told["silent"]["metrics"]
    assert not [name for name in told["silent"]["metrics"] if "/" in name]
    assert not [tag for tag in run.data.tags if "pr_monitor" in tag]
    assert "recall/point" in told["asked by its config"]["metrics"]
    asked = client.get_run(told["asked by its config"]["run"])
    assert "as many of each, so recall would be" in asked.data.tags["pr_monitor.warnings"]


def test_what_cannot_be_evaluated_is_refused_with_what_to_do(told):
    wanted = [
        "evaluator pr_monitor: model_type is 'regressor'; .* of binary classifiers",
        "there are no predictions; name the column",
        "column 'label': the values 0, 2; a label is 1 or 0",
        "evaluator_config has 'size'; known: random, sizes,",
        "weight names the column 'w', but the data has score",
        r"the model's output has the shape \(2000, 3\)",
        r"metric_prefix is '\.\./val/'; .* letters, digits",
        r"model's output has two columns that are not the probabilities .* row \d+ holds 1\.0 and",
        "evaluator pr_monitor: evaluator_config does not say how the labels were drawn; give one",
    ]

    assert len(told["refused"]) == len(wanted)
    for words, refused in zip(wanted, told["refused"], strict=True):
        with pytest.raises(ValueError, match=words):
            raise ValueError(refused)
        assert refused.endswith("[0 metrics]")


@pytest.mark.parametrize(
    ("rows", "positive"),
    [
        ([[0.25, 0.75], [1.0, 0.0]], [0.75, 0.0]),
        ([[0, 1], [1, 0]], [1, 0]),
        ([[0.3333, 0.6665], [0.5, 0.5]], [0.6665, 0.5]),  # as half precision rounds
        ([[0.25, 0.80], [1.0, 0.0]], None),
        ([[-0.5, 1.5], [1.0, 0.0]], None),
        ([[float("nan"), 0.5], [1.0, 0.0]], None),
        ([["a", "b"], ["c", "d"]], None),
    ],
)
def test_two_columns_are_taken_for_probabilities_only_where_they_can_be(rows, positive):
    from monitor.plugins.evaluator.mlflow_run import _of_positive  # noqa: PLC0415  loads MLflow

    if positive is None:
        with pytest.raises(InputRefused, match=r"it has two columns that are not .* row 0 holds"):
            _of_positive(np.array(rows), "it")
    else:
        assert _of_positive(np.array(rows), "it").tolist() == positive


@pytest.mark.parametrize(
    ("prefix", "fits"),
    [
        *((each, True) for each in (None, "", "validation_", "été 2026-", "a" * 100)),
        *((each, False) for each in (5, False, "a/b", "..", " a", "a" * 101, "a\n", "a:", "a%")),
    ],
)
def test_a_prefix_that_cannot_begin_names_is_refused_at_once(prefix, fits):
    from monitor.plugins.evaluator.mlflow_run import _check_prefix  # noqa: PLC0415  loads MLflow

    with nullcontext() if fits else pytest.raises(InputRefused, match="metric_prefix is "):
        _check_prefix(prefix)


def test_the_entry_point_of_the_package_is_this_evaluator(evaluator):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [(name, place)] = project["entry-points"]["mlflow.model_evaluator"].items()

    found = EntryPoint(name, place, "mlflow.model_evaluator").load()

    assert (name, found) == ("pr_monitor", evaluator)


@pytest.mark.slow
def test_what_mlflow_imports_to_list_its_evaluators_loads_little_of_ours():
    script = (
        "import sys, monitor.plugins.evaluator.plugin\n"
        "print(sorted(name for name in sys.modules if name.startswith('monitor')))"
    )

    done = python("-c", script)

    assert done.stdout.splitlines()[-1] == str(
        [
            *("monitor", "monitor.api"),
            *("monitor.domain", "monitor.domain.errors", "monitor.domain.masking"),  # it raises
            "monitor.plugins",
            "monitor.plugins.evaluator",
            "monitor.plugins.evaluator.design",
            "monitor.plugins.evaluator.plugin",
        ]
    )


@pytest.mark.parametrize("config", [None, {}, {"sizes": None, "random": False}, {"pos_label": 1}])
def test_it_says_no_to_a_config_that_does_not_ask(evaluator, config):
    assert not evaluator.can_evaluate(model_type="classifier", evaluator_config=config)


@pytest.mark.parametrize("setting", ["random", "flagged_rate", "weight", "sizes", "prevalence"])
def test_it_says_yes_to_each_way_of_drawing(evaluator, setting):
    assert evaluator().can_evaluate(model_type="regressor", evaluator_config={setting: 0.5})
