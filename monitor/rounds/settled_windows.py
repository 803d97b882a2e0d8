"""Windows of a block of classes whose averages are written, as far as this process has seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from monitor.storage.results.class_store import ClassVersion


class SettledWindows:
    """Remembers how windows stood when their averages were found written; the block shares one.

    So a look at each of 30 monitors reads no window again that nobody has touched. Memory may be
    lost at any time: then all windows are looked at, whenever they were due.
    """

    def __init__(self) -> None:
        self.is_new = True
        self._marks: dict[datetime, ClassVersion] = {}

    def others(self, windows: Mapping[datetime, ClassVersion]) -> dict[datetime, ClassVersion]:
        """Leave out the windows that stand as they did."""
        return {slot: marker for slot, marker in windows.items() if self._marks.get(slot) != marker}

    def note(self, slot: datetime, marker: ClassVersion) -> None:
        """Remember how a window stood before its averages were found written."""
        self._marks[slot] = marker
