"""Labels given in MLflow's review view, at a real MLflow server."""

# ruff: noqa: ARG002  the contract passes more than each way needs

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from monitor.testing import LabelerContract
from tests.labeling.review_people import View, review_labeler

pytestmark = pytest.mark.server
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def view(mlflow_url):
    """The view of an experiment of the test's own."""
    return View(mlflow_url, f"monitor/mail-{uuid.uuid4().hex[:8]}/labels")


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
