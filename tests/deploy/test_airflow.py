"""The DAG of deploy/airflow, imported and run by a real Airflow in an environment of its own."""

import functools
import json

import pytest

from monitor.domain.errors import EXIT_CONFIG, EXIT_INPUT, EXIT_TRY_LATER, EXIT_USAGE
from tests.deploy.program import DEPLOY, installed, said_by, stand_in

DAG = DEPLOY / "airflow" / "pr_monitor.py"

LOOK = """\
import json, sys, threading, time
sys.path.insert(0, sys.argv[1])
import pr_monitor

def call(config, kill=False):
    task = pr_monitor.RunOnce(
        task_id=f"ends-with-{config}", program=sys.argv[2], config=config, variables={}
    )
    if kill:
        threading.Thread(target=end, args=(task,)).start()
    try:
        task.execute({})
    except Exception as error:
        return [type(error).__name__, str(error)]

def end(task):
    while task._process.sub_process is None:
        time.sleep(0.05)
    task.on_kill()

dag = pr_monitor.dag
[task] = dag.tasks
print("found", json.dumps({
    "dag": [dag.dag_id, dag.catchup, dag.max_active_runs],
    "task": [task.retries, task.execution_timeout.total_seconds()],
    "ends": {code: call(code) for code in sys.argv[3:]},
    "killed": call("sleep", kill=True),
}))
"""


@pytest.fixture(scope="module")
def airflow(tmp_path_factory):
    """Calls a program of Airflow's environment, on a database of its own; returns what it says."""
    home = tmp_path_factory.mktemp("airflow")
    place = installed(".airflow", "airflow", "orchestrators").parent

    own = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAG.parent),
    }
    call = functools.partial(said_by, place, home, **own)
    call("airflow", "db", "migrate")
    return call


def run_dag(airflow, program):
    return airflow(
        "airflow",
        *("dags", "test", "pr_monitor", "--dagfile-path", DAG),
        PR_MONITOR_PROGRAM=str(program.path),
        PR_MONITOR_CONFIG=str(program.config),
        AIRFLOW_CONN_PR_MONITOR_STORE="postgres://monitor:can%40ry@db.example.org/monitor",
    )


def test_a_run_draws_a_round_with_the_connections_password(airflow, program):
    said = run_dag(airflow, program)

    assert "round 1 (due" in said
    assert "is labeling" in said
    assert "state=success" in said
    assert "DB_PASSWORD=can@ry" in program.variables
    assert "can@ry" not in said
    assert [name for name in program.variables if "AIRFLOW" in name or "PYTHON" in name] == []


def test_one_pass_at_a_time_within_its_time_and_again_only_where_that_may_help(airflow, tmp_path):
    once = [str(code) for code in (1, EXIT_USAGE, EXIT_INPUT, EXIT_CONFIG)]

    said = airflow(
        "python", "-c", LOOK, DAG.parent, stand_in(tmp_path), "0", str(EXIT_TRY_LATER), *once
    )

    [line] = [line for line in said.splitlines() if line.startswith("found ")]
    found = json.loads(line.removeprefix("found "))
    assert found["dag"] == ["pr_monitor", False, 1]
    assert found["task"] == [2, 1800]
    assert found["ends"]["0"] is None
    assert found["ends"]["75"] == ["RuntimeError", "exit code 75: to be tried again"]
    assert [found["ends"][code][0] for code in once] == ["AirflowFailException"] * 4
    assert found["killed"] == ["RuntimeError", "exit code -15: to be tried again"]
