"""What commands share: options, opening the config and the store, reading times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from monitor.domain.errors import InputRefused
from monitor.domain.visible import clean
from monitor.presentation.numbers import minute_text

if TYPE_CHECKING:
    from monitor.rounds.context import MonitorContext
    from monitor.wiring import Application


def option(takes: str, what: str, *names: str, **more: Any) -> Any:
    """Declare an option by its placeholder and help; its default name is the parameter's."""
    return typer.Option(*names, help=what, metavar=takes, **more)


def argument(takes: str, what: str) -> Any:
    """Declare an argument by its name and help."""
    return typer.Argument(help=what, metavar=takes)


def flag(name: str, what: str) -> Any:
    """Declare an option that is given or not."""
    return typer.Option(name, help=what)


ConfigOption = Annotated[
    Path, option("FILE", "The config file.", "--config", "-c", envvar="PR_MONITOR_CONFIG")
]
CONFIG = Path("config.yaml")
JsonOption = Annotated[bool, flag("--json", "Print JSON instead of text.")]
MonitorOption = Annotated[str | None, option("NAME", "Only this monitor.", "--monitor", "-m")]
MonitorArgument = Annotated[str | None, argument("MONITOR", "The monitor, if there are several.")]
PrecisionOption = Annotated[float | None, option("SHARE", "Assumed precision.")]
RecallOption = Annotated[float | None, option("SHARE", "Assumed recall.")]
FlaggedRateOption = Annotated[float | None, option("SHARE", "Assumed share of items flagged.")]
SizeOption = Annotated[int | None, option("COUNT", "Assumed number of items in a window.", min=2)]
LONGEST_TEXT = 300  # Characters of a reason or a note
_LONGEST_NAME = 100
_BELOW_ZERO = re.compile(r"-\d+")


class Command(TyperCommand):
    """A command that shows how to name a monitor if its name comes without the option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse words that belong to no argument; other commands leave that to click."""
        ctx.allow_extra_args = any("-m" in parameter.opts for parameter in self.params)
        remaining = super().parse_args(ctx, args)
        if ctx.args:
            extra = " ".join(ctx.args)
            ctx.fail(f"Unexpected argument: {extra}. To name a monitor, use -m {ctx.args[0]}")
        return remaining


class OfARound(Command):
    """A command that takes the number of a round, which is below zero before the first due one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read `-8` as a number; other words that begin with a dash stay options."""
        ctx.ignore_unknown_options = any(_BELOW_ZERO.fullmatch(word) for word in args)
        return super().parse_args(ctx, args)


def chosen_monitors(application: Application, monitor: str | None) -> Sequence[MonitorContext]:
    """Return the monitor that was named, or all of them."""
    return application.monitors if monitor is None else (application.context(monitor),)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Refuse a file that cannot be written."""
    try:
        yield
    except OSError as error:
        message = f"{path} cannot be written: {(error.strerror or str(error)).lower()}"
        raise InputRefused(message) from error


def account() -> str:
    """Return the account's name; empty if it has none, as in some containers."""
    import getpass

    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return ""


def named_person(by: str | None) -> str:
    """Name who asked for something: as given, else by the account."""
    return clean(by or "", _LONGEST_NAME) or clean(account() or "somebody", _LONGEST_NAME)


def refuse_text(text: str, option: str, readers: str) -> None:
    """Refuse a reason or a note that is empty, or too long for MLflow to show."""
    message = ""
    if not text.strip():
        message = f"it is empty; write a few words, which {readers} see"
    elif len(text) > LONGEST_TEXT:
        message = f"{len(text)} characters; {LONGEST_TEXT} are enough, MLflow shows them"
    if message:
        raise typer.BadParameter(message, param_hint=option)


def parse_time(text: str, option: str) -> datetime:
    """Read a date or a time from the command line; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"{text!r} is not a date or time; write 2025-03-31 or 2025-03-31T06:00+02:00"
        raise typer.BadParameter(message, param_hint=option) from error
    # The machine's own zone would make the same command mean another time elsewhere.
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def parse_pairs(texts: Sequence[str], option: str, example: str) -> dict[str, float]:
    """Read metrics with a number each, such as precision=0.80; refuse one that is there twice."""
    pairs: dict[str, float] = {}
    for text in texts:
        match = re.fullmatch(r"\s*(\w+)\s*=\s*([+-]?\d*\.?\d+)\s*", text)
        if match is None:
            message = f"{text!r} is not a metric with a number; write {example}"
            raise typer.BadParameter(message, param_hint=option)
        if match[1] in pairs:
            message = f"{match[1]} has two numbers, {pairs[match[1]]:g} and {match[2]}; give one"
            raise typer.BadParameter(message, param_hint=option)
        pairs[match[1]] = float(match[2])
    return pairs


def minute(at: datetime | None) -> str:
    """Describe a time to the minute, in UTC."""
    return "-" if at is None else minute_text(at)
