"""The job of deploy/dagster, imported and run by a real Dagster in an environment of its own."""

import functools
import json

import pytest

from monitor.domain.errors import EXIT_CONFIG, EXIT_INPUT, EXIT_TRY_LATER, EXIT_USAGE
from tests.deploy.program import DEPLOY, installed, said_by, stand_in

JOB = DEPLOY / "dagster" / "pr_monitor.py"

LOOK = """\
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import dagster as dg
import pr_monitor

program = sys.argv[2]
calls = Path(program + ".calls")

def call(config, timeout=60):
    calls.unlink(missing_ok=True)
    given = pr_monitor.PrMonitor(
        program=program, config=config, db_password="canary", timeout=timeout, wait=0
    )
    done = pr_monitor.pr_monitor_job.execute_in_process(
        resources={"pr_monitor": given}, raise_on_error=False
    )
    return [done.success, len(calls.read_text().splitlines())]

def asked(instance):
    context = dg.build_schedule_context(instance)
    return type(pr_monitor.every_five_minutes(context)).__name__

with dg.DagsterInstance.get() as instance:
    alone = asked(instance)
    instance.create_run_for_job(pr_monitor.pr_monitor_job, status=dg.DagsterRunStatus.STARTED)
    beside = asked(instance)
print("found", json.dumps({
    "alone": alone,
    "beside": beside,
    "ends": {code: call(code) for code in sys.argv[3:]},
    "late": call("sleep", timeout=1),
}))
"""


@pytest.fixture
def dagster(tmp_path):
    """Calls a program of Dagster's environment, with a home of its own; returns what it says."""
    place = installed(".dagster", "dagster", "orchestrators").parent
    home = tmp_path / "dagster"
    home.mkdir()
    own = {"DAGSTER_HOME": str(home), "DAGSTER_DISABLE_TELEMETRY": "1"}
    return functools.partial(said_by, place, home, **own)


def run_job(dagster, program):
    return dagster(
        "dagster",
        *("job", "execute", "--python-file", JOB, "--job", "pr_monitor_job"),
        PR_MONITOR_PROGRAM=str(program.path),
        PR_MONITOR_CONFIG=str(program.config),
        DB_PASSWORD="canary",  # noqa: S106
    )


def test_a_run_of_the_job_draws_a_round(dagster, program):
    said = run_job(dagster, program)

    assert '"state": "labeling"' in said
    assert "RUN_SUCCESS" in said
    assert "DB_PASSWORD=canary" in program.variables
    assert [name for name in program.variables if "DAGSTER" in name or "PYTHON" in name] == []


def test_one_pass_at_a_time_within_its_time_and_again_only_where_that_may_help(dagster, tmp_path):
    once = [str(code) for code in (1, EXIT_USAGE, EXIT_INPUT, EXIT_CONFIG)]

    said = dagster(
        "python", "-c", LOOK, JOB.parent, stand_in(tmp_path), "0", str(EXIT_TRY_LATER), *once
    )

    [line] = [line for line in said.splitlines() if line.startswith("found ")]
    found = json.loads(line.removeprefix("found "))
    assert (found["alone"], found["beside"]) == ("RunRequest", "SkipReason")
    assert found["ends"] == {"0": [True, 1], "75": [False, 3], **{key: [False, 1] for key in once}}
    assert found["late"] == [False, 3]
