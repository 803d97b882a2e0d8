"""Views and notes are more than the numbers: where MLflow refuses them, nothing else is lost."""

import pytest
from structlog.testing import capture_logs

from monitor.tracking.connection import load_mlflow
from monitor.tracking.runs import TrackedExperiment, add_views, write_note
from monitor.tracking.saved_views import MOST_VIEWS, charts_of, fleet_views

load_mlflow()  # without its telemetry, before anything else imports it

from mlflow import MlflowClient  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402
from mlflow.protos.databricks_pb2 import (  # noqa: E402
    INTERNAL_ERROR,
    INVALID_PARAMETER_VALUE,
    PERMISSION_DENIED,
)


class Client(MlflowClient):
    """Keeps tags of experiments, unless it has an error to raise."""

    def __init__(self, error=None):
        self.error, self.tags = error, {}

    def set_experiment_tag(self, experiment_id, key, value):  # noqa: ARG002  its own name
        if self.error is not None:
            raise self.error
        self.tags[key] = value


def write(client, experiment):
    """Write a description and the views."""
    write_note(client, experiment, "OK")
    add_views(client, experiment, fleet_views())


@pytest.mark.parametrize("code", [INVALID_PARAMETER_VALUE, PERMISSION_DENIED])
def test_what_mlflow_refuses_costs_nothing_else_and_is_tried_with_the_next_round(code):
    experiment = TrackedExperiment("1", {})

    with capture_logs() as logs:
        write(Client(MlflowException("no", code)), experiment)
    write(client := Client(), experiment)

    assert {line["event"] for line in logs} == {"not written in MLflow"}
    assert client.tags == {"mlflow.note.content": "OK", **fleet_views()}


@pytest.mark.parametrize("tags", [{}, {"mlflow.note.content": "OK"}])
def test_what_has_no_answer_is_tried_again_with_its_round(tags):
    down = Client(MlflowException("no answer", INTERNAL_ERROR))

    with pytest.raises(MlflowException, match="no answer"):
        write(down, TrackedExperiment("1", tags))


def test_no_more_views_are_written_than_the_page_offers():
    experiment, client = TrackedExperiment("1", {}), Client()

    for number in range(MOST_VIEWS + 5):
        add_views(client, experiment, fleet_views() | charts_of(f"mail-{number}"))

    assert len(client.tags) == MOST_VIEWS
    assert fleet_views().keys() <= client.tags.keys()
