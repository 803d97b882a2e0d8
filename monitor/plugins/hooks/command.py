"""A hook that runs a program and hands it the notice as JSON on standard input."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from datetime import timedelta
from typing import IO, Annotated, Literal

from pydantic import Field

from monitor.domain.adapters import Adapter, HookSettings
from monitor.domain.errors import DeliveryFailed
from monitor.domain.model import Effect
from monitor.domain.visible import clean
from monitor.hooks.context import HookContext, read_notice
from monitor.hooks.program import DATA_REFUSED, TRY_LATER, NotRunnable, Variable, Word, run_program
from monitor.hooks.receiver import Timeout

_CONFIG = 78  # its own setup is wrong: sysexits.h
_TAIL = 300  # characters of standard error that an error shows


class CommandSettings(HookSettings):
    """A program to run for each notice; exit code 0 means that it took it.

    ``command`` is the program and its arguments, a list; no shell reads it. The program gets the
    notice as JSON on standard input, runs in the folder of the config, and sees only ``PATH`` and
    the variables that ``environment`` names. It ends by itself or is killed after ``timeout``; what
    it started, and left running, ends with it. A repeat carries the same ``id``. What it writes to
    standard error is shown when it fails; exit code 65 means that it will never take this notice,
    78 that its own setup is wrong.
    """

    kind: Literal["command"] = "command"
    command: Annotated[tuple[Word, ...], Field(min_length=1)]
    environment: tuple[Variable, ...] = ()
    timeout: Timeout = timedelta(seconds=10)


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
            size = errors.seek(0, os.SEEK_END)
            errors.seek(max(0, size - 4 * _TAIL))
            text = clean(errors.read().decode(errors="replace"), 40 * _TAIL)  # an escape takes six
            raise self._failure(code, text[-_TAIL:])

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


ADAPTER = Adapter(CommandSettings, CommandHandler)
