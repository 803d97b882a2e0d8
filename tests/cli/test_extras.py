"""Without an extra: what works, and what refuses and names the command that installs it."""

import tomllib
from pathlib import Path

import pytest

from monitor.domain.extras import REPOSITORY, install_command
from tests.workers import python

WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"apscheduler", "argon2", "prometheus_client"}:
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Absent())
"""
COMMAND = "sys.argv = ['pr-monitor', *%r]\nfrom monitor.cli import main\nmain()"
PAGES = """
import monitor.demo.labeling_week, monitor.demo.play, monitor.service.loop
import monitor.service.pages.serving
import monitor.cli.commands.labeling
"""


def without(code):
    return python("-c", WITHOUT + code)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["serve"], "pr-monitor serve"),
        (["run-once", "--metrics-file", "m.prom"], "--metrics-file"),
        (["users", "add", "ada"], "pr-monitor users add"),
    ],
)
def test_a_command_that_needs_an_extra_names_it_before_it_does_anything(place, words, what):
    done = without(COMMAND % words)

    assert done.returncode == 78
    install = f"install it by: {install_command('serve')}"
    assert f"pr-monitor: {what} needs the extra serve; {install} (No module" in done.stderr
    assert place.query("select count(*) from rounds") == [(0,)]


def test_a_login_that_needs_an_extra_is_a_problem_that_check_names(place):
    place.config(pages=("monitors:", "pages: {listen: '127.0.0.1:8443', login: users}\nmonitors:"))

    done = without(COMMAND % ["check"])

    assert "login: users needs the extra serve; install it by: pip install" in done.stdout


def test_the_command_installs_from_the_repository_that_the_package_names():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]

    assert project["urls"]["Source"] == REPOSITORY
    assert "serve" in project["optional-dependencies"]
    assert install_command("serve") == f"pip install 'mlflow-pr-monitor[serve] @ git+{REPOSITORY}'"


@pytest.mark.slow
def test_rounds_and_the_labeling_page_need_no_extra(place_today):
    once = without(COMMAND % ["run-once"])
    pages = without(PAGES)

    assert once.returncode == 75, once.stderr  # no MLflow answers
    assert place_today.query("select state from rounds") == [("closed",)]
    assert (pages.returncode, pages.stderr) == (0, "")
