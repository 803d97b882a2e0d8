"""A sink of effects that takes, fails and counts as a test wants it."""

from collections.abc import Mapping
from typing import Any


class Sink:
    """Keeps what it takes; ``error`` is what goes wrong with all, ``failing`` with some keys."""

    def __init__(
        self,
        got: list[str] | None = None,
        *,
        error: BaseException | None = None,
        failing: Mapping[str, BaseException] | None = None,
    ) -> None:
        self.got = [] if got is None else got
        self.payloads: list[dict[str, Any]] = []
        self.error = error
        self.failing = dict(failing or {})
        self.asked = self.failures = 0

    def deliver(self, effect):
        self.asked += 1
        error = self.failing.get(effect.key, self.error)
        if error is not None:
            self.failures += 1
            raise error
        self.got.append(effect.key)
        self.payloads.append(dict(effect.payload))
        return f"took {effect.key}"

    def events(self):
        return [payload["event"] for payload in self.payloads if "event" in payload]
