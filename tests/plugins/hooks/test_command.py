"""What a program gets, and what is said of one that fails."""

import json
import os
import subprocess
import sys
import time

import pytest
from pydantic import ValidationError

from monitor.domain.errors import DeliveryFailed
from monitor.domain.notice import Notice
from monitor.hooks.context import HookContext
from monitor.plugins.hooks.command import CommandHandler, CommandSettings
from tests.hooks.receivers import effect, notice
from tests.workers import ROOT, eventually, has_ended


@pytest.fixture
def run(tmp_path):
    """Deliver to a Python program, given as text."""

    def run(program, *words, **changes):
        settings = CommandSettings.model_validate(
            {"kind": "command", "command": [sys.executable, "-c", program, *words], **changes}
        )
        return CommandHandler(settings, HookContext("page", tmp_path)).deliver(effect())

    return run


def test_the_program_gets_the_notice_its_words_and_the_folder_of_the_config(run, tmp_path):
    program = "import sys, pathlib; pathlib.Path('got').write_text(sys.stdin.read() + sys.argv[1])"

    receipt = run(program, "$(touch pwned); `x` > y")

    text, word = (tmp_path / "got").read_text().rsplit("}", 1)
    assert Notice.model_validate(json.loads(text + "}")) == notice()
    assert (receipt, word) == ("exit code 0", "$(touch pwned); `x` > y")
    assert [path.name for path in tmp_path.iterdir()] == ["got"]


def test_the_program_sees_only_the_variables_that_are_named(run, tmp_path, monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", "canary")
    monkeypatch.setenv("PAGER_TOKEN", "t0ken")
    program = "import os, json; json.dump(dict(os.environ), open('env', 'w'))"

    run(program, environment=["PAGER_TOKEN"])

    found = json.loads((tmp_path / "env").read_text())
    assert found.pop("PATH") == os.environ["PATH"]
    assert {name: found[name] for name in ("LANG", "PAGER_TOKEN")} == {
        "LANG": "C.UTF-8",
        "PAGER_TOKEN": "t0ken",
    }
    assert set(found) <= {"LANG", "PAGER_TOKEN", "LC_CTYPE"}  # Python itself adds the last


@pytest.mark.parametrize(
    ("code", "down", "lasting"),
    [(1, False, False), (75, True, False), (65, False, True), (78, False, True)],
)
def test_a_program_that_fails_is_told_with_the_end_of_its_standard_error(run, code, down, lasting):
    program = (
        "import sys; print('to nobody'); sys.stderr.write('x' * 5000 + '\\x1b[31m\\nno pager');"
        f" sys.exit({code})"
    )

    with pytest.raises(DeliveryFailed) as failure:
        run(program)

    said = str(failure.value)
    assert said.startswith(f"hook page: {sys.executable} ended with exit code {code}: xxx")
    assert said.endswith(r"x\x1b[31m no pager")
    assert len(said) < 450
    assert (failure.value.sink_down, failure.value.lasting) == (down, lasting)


FORKS = (
    "import os, time\n"
    "pid = os.fork()\n"
    "if not pid: time.sleep(600)\n"
    "open('child', 'w').write(str(pid))\n"
)


def child_ends(folder):
    """Wait for the end of the child whose process id stands in a file."""
    pid = int((folder / "child").read_text())
    eventually(lambda: has_ended(pid))


def test_a_program_that_hangs_is_killed_with_all_that_it_started(run, tmp_path):
    with pytest.raises(DeliveryFailed, match="did not end within 1 s") as failure:
        run(FORKS + "time.sleep(600)", timeout="1s")

    child_ends(tmp_path)
    assert failure.value.sink_down


def test_what_a_program_leaves_behind_is_ended_with_it(run, tmp_path):
    assert run(FORKS) == "exit code 0"
    child_ends(tmp_path)


RUNS = (
    "import sys, pathlib\n"
    "from monitor.hooks.program import run_program\n"
    "run_program([sys.executable, '-c', sys.argv[1]], pathlib.Path(), (), '', 600)\n"
)


def test_a_program_ends_with_the_process_that_ran_it_even_if_that_is_killed(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", RUNS, FORKS + "time.sleep(600)"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as process:
        written = tmp_path / "child"
        while process.poll() is None and not (written.exists() and written.read_text()):
            time.sleep(0.01)
        process.kill()

    child_ends(tmp_path)


def test_a_program_that_a_signal_ended_is_told_so(run):
    with pytest.raises(DeliveryFailed, match="was killed by signal 9"):
        run("import os; os.kill(os.getpid(), 9)")


@pytest.mark.parametrize("word", ["no-such-program", "./no-such-program", "."])
def test_a_program_that_is_not_there_is_a_fault_of_the_config(word, tmp_path):
    settings = CommandSettings(kind="command", command=(word,))
    handler = CommandHandler(settings, HookContext("page", tmp_path))

    for ask in (lambda: handler.deliver(effect()), handler.usable):
        with pytest.raises(DeliveryFailed, match=f"hook page: .*{word}") as failure:
            ask()
        assert failure.value.lasting


def test_a_program_beside_the_config_is_found(tmp_path):
    script = tmp_path / "page.sh"
    script.write_text("#!/bin/sh\ncat > got\n")
    script.chmod(0o700)
    settings = CommandSettings(kind="command", command=("./page.sh",))
    handler = CommandHandler(settings, HookContext("page", tmp_path))

    assert handler.usable() == str(tmp_path / "./page.sh")
    assert handler.deliver(effect()) == "exit code 0"
    assert json.loads((tmp_path / "got").read_text())["id"] == "a1.firing.12"


def test_a_variable_that_is_not_set_is_named(run, monkeypatch):
    monkeypatch.delenv("PAGER_TOKEN", raising=False)

    with pytest.raises(DeliveryFailed, match="has no variable PAGER_TOKEN; set it") as failure:
        run("pass", environment=["PAGER_TOKEN"])

    assert failure.value.lasting


@pytest.mark.parametrize(
    "wrong",
    [
        {"command": []},
        {"command": ["page", "a\0b"]},
        {"command": ["page"], "environment": ["A=B"]},
        {"command": ["page"], "timeout": "2m"},
        {"command": ["page"], "shell": True},
    ],
)
def test_settings_that_cannot_be_run_are_refused(wrong):
    with pytest.raises(ValidationError):
        CommandSettings.model_validate({"kind": "command", **wrong})
