"""Processes of their own, as replicas of the program are: started, held, let go, killed."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO, cast

from tests.faults.sizes import sized

ROOT = Path(__file__).parents[1]

PREAMBLE = """\
import itertools, json, os, signal, sys, traceback


def pause(word="ready"):
    print(word, flush=True)
    sys.stdin.readline()


def killed_at(last):
    # What is called at each point, and ends this process at the n-th as a power cut does.
    points = itertools.count(1)

    def point(*_):
        if next(points) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    return point


def lives(live):
    # Each line that comes is the number of a life; it is a fork, and how it ended is printed.
    import structlog
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    pause()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                live(int(line))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


"""


class Worker:
    """A Python process; its program may call ``pause()`` to wait until the test says ``go``."""

    def __init__(self, program, *arguments, cwd=None):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PREAMBLE + program, *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT), "MLFLOW_DISABLE_TELEMETRY": "true"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

        self.said = cast("IO[str]", self.process.stdout)
        self.errors = cast("IO[str]", self.process.stderr)
        self._told = cast("IO[str]", self.process.stdin)

    def wait_for(self, word="ready"):
        """Read lines until the program pauses; returns those before."""
        lines: list[str] = []
        for line in self.said:
            if line.strip() == word:
                return lines
            lines.append(line.strip())
        self.process.wait()
        message = f"{word!r} was never said, but {lines}: {self.errors.read()}"
        raise AssertionError(message)

    def go(self, line=""):
        self._told.write(f"{line}\n")
        self._told.flush()

    def end(self):
        """Let it run to its end; returns exit code, output and errors."""
        output, errors = self.process.communicate()
        return self.process.returncode, output, errors

    def kill(self):
        """End it as a power cut does."""
        self.process.kill()
        self.process.communicate()


def python(*words, cwd=None, timeout=None, **environment):
    """Run Python with these words on this checkout; returns the process, which has ended."""
    own = {"PYTHONPATH": str(ROOT), "MLFLOW_DISABLE_TELEMETRY": "true"}
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env={**os.environ, **own, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def has_ended(pid):
    """Whether a process has ended, or waits to be taken note of."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def eventually(holds, within=60):
    """Wait for what another thread or process will do; fails after a time nobody needs."""
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def worker(program, *arguments, cwd=None):
    one = Worker(program, *arguments, cwd=cwd)
    try:
        yield one
    finally:
        one.kill()


def lives_until_one_is_whole(program, *arguments):
    """Run a program that calls ``lives``, each of which dies some points further than the last.

    Yields their exit codes; the last one is 0.
    """
    with worker(program, *arguments) as lives:
        lives.wait_for()
        lives.go()
        for number in count(1, sized(small=3, soak=1)):
            lives.go(number)
            code = int(lives.said.readline())
            assert code in {0, -9}, lives.end()[2]
            yield code
            if code == 0:
                return
