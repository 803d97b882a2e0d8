"""The command as a process of its own: it ends at once, and leaves nothing undone."""

from tests.workers import python

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


def test_a_command_ends_with_its_code_when_threads_and_exit_functions_are_done_and_no_sooner():
    asked = "import gc; print(gc.get_threshold()[0]); sys.exit(75)"

    done = python("-c", STAND_IN.format(end=asked))

    threshold, *lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (75, "")
    assert lines == ["thread", "exit function"]  # and what it loaded is not taken apart
    assert int(threshold) >= 10_000  # it looks for garbage seldom


def test_an_error_that_nobody_caught_is_reported_as_python_does():
    done = python("-c", STAND_IN.format(end="raise ValueError('a fault of ours')"))

    assert done.returncode == 1
    assert "ValueError: a fault of ours" in done.stderr
    assert done.stdout.splitlines()[:2] == ["thread", "exit function"]


def test_python_m_monitor_is_the_command():
    done = python("-m", "monitor", "status", "--wrong")

    assert done.returncode == 2
    assert "pr-monitor status" in done.stderr
