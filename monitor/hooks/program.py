"""Running a program on a text: without a shell, and ended with this process at the latest."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Annotated

from pydantic import AfterValidator

if TYPE_CHECKING:
    from pathlib import Path

DATA_REFUSED, TRY_LATER = 65, 75  # sysexits.h


def _word(text: str) -> str:
    if not text or "\0" in text:
        message = "a program and its arguments are words that are not empty"
        raise ValueError(message)
    return text


def _variable(name: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII) is None:
        message = (
            f"{name!r} is not the name of a variable; write the name alone, such as PAGER_TOKEN"
        )
        raise ValueError(message)
    return name


Word = Annotated[str, AfterValidator(_word)]
Variable = Annotated[str, AfterValidator(_variable)]


class NotRunnable(Exception):
    """A program cannot be run as the config has it."""


def run_program(
    command: Sequence[str],
    folder: Path,
    variables: Sequence[str],
    text: str,
    seconds: float,
    *,
    stdout: IO[bytes] | int = subprocess.DEVNULL,
    stderr: IO[bytes] | int = subprocess.DEVNULL,
) -> int:
    """Run a program on a text and return its exit code. It ends with this process, however it ends.

    variables: What it sees of the environment beside ``PATH``.

    Raises `NotRunnable`, and `TimeoutError` if the program did not end by itself.
    """
    missing = [name for name in variables if name not in os.environ]
    if missing:
        message = f"the environment has no variable {', '.join(missing)}; set it"
        raise NotRunnable(message)
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
    # Files and no pipes: a program that reads or writes nothing cannot block us.
    with tempfile.TemporaryFile() as stdin, _guarded() as guard:
        stdin.write(text.encode())
        stdin.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603  the words come from the config alone
                command,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=folder,
                env=environment | {name: os.environ[name] for name in variables},
                start_new_session=True,  # a group of its own, to end all that it started
            )
        except OSError as error:
            message = f"{command[0]} cannot be run: {(error.strerror or str(error)).lower()}"
            raise NotRunnable(message) from error
        try:
            guard(process.pid)
            return process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError from error
        finally:
            # All that it started, also what it left behind when it ended by itself. The group
            # keeps its number as long as anybody is in it, so nobody else is met.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


_GUARD = ("/bin/sh", "-c", 'read -r group && { read -r ended || kill -KILL "-$group"; }')
"""Kills the group that it is told of if its input ends before a second line: nobody is left to
write that once this process was killed, by whichever signal."""


@contextmanager
def _guarded() -> Iterator[Callable[[int], None]]:
    """Give what a group is named to that must not outlive this process while the block runs."""
    guard = subprocess.Popen(_GUARD, stdin=subprocess.PIPE, env={}, start_new_session=True)  # noqa: S603  nothing of it comes from outside
    pipe = guard.stdin
    assert pipe is not None  # noqa: S101  asked for above

    def name(group: int) -> None:
        with suppress(BrokenPipeError):  # the guard may have been killed
            pipe.write(f"{group}\n".encode())
            pipe.flush()

    try:
        yield name
    finally:
        guard.communicate(b"ended\n")
