"""The labeler of a round whose kind can no longer be made, such as after an uninstall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from monitor.domain.errors import ConfigRefused


@dataclass(slots=True)
class AbsentLabeler:
    """A `Labeler` that refuses every call with the reason.

    So the rounds that need it show why they stand still, and all others go on.
    """

    why: str
    name: str = "absent"
    asks_people: bool = True

    def _refuse(self, *arguments: object, **_: object) -> NoReturn:
        about = arguments[0] if arguments and isinstance(arguments[0], str) else "these rounds"
        message = f"the labeler of {about} cannot be used: {self.why}"
        raise ConfigRefused(message)

    send = collect = close = forget = _refuse
