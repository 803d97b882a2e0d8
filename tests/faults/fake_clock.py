"""A clock for processes of the installed program that a test sets while they run (libfaketime)."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.servers import cannot_start

PLACES = (
    "/usr/lib/*/faketime/libfaketimeMT.so.1",  # Debian
    "/usr/lib*/faketime/libfaketimeMT.so.1",
    "/usr/local/lib/faketime/libfaketimeMT.so.1",
)
SLEEP = "import select, time\ntime.sleep = lambda seconds: select.select([], [], [], seconds)\n"
"""First lines of a program under this clock: Python sleeps until a time of the monotonic clock,
which libfaketime takes for one of the clock that it changes."""


class FakeClock:
    """What time it is for every process with this ``environment``; it runs as fast as the real one.

    Timers, time-outs and times of files stay real. A process sees a change within a second.
    """

    def __init__(self, folder: Path, now: datetime) -> None:
        self._file = folder / "clock"
        self._ahead = timedelta(0)
        self.environment = {
            "LD_PRELOAD": library(),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }
        self.show(now)

    @property
    def now(self):
        return datetime.now(UTC) + self._ahead

    def show(self, now: datetime) -> None:
        """Set the clock, forwards or backwards."""
        self._ahead = timedelta(seconds=round((now - datetime.now(UTC)).total_seconds()))
        written = self._file.with_suffix(".new")
        written.write_text(f"{self._ahead.total_seconds():+.0f}\n")
        written.replace(self._file)


def library() -> str:
    for place in PLACES:
        found = sorted(Path("/").glob(place.lstrip("/")))
        if found:
            return str(found[-1])
    known = "its command is, its library is not" if shutil.which("faketime") else "it is not"
    cannot_start(f"libfaketime is needed, and {known} installed (Debian: apt install faketime)")
    raise AssertionError
