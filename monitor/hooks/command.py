"""A hook that runs a program and hands it the notice as JSON on standard input."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import IO, TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from monitor.domain.errors import DeliveryFailed
from monitor.domain.setting_types import Settings
from monitor.hooks.context import read_notice
from monitor.hooks.receiver import Timeout
from monitor.hooks.texts import clean

if TYPE_CHECKING:
    from pathlib import Path

    from monitor.domain.model import Effect
    from monitor.hooks.context import HookContext

DATA_REFUSED, TRY_LATER, _CONFIG = 65, 75, 78  # sysexits.h
_TAIL = 300  # characters of standard error that an error shows


def _word(text: str) -> str:
    if not text or "\0" in text:
        message = "a program and its arguments are words that are not empty"
        raise ValueError(message)
    return text


def _variable(name: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII) is None:
        message = f"{name!r} is no name of a variable; write the name alone, such as PAGER_TOKEN"
        raise ValueError(message)
    return name


Word = Annotated[str, AfterValidator(_word)]
Variable = Annotated[str, AfterValidator(_variable)]


class CommandSettings(Settings):
    """A program to run for each notice; exit code 0 means that it took it.

    ``command`` is the program and its arguments, a list; no shell reads it. The program gets the
    notice as JSON on standard input, runs in the folder of the config, and sees only ``PATH`` and
    the variables that ``environment`` names. It ends by itself or is killed after ``timeout``; what
    it started, and left running, ends with it. A repeat carries the same ``id``. What it writes to
    standard error is shown when it fails; exit code 65 means that it will never take this notice,
    78 that its own setup is wrong.
    """

    kind: Literal["command"]
    command: Annotated[tuple[Word, ...], Field(min_length=1)]
    environment: tuple[Variable, ...] = ()
    timeout: Timeout = timedelta(seconds=10)

    def handler(self, context: HookContext) -> CommandHandler:
        """Build what delivers to this hook."""
        return CommandHandler(self, context)


class CommandHandler:
    """Run the program once for each notice."""

    def __init__(self, settings: CommandSettings, context: HookContext) -> None:
        self._settings = settings
        self._context = context

    def deliver(self, effect: Effect) -> str:
        """Run the program with the notice; a repeat runs it again."""
        notice = read_notice(effect.payload, self._context.link)
        text = json.dumps(notice.model_dump(mode="json"), ensure_ascii=False, allow_nan=False)
        with tempfile.TemporaryFile() as errors:
            code = self._run(text, errors)
            if code == 0:
                return "exit code 0"
            raise self._failure(code, _tail(errors))

    def usable(self) -> str:
        """Find the program, without running it."""
        program = self._settings.command[0]
        path = str(self._context.folder / program) if "/" in program else program
        executable = shutil.which(path)
        if executable is None:
            reason = f"there is no program {program} that may be run"
            raise self._context.refused(reason)
        return executable

    def _run(self, text: str, errors: IO[bytes]) -> int:
        seconds = self._settings.timeout.total_seconds()
        program, names = self._settings.command[0], self._settings.environment
        try:
            return run_program(
                self._settings.command, self._context.folder, names, text, seconds, stderr=errors
            )
        except NotRunnable as why:
            raise self._context.refused(str(why)) from why
        except TimeoutError as error:
            message = f"hook {self._context.name}: {program} did not end within {seconds:g} s"
            raise DeliveryFailed(message) from error

    def _failure(self, code: int, tail: str) -> DeliveryFailed:
        ended = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        message = f"hook {self._context.name}: {self._settings.command[0]} {ended}"
        message += f": {tail}" if tail else ""
        lasting = code in {DATA_REFUSED, _CONFIG}
        return DeliveryFailed(message, sink_down=code == TRY_LATER, lasting=lasting)


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


def _tail(output: IO[bytes]) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - 4 * _TAIL))
    text = clean(output.read().decode(errors="replace"), 40 * _TAIL)  # an escape takes six
    return text[-_TAIL:]
