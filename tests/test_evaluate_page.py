"""The page evaluate.md is true: its code prints what it shows, and feeds a monitor."""

import re
from pathlib import Path

import pytest

from monitor.config.load import load_config
from monitor.domain.settings import ReferenceMatrix
from tests.cli.workplace import PEOPLE, Workplace
from tests.coarse import coarsely  # noqa: F401  a fixture
from tests.pages import blocks, page
from tests.workers import python

ROOT = Path(__file__).parents[1]
PAGE = page("evaluate")
BEFORE = """\
import warnings

warnings.simplefilter("ignore")
from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry

from monitor.plugins.evaluator.plugin import PrMonitorEvaluator

_model_evaluation_registry.register("pr_monitor", PrMonitorEvaluator)
"""  # as an installation does
AFTER = """
print(result.artifacts["pr_monitor_reference"].content.splitlines()[-1])
"""


@pytest.mark.slow
@pytest.mark.server
def test_the_pages_code_prints_what_the_page_shows(tmp_path):
    program = "\n".join([BEFORE, *blocks(PAGE, "python"), AFTER])

    done = python("-c", program, cwd=tmp_path)

    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "".join([*blocks(PAGE, "text"), *blocks(PAGE, "yaml")])


def test_the_reference_that_the_page_shows_is_what_a_monitor_plans_by(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [line] = blocks(PAGE, "yaml")
    place = Workplace(tmp_path)
    place.predictions()
    place.config(PEOPLE, reference=("    labeling", f"    {line}    labeling"))

    plan = place.run("plan")

    [monitor] = load_config(tmp_path / "config.yaml").monitors
    assert isinstance(monitor.reference, ReferenceMatrix)
    assert f"reference: {{tp: {monitor.reference.tp}, " in line
    assert "the labeled reference" in plan.out


def test_every_setting_of_the_evaluator_stands_on_the_page():
    source = (ROOT / "monitor/plugins/evaluator/mlflow_run.py").read_text()
    [lists] = re.findall(r"_DRAWN = .*\n_SETTINGS = .*", source)
    names = re.findall(r'"(\w+)"', lists)

    missing = [name for name in names if f"`{name}" not in PAGE and f'"{name}"' not in PAGE]

    assert len(names) == 11
    assert not missing
