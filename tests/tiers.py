"""Which tests wait for `make test-all` or for `make soak`, and which share a process."""

from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.faults.sizes import SOAK

ROOT = Path(__file__).parents[1]
THOROUGH = "tests/faults/"
"""Of this folder `make test` runs nothing: each feature has tests elsewhere as well."""

SERVERS = {
    "browser",
    "postgres_server",
    "postgres_url",
    "mariadb_server",
    "label_studio",
    "s3_server",
    "spark",
    "deploy_tools",
    "airflow",
    "dagster",
}
"""Fixtures that start, or call, what `make test` does without: servers, engines and a browser."""
ON_BOTH = (
    "tests/deploy/test_move_store.py",
    "tests/faults/test_clock_ahead.py::test_a_claim",
    "tests/faults/test_r10_upgrades.py::test_an_upgrade",
    "tests/faults/test_replicas.py",
    "tests/rounds/delivery/test_deliver.py::test_a_queue",
    "tests/rounds/delivery/test_deliver.py::test_a_sink",
    "tests/rounds/delivery/test_deliver.py::test_of_two",
    "tests/rounds/delivery/test_deliver.py::test_who_dies",
    "tests/rounds/opening/test_redo.py::test_a_round_that",
    "tests/rounds/test_claims.py",
    "tests/rounds/test_classes.py::test_a_state_that_changed",
    "tests/rounds/test_classes.py::test_averages",
    "tests/rounds/test_concurrency.py",
    "tests/rounds/test_one_answer_at_once.py",
    "tests/rounds/test_out_of_order.py::test_an_alert_fires",
    "tests/rounds/test_restating.py::test_changed_labels",
    "tests/rounds/test_restating.py::test_neither",
    "tests/rounds/test_restore.py::test_a_lost_round",
    "tests/rounds/test_restore.py::test_skips",
    "tests/rounds/test_retention.py::test_a_forgotten_item",
    "tests/rounds/test_retention.py::test_an_item",
    "tests/rounds/test_rounds.py",
    "tests/rounds/test_steps_that_kill.py::test_a_delivery",
    "tests/rounds/test_steps_that_kill.py::test_what",
    "tests/service/pages/test_at_once.py",
    "tests/service/pages/test_lives.py::test_late_answers",
    "tests/service/pages/test_together.py::test_the_overview",
    "tests/service/pages/test_together.py::test_what_an_adjudicator",
    "tests/service/test_change_detection.py::test_a_claim",
    "tests/service/test_change_detection.py::test_a_round",
    "tests/service/test_change_detection.py::test_as_many",
    "tests/service/web/test_metrics.py::test_rounds",
    "tests/service/web/test_metrics.py::test_what_waits",
    "tests/storage/",
)
"""What runs on PostgreSQL as well: all that its locks decide, and each kind of statement once.

Only the soak runs the others there.
"""
TOGETHER = {
    "tests/demo/test_demo.py": "demo",
    "tests/cli/test_compare.py": "compare",
    "tests/faults/test_label_studio_kills.py": "label studio",
    "tests/plugins/label_studio/": "label studio",
    "tests/service/pages/test_browser.py": "browser",
    "tests/plugins/spark/": "spark",
    "tests/cli/test_spark_story.py": "spark",
    "tests/cli/test_review_story.py": "mlflow",
    "tests/faults/test_review_kills.py": "mlflow",
    "tests/plugins/mlflow_review/": "mlflow",
    "tests/plugins/mlflow_traces/test_server.py": "mlflow",
    "tests/tracking/": "mlflow",
    "tests/plugins/evaluator/test_evaluator.py": "evaluator",
    "tests/deploy/test_airflow.py": "airflow",
}
"""Where tests share what takes seconds to make: each of these runs in one process."""
FILE_BY_FILE = ("tests/cli/", "tests/rounds/", "tests/storage/")
"""Where each file runs in one process, so that what its tests begin with is played once."""


class Sharing(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Hands out tests one by one, and those that share something to one process.

    The marker `xdist_group` does nothing under pytest 9.2: pytest-xdist 3.8 renames a test for it
    in a way that pytest no longer looks at.
    """

    def _split_scope(self, nodeid: str) -> str:
        groups = (group for place, group in TOGETHER.items() if nodeid.startswith(place))
        file = nodeid.partition("::")[0]
        return next(groups, file if file.startswith(FILE_BY_FILE) else nodeid)


def stores_of(nodeid: str) -> list[Any]:
    """Databases that a test runs on, as parameters `store_kind`."""
    on_both = nodeid.startswith(ON_BOTH)
    marks = [pytest.mark.postgresql] if on_both else [pytest.mark.postgresql, pytest.mark.soak]
    return ["sqlite", pytest.param("postgresql", marks=marks)] if on_both or SOAK else ["sqlite"]


def sort(item: pytest.Item) -> None:
    """Mark a test as `thorough` where it is.

    A single test is marked where it stands, as `slow` or `simulation`.
    """
    names = set(getattr(item, "fixturenames", ()))
    marks = {mark.name for mark in item.iter_markers()}
    if (
        item.nodeid.startswith(THOROUGH)
        or marks & {"simulation", "slow", "postgresql", "mariadb", "soak"}
        or names & SERVERS
    ):
        item.add_marker("thorough")
    if SOAK and item.nodeid.startswith(THOROUGH):
        item.add_marker("soak")


def is_run(item: pytest.Item) -> bool:
    """Leave out what only the soak runs; there is no reason to wait for it otherwise."""
    return SOAK or item.get_closest_marker("soak") is None
