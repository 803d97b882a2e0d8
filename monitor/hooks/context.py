"""What a handler may need besides the settings of its hook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from monitor.domain.ports import Clock
    from monitor.hooks.links import Link


@dataclass(frozen=True, slots=True)
class HookContext:
    """Where a hook is in the config, and what all hooks share.

    name: Of the hook in the config, for errors.
    folder: Of the config file; paths are relative to it.
    clock, link: The present time, and where a notice's round shows in MLflow.
    """

    name: str
    folder: Path
    clock: Clock
    link: Link
