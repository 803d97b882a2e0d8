"""Where MLflow keeps files is tried by `check`, as a round writes there weeks later."""

import sys

import pytest

from monitor.domain.errors import DeliveryFailed
from monitor.tracking.connection import load_mlflow
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings
from tests.tracking.conftest import handler_for


@pytest.fixture
def local(tmp_path):
    """MLflow in a SQLite file that holds an experiment with a location of the test's own."""

    def local(location):
        load_mlflow()
        handler = MlflowHandler(MlflowSettings(), tmp_path)
        assert handler.check() == []
        client = sys.modules["mlflow"].MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
        client.create_experiment("monitor/mail", location)
        return handler

    return local


def test_a_file_is_written_and_removed_and_the_folder_named(tmp_path):
    handler = MlflowHandler(MlflowSettings(), tmp_path)

    locations = handler.check_files(["mail"])

    folder = tmp_path / "mlartifacts"
    assert locations == [f"file://{folder}/monitor", f"file://{folder}/monitor-mail"]
    assert sorted(path.name for path in folder.rglob("*")) == ["monitor", "monitor-mail"]


def test_a_location_that_cannot_be_written_is_named_with_the_reason(local, tmp_path):
    (tmp_path / "plain").touch()
    handler = local(f"file://{tmp_path}/plain/files")

    with pytest.raises(DeliveryFailed, match=r"cannot be written to .*/plain/files: NotADirectory"):
        handler.check_files(["mail"])


def test_the_package_that_a_store_of_files_needs_is_named(local, monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    handler = local("s3://bucket/files")

    with pytest.raises(DeliveryFailed, match=r"s3://bucket/files: .* needs the package boto3"):
        handler.check_files(["mail"])


def test_a_file_that_may_not_be_removed_is_no_problem(local, tmp_path, monkeypatch):
    handler = local(f"file://{tmp_path}/files")
    repositories = sys.modules["mlflow.store.artifact.local_artifact_repo"]
    monkeypatch.setattr(repositories.LocalArtifactRepository, "delete_artifacts", refuse)

    handler.check_files(["mail"])

    assert [path.name for path in (tmp_path / "files").iterdir()] == ["pr-monitor-check.txt"]


def refuse(*_):
    raise PermissionError


@pytest.mark.server
def test_files_that_go_through_the_server_are_tried_there(mlflow_url, prefix):
    handler = handler_for(mlflow_url, prefix)

    locations = handler.check_files(["mail"])

    assert all(location.startswith("mlflow-artifacts:") for location in locations)
