"""A judge that is a program: items as JSON lines in, verdicts as JSON lines out."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO, Annotated, Literal

from pydantic import Field

from monitor.domain.adapters import Adapter
from monitor.domain.judge import OnDemandSettings
from monitor.domain.judging import JudgeFailed, JudgeSite, Reply
from monitor.domain.setting_types import Duration
from monitor.domain.shown import Shown, plain_texts
from monitor.hooks.program import DATA_REFUSED, TRY_LATER, NotRunnable, Variable, Word, run_program
from monitor.plugins.judges.http import verdict_in

_MOST = 10_000_000  # bytes of an answer


class CommandJudgeSettings(OnDemandSettings):
    """A program that gets items as JSON lines and writes one line for each, in their order.

    ``command`` is the program and its arguments, a list; no shell reads it. It runs in the folder
    of the config and sees only ``PATH`` and the variables that ``environment`` names. On standard
    input it gets up to ``batch`` items, such as ``{"subject": "..."}``: what people are shown. A
    line of its answer is ``{"verdict": "yes"}``; any other is no verdict. Exit code 75 asks for
    another try, 65 ends the asking for this round. It is killed after ``timeout``, with what it
    started.
    """

    kind: Literal["command"] = "command"
    command: Annotated[tuple[Word, ...], Field(min_length=1)]
    environment: tuple[Variable, ...] = ()
    batch: Annotated[int, Field(ge=1, le=10_000)] = 100
    timeout: Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(hours=1))] = timedelta(
        minutes=5
    )
    concurrency: Annotated[int, Field(ge=1, le=64)] = 1

    @property
    def name(self) -> str:
        """The program."""
        return self.command[0]


@dataclass(frozen=True, slots=True)
class CommandJudge:
    """Runs the program once for each batch."""

    settings: CommandJudgeSettings
    folder: Path

    @property
    def batch(self) -> int:
        """How many items it gets at once."""
        return self.settings.batch

    def resolved(self) -> None:
        """Find nothing: a program has no version but the one that the config names."""

    def ask(self, items: Sequence[Shown], seconds: float) -> Sequence[Reply]:
        """Reply on each item."""
        texts = (json.dumps(plain_texts(item), ensure_ascii=False) for item in items)
        with tempfile.TemporaryFile() as stdout:
            self._run("".join(f"{text}\n" for text in texts), stdout, seconds)
            stdout.seek(0)
            lines = stdout.read(_MOST).splitlines()  # of bytes: texts end at U+2028 and more too
        if len(lines) != len(items):
            message = f"it wrote {len(lines):,} lines for {len(items):,} items"
            raise JudgeFailed(message)
        values = [verdict_in(line.decode(errors="replace")) for line in lines]
        return [Reply(value, "malformed" if value is None else "") for value in values]

    def _run(self, text: str, stdout: IO[bytes], seconds: float) -> None:
        command, names = self.settings.command, self.settings.environment
        try:
            code = run_program(command, self.folder, names, text, seconds, stdout=stdout)
        except NotRunnable as why:
            raise JudgeFailed(str(why), lasting=True) from why
        except TimeoutError:
            reason = "it did not end in time"
            raise JudgeFailed(reason, passes=True) from None
        if code:
            reason = f"it ended with exit code {code}"
            raise JudgeFailed(reason, passes=code == TRY_LATER, lasting=code == DATA_REFUSED)


ADAPTER: Adapter[CommandJudgeSettings, JudgeSite, CommandJudge] = Adapter(
    CommandJudgeSettings, lambda settings, site: CommandJudge(settings, site.folder)
)
