"""Predictions in a file of JSON lines: id, time, score, and what people are shown."""

import json
from datetime import datetime
from pathlib import Path
from typing import Literal

from monitor.domain.adapters import Adapter, SourceSettings
from monitor.domain.errors import SourceRefused
from monitor.testing import MemorySource


class JsonlSettings(SourceSettings):
    kind: Literal["jsonl"] = "jsonl"
    path: str
    threshold: float
    show: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()


class JsonlSource:
    def __init__(self, settings: JsonlSettings, folder: Path) -> None:
        self.settings, self.path = settings, folder / settings.path

    def scan(self, *asked):
        return self._read().scan(*asked)

    def count(self, window):
        return self._read().count(window)

    def show(self, ids, window):
        return self._read().show(ids, window)

    def span(self):
        return self._read().span()

    def prediction_times(self, ids, window):
        return self._read().prediction_times(ids, window)

    def excluded(self, window):
        return self._read().excluded(window)

    def _read(self) -> MemorySource:
        try:
            rows = [json.loads(line) for line in self.path.read_text().splitlines()]
            for row in rows:
                row["time"] = row["time"] and datetime.fromisoformat(row["time"])
        except (OSError, ValueError, KeyError) as error:
            message = f"{self.path}: {error!r}"
            raise SourceRefused(message) from error
        asked = self.settings
        return MemorySource(
            rows, threshold=asked.threshold, show=asked.show, segments=asked.segments
        )


ADAPTER = Adapter(JsonlSettings, JsonlSource)
