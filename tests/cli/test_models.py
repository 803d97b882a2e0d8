"""A model that the config names and MLflow does not know: told, and it holds nothing back."""

import shutil

import pytest

from tests.small_config import runs

NOPE = ("    labeling", "    model: models:/nope/7\n    labeling")
SAID = (
    "MLflow shows no model version models:/nope/7 to this user; register it, correct `model` in "
    "the config, or give the user permission READ on it"
)


@pytest.fixture
def nope(place, mlflow_tables):
    """A folder whose MLflow answers and has no models."""
    shutil.copy(mlflow_tables, place.folder / "mlflow.db")
    place.config(mlflow="sqlite:///mlflow.db", model=NOPE)
    return place


def test_rounds_show_in_mlflow_without_it_and_status_says_so_until_the_config_is_corrected(nope):
    checked = nope.run("check")
    ran = nope.run("run-once")
    again = nope.run("run-once")
    [mail] = nope.as_json("status")["monitors"]

    assert f"PROBLEM  model of mail: {SAID}" in checked.lines
    assert (checked.code, ran.code, again.code) == (78, 0, 0)
    assert len(runs(nope.folder, "monitor/mail")) == 1
    assert len(runs(nope.folder, "monitor")) == 1
    assert f"the model is not tagged: {SAID}" in mail["notes"]
    assert mail["waiting"] == []
    nope.config(mlflow="sqlite:///mlflow.db")
    assert "not tagged" not in nope.run("status", "--json").out
