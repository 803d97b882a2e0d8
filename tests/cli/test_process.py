"""The command as a process of its own: it ends at once, and leaves nothing undone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

STAND_IN = """
import atexit, sys, threading, time
import monitor.cli
from monitor.__main__ import main

class Loaded:
    def __del__(self):
        print("taken apart")

def work():
    atexit.register(print, "exit function")
    threading.Thread(target=lambda: (time.sleep(0.1), print("thread"))).start()
    {end}

loaded = Loaded()
monitor.cli.main = work
main()
"""


def program(*arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("code", [0, 75])
def test_a_command_ends_with_its_code_when_threads_and_exit_functions_are_done(code):
    done = program("-c", STAND_IN.format(end=f"sys.exit({code})"))

    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.splitlines() == ["thread", "exit function"]


def test_what_a_command_loaded_is_not_taken_apart_one_by_one():
    quick = program("-c", STAND_IN.format(end="sys.exit()"))
    usual = program("-c", STAND_IN.format(end="sys.exit()").replace("\nmain()", "\nwork()"))

    assert "taken apart" not in quick.stdout
    assert "taken apart" in usual.stdout


def test_an_error_that_nobody_caught_is_reported_as_python_does():
    done = program("-c", STAND_IN.format(end="raise ValueError('a fault of ours')"))

    assert done.returncode == 1
    assert "ValueError: a fault of ours" in done.stderr
    assert done.stdout.splitlines()[:2] == ["thread", "exit function"]


@pytest.mark.parametrize(("words", "code"), [(["--version"], 0), (["status", "--wrong"], 2)])
def test_python_m_monitor_is_the_command(words, code):
    done = program("-m", "monitor", *words)

    assert done.returncode == code
    assert ("pr-monitor 0.1.0" in done.stdout) == (code == 0)
    assert ("pr-monitor status" in done.stderr) == (code == 2)


def test_a_program_looks_for_garbage_seldom():
    asked = STAND_IN.format(end="import gc; print(gc.get_threshold()[0]); sys.exit()")

    done = program("-c", asked)

    assert int(done.stdout.split()[0]) >= 10_000
