"""Sinks of effects that take, fail and count as a test wants it, and a program that has some."""

from collections.abc import Mapping
from typing import Any, cast

from monitor.domain.model import Effect
from monitor.wiring import Application


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
        self.effects: list[Effect] = []
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
        self.effects.append(effect)
        return f"took {effect.key}"

    @property
    def payloads(self) -> list[Mapping[str, Any]]:
        return [effect.payload for effect in self.effects]

    def events(self):
        return [payload["event"] for payload in self.payloads if "event" in payload]

    def by_monitor(self):
        """The monitor and the event of each notice."""
        return [(effect.monitor, effect.payload["event"]) for effect in self.effects]


def application_of(scenes, log=None):
    """A program that has the monitors of some scenes and this sink for its log."""
    return Application(
        config=cast("Any", None),
        database=scenes[0].database,
        monitors=tuple(scene.context for scene in scenes),
        handlers={"log": log or Sink(), "mlflow": Sink()},
        clock=lambda: scenes[0].now,
        link=lambda _: None,
    )
