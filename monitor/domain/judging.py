"""Asking a judge: the ports, and what a package gives so that its judge can be in a config."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple, Protocol

from monitor.domain.model import Verdict
from monitor.domain.ports import Aliases
from monitor.domain.shown import Shown


class Reply(NamedTuple):
    """A judge's reply on one item: a value, or a ``fault``, a word or two on why it has no value.

    ``tokens`` is what the reply of an LLM cost.
    """

    value: bool | int | float | str | None = None
    fault: str = ""
    tokens: int = 0


class JudgeFailed(Exception):
    """A call got no reply; the text says why in a few words, without texts of items or secrets.

    ``passes``: a later call may get one; ``lasting``: no call will.
    """

    def __init__(
        self,
        reason: str,
        *,
        passes: bool = False,
        lasting: bool = False,
        retry_after: timedelta | None = None,
    ) -> None:
        super().__init__(reason)
        self.passes = passes
        self.lasting = lasting
        self.retry_after = retry_after


class JudgeModel(Protocol):
    """What gives verdicts."""

    @property
    def batch(self) -> int:
        """How many items one call of it may have."""

    def ask(self, items: Sequence[Shown], seconds: float) -> Sequence[Reply]:
        """Reply on each item, in their order, by what people are shown of it, in so many seconds.

        Raises `JudgeFailed` if there is no reply on any.
        """

    def resolved(self) -> str | None:
        """Find the version that the name of its model stands for now; None if that is fixed.

        Raises `JudgeFailed` if it names none, or with ``passes`` if that cannot be known now.
        """


@dataclass(frozen=True, slots=True)
class JudgeSite:
    """What a judge is made of besides its settings: the config's folder, and where MLflow is."""

    folder: Path
    tracking_uri: str
    registry_uri: str | None
    aliases: Aliases


class Opinion(NamedTuple):
    """What a judge said of an item; ``fault`` is why it said nothing that counts.

    ``is_reply`` is false if another call may get a verdict.
    """

    verdict: Verdict
    fault: str = ""
    tokens: int = 0
    is_reply: bool = True


class VerdictSession(Protocol):
    """One round's calls of its judge, within the rest of its budget and time.

    ``size`` items go together, and ``calls`` and ``tokens`` were spent so far.
    """

    size: int
    calls: int
    tokens: int

    @property
    def stopped(self) -> str:
        """Why no more items are asked about; empty while they are."""

    def ask(self, items: Sequence[Shown]) -> Sequence[Opinion | None]:
        """Return the opinion on each item, in their order; None where it was not asked about."""


class VerdictService(Protocol):
    """A judge that rounds may ask."""

    def calls_of(self, items: int) -> int:
        """Count the calls that so many items take if none is repeated."""

    def resolved(self) -> str | None:
        """Find the version of its model: see `JudgeModel.resolved`."""

    def digest(self, item: Shown) -> str:
        """Return a digest of all that it sees of an item."""

    def session(self, *, calls: int, tokens: int, seconds: float) -> VerdictSession:
        """Begin to ask, with so many calls, tokens and seconds left."""
