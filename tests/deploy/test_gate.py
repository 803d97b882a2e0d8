"""The jobs for GitHub and GitLab: their commands, by labels that keep, break or do not decide."""

import os
import subprocess
import sys
from xml.etree import ElementTree as Xml

import pytest
import yaml

from tests.deploy.program import DEPLOY, ROOT, script
from tests.evaluation.sets import cells

GITHUB = ROOT / "examples" / "github" / "gate.yml"
GITLAB = DEPLOY / "gitlab" / "gate.yml"
LABELS = {
    "keeps": cells(138, 22, 108, 4732),
    "breaks": cells(70, 90, 20, 4820),
    "undecided": cells(14, 2, 11, 473),
}


def github():
    """The step with the gate."""
    [job] = yaml.safe_load(GITHUB.read_text())["jobs"].values()
    [step] = [step for step in job["steps"] if step.get("id") == "gate"]
    return step["run"]


def gitlab():
    """The script of the job."""
    [job] = yaml.safe_load(GITLAB.read_text()).values()
    return "\n".join(job["script"])


@pytest.mark.parametrize(
    ("commands", "labels", "code"),
    [
        (github, "keeps", 0),
        (github, "breaks", 3),
        (github, "undecided", 0),
        (gitlab, "keeps", 0),
        (gitlab, "breaks", 3),
        (gitlab, "undecided", 4),
    ],
)
def test_a_job_fails_where_a_limit_is_broken_and_writes_its_tests(tmp_path, commands, labels, code):
    script(tmp_path / "pr-monitor", f"#!/bin/sh\nexec '{sys.executable}' -m monitor \"$@\"\n")
    LABELS[labels].to_csv(tmp_path / "labels.csv", index=False)

    done = subprocess.run(
        ["/bin/sh", "-e", "-c", commands()],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == code, done.stderr
    [suite] = Xml.parse(tmp_path / "gate.xml").getroot()  # noqa: S314  it is our own
    counts = {name: suite.get(name) for name in ("tests", "failures", "skipped")}
    assert counts["tests"] == "2"
    assert (counts["failures"] != "0", counts["skipped"] != "0") == (
        labels == "breaks",
        labels == "undecided",
    )
    assert ("::warning::UNDECIDED: " in done.stdout) == (
        labels == "undecided" and commands is github
    )


def test_an_undecided_job_of_gitlab_only_warns():
    [job] = yaml.safe_load(GITLAB.read_text()).values()

    assert job["allow_failure"] == {"exit_codes": 4}
