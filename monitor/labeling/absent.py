"""The labeler of a round whose kind can no longer be made, such as after an uninstall."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from monitor.domain.errors import ConfigRefused

if TYPE_CHECKING:
    from monitor.domain.model import Collected, Task


@dataclass(slots=True)
class AbsentLabeler:
    """A `Labeler` that refuses every call with the reason.

    So the rounds that need it show why they stand still, and all others go on.
    """

    why: str
    name: str = "absent"
    asks_people: bool = True

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Refuse to hand out tasks."""
        del tasks
        self._refuse(round_name)

    def collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        """Refuse to bring labels."""
        del tasks, cursor
        self._refuse("these rounds")

    def close(self, round_name: str) -> None:
        """Refuse to end the asking: what people were shown may still be there."""
        self._refuse(round_name)

    def forget(self, round_name: str, keys: Collection[str]) -> Sequence[str]:
        """Refuse to report anything as deleted."""
        del keys
        self._refuse(round_name)

    def _refuse(self, round_name: str) -> NoReturn:
        message = f"the labeler of {round_name} cannot be used: {self.why}"
        raise ConfigRefused(message)
