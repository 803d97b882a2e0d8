"""What `pr-monitor alerts test` sends, and what came of it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.cli.views.printing import echo
from monitor.config.load import load_config
from monitor.domain.errors import EXIT_CONFIG, EXIT_TRY_LATER, DeliveryFailed, InputRefused
from monitor.domain.model import Effect, EffectKind
from monitor.domain.notice import Notice
from monitor.presentation.numbers import plural
from monitor.wiring import build

if TYPE_CHECKING:
    from monitor.domain.ports import EffectHandler

TEST = "test"


@dataclass(frozen=True, slots=True)
class Tested:
    """What one hook made of a test: its receipt, or the problem."""

    hook: str
    kind: str
    receipt: str | None = None
    problem: str | None = None
    exit_code: int = 0


def try_hooks(path: Path, only: str | None) -> list[Tested]:
    """Send a test through each hook of a config, one after the other."""
    config = load_config(path)
    if only is not None and only not in config.hooks:
        names = ", ".join(config.hooks) or "none"
        message = f"there is no hook {only!r} in {path}; it has {names}"
        raise InputRefused(message)
    application = build(config)
    return [
        _tested(name, hook.kind, application.handlers[name], application.clock())
        for name, hook in config.hooks.items()
        if only in {None, name}
    ]


def echo_tests(tests: Sequence[Tested]) -> None:
    """Print what came of it, a line for each hook."""
    if not tests:
        echo("the config has no hooks; alerts go to the log and to MLflow only")
        return
    for tested in tests:
        text = f"accepted the test ({tested.receipt})"
        if tested.problem is not None:
            text = f"PROBLEM: {tested.problem}"
        echo(f"hook {tested.hook} ({tested.kind}): {text}", indent="  ")
    wrong = sum(each.problem is not None for each in tests)
    if wrong:
        echo(f"{plural(wrong, 'hook')} of {len(tests)} did not accept the test")


def _tested(name: str, kind: str, handler: EffectHandler, now: datetime) -> Tested:
    notice = Notice(
        id=f"msg_{uuid.uuid4().hex}",
        event=TEST,
        store_id=TEST,
        round_key=TEST,
        monitor=TEST,
        round=0,
        slot=now,
        at=now,
        sink=name,
        sentence=(
            f"This is a test of hook {name}, sent by pr-monitor alerts test. No metric passed a "
            "limit, and nobody has to do anything."
        ),
    )
    effect = Effect(
        id=0,
        key=notice.id,
        kind=EffectKind.NOTICE,
        sink=name,
        monitor=notice.monitor,
        payload=notice.model_dump(mode="json"),
        attempt=1,
    )
    try:
        return Tested(name, kind, receipt=handler.deliver(effect))
    except DeliveryFailed as error:
        code = EXIT_CONFIG if error.lasting else EXIT_TRY_LATER
        return Tested(name, kind, problem=str(error), exit_code=code)
