"""One pass of pr-monitor every five minutes, as a Dagster job: `dagster dev -f pr_monitor.py`.

The program has an environment of its own, so that no version of it depends on Dagster's. Where it
is not in `/opt/pr-monitor`, the variables `PR_MONITOR_PROGRAM` and `PR_MONITOR_CONFIG` say where.

What Dagster shows: 75, something outside is down, is tried again, twice; with 65, 78 and 1, which
trying again does not fix, the run fails at once, and the next one looks anew.
"""

import json
import os
import subprocess

import dagster as dg

TO_FIX = {
    1: "a bug stopped a monitor; the log has the traceback",
    2: "this Dagster file calls the program wrongly",
    65: "predictions or labels cannot be used as they are",
    78: "the config, the schema of the store or a permission has to be fixed",
}
PASSED_ON = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "SSL_CERT_FILE")
"""Of Dagster's variables; its `PYTHONPATH` and its own secrets are no business of ours."""


class PrMonitor(dg.ConfigurableResource):
    """The program, its config, and the password that the config names as `${DB_PASSWORD}`."""

    program: str = os.environ.get("PR_MONITOR_PROGRAM", "/opt/pr-monitor/bin/pr-monitor")
    config: str = os.environ.get("PR_MONITOR_CONFIG", "/etc/pr-monitor/config.yaml")
    db_password: str
    timeout: int = 1800  # seconds
    wait: int = 60  # seconds until it is tried again

    def run_once(self) -> subprocess.CompletedProcess[str]:
        """Do all that is due by now; the program's log goes to the step's standard error.

        It is killed after `timeout` seconds; the next pass goes on from there.
        """
        passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        return subprocess.run(
            [self.program, "run-once", "--json", "--config", self.config],
            env={**passed_on, "DB_PASSWORD": self.db_password},
            stdout=subprocess.PIPE,
            text=True,
            timeout=self.timeout,
            check=False,
        )


@dg.op
def run_once(context: dg.OpExecutionContext, pr_monitor: PrMonitor) -> None:
    """Do all that is due by now; the run's metadata has what moved and what waits."""
    again = dg.RetryRequested(max_retries=2, seconds_to_wait=pr_monitor.wait)
    try:
        done = pr_monitor.run_once()
    except subprocess.TimeoutExpired as late:
        raise again from late
    said = json.loads(done.stdout) if done.stdout else {}
    context.log.info(json.dumps(said, indent=2))
    if done.returncode in TO_FIX:
        message = f"exit code {done.returncode}: {TO_FIX[done.returncode]}"
        raise dg.Failure(message, said, allow_retries=False)
    if done.returncode != 0:  # 75, or killed: neither loses anything
        raise again
    context.add_output_metadata(said)


@dg.job
def pr_monitor_job() -> None:
    """One pass over all monitors."""
    run_once()


UNDER_WAY = dg.RunsFilter(
    job_name=pr_monitor_job.name,
    statuses=[
        dg.DagsterRunStatus.QUEUED,
        dg.DagsterRunStatus.STARTING,
        dg.DagsterRunStatus.STARTED,
        dg.DagsterRunStatus.CANCELING,
    ],
)


@dg.schedule(cron_schedule="*/5 * * * *", job=pr_monitor_job, execution_timezone="UTC")
def every_five_minutes(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Begin a pass unless one is under way; the config says when rounds are due."""
    if context.instance.get_runs_count(UNDER_WAY):
        return dg.SkipReason("the pass before is still under way")
    return dg.RunRequest()


defs = dg.Definitions(
    jobs=[pr_monitor_job],
    schedules=[every_five_minutes],
    resources={"pr_monitor": PrMonitor(db_password=dg.EnvVar("DB_PASSWORD"))},
)
