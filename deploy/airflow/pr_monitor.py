"""One pass of pr-monitor every five minutes, as a DAG of Airflow 3; put it into the DAGs folder.

The program has an environment of its own, since Airflow pins other versions of what both use. Where
it is not in `/opt/pr-monitor`, the worker's variables `PR_MONITOR_PROGRAM` and `PR_MONITOR_CONFIG`
say where.

What Airflow shows: 75, something outside is down, is tried again, twice; with 65, 78 and 1, which
trying again does not fix, the task fails at once, and the next run looks anew.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.hooks.subprocess import SubprocessHook
from airflow.sdk import DAG, BaseOperator
from airflow.sdk.exceptions import AirflowFailException

if TYPE_CHECKING:
    from airflow.sdk import Context

TO_FIX = {
    1: "a bug stopped a monitor; the log has the traceback",
    2: "this Airflow file calls the program wrongly",
    65: "predictions or labels cannot be used as they are",
    78: "the config, the schema of the store or a permission has to be fixed",
}
PASSED_ON = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "SSL_CERT_FILE")
"""Of the worker's variables; its `PYTHONPATH` and Airflow's own secrets are no business of ours."""


class RunOnce(BaseOperator):
    """Does all that is due by now, and ends.

    Parameters
    ----------
    program, config
        Paths of the program and of its config on the worker.
    variables
        What the config names as ``${NAME}``, and what MLflow or a store of objects is to know.
    """

    template_fields = ("variables",)

    def __init__(
        self, *, program: str, config: str, variables: dict[str, str], **others: Any
    ) -> None:
        super().__init__(**others)
        self.program = program
        self.config = config
        self.variables = variables
        self._process = SubprocessHook()

    def execute(self, context: Context) -> None:  # noqa: ARG002  Airflow passes it
        """Run the program; its lines are the task's log."""
        passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        code = self._process.run_command(
            [self.program, "run-once", "--config", self.config], env=passed_on | self.variables
        ).exit_code
        if code in TO_FIX:
            message = f"exit code {code}: {TO_FIX[code]}"
            raise AirflowFailException(message)
        if code != 0:  # 75, or killed: neither loses anything
            message = f"exit code {code}: to be tried again"
            raise RuntimeError(message)

    def on_kill(self) -> None:
        """End the program where Airflow ends the task; the next pass goes on from there."""
        self._process.send_sigterm()


with DAG(
    "pr_monitor",
    description="Precision and recall of classifiers, from few labels",
    schedule="*/5 * * * *",  # the config says when rounds are due; a pass with nothing due is cheap
    start_date=datetime(2025, 1, 1, tzinfo=UTC),
    catchup=False,  # a pass does all that is due, so one that was missed needs no run of its own
    max_active_runs=1,
    tags=["monitoring"],
) as dag:
    RunOnce(
        task_id="run_once",
        program=os.environ.get("PR_MONITOR_PROGRAM", "/opt/pr-monitor/bin/pr-monitor"),
        config=os.environ.get("PR_MONITOR_CONFIG", "/etc/pr-monitor/config.yaml"),
        # The config says: store: postgresql+psycopg://monitor:${DB_PASSWORD}@db.example.org/monitor
        variables={"DB_PASSWORD": "{{ conn.pr_monitor_store.password }}"},
        execution_timeout=timedelta(minutes=30),
        retries=2,
        retry_delay=timedelta(minutes=1),
    )
