"""`pr-monitor` as its own process; `python -m monitor` is the same.

A command that reaches MLflow loads three thousand modules. Nothing in them is ever garbage, yet
Python would look through it again and again while it loads, and take it apart object by object at
the end: a third of what `pr-monitor check` costs.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from dataclasses import dataclass

_SELDOM = 100_000  # objects made since garbage was last looked for; 700 is Python's own


@dataclass(slots=True)
class _QuickEnd:
    """Ends the process with its exit code, after all that Python does before it tidies up."""

    code: int | None = None

    def end(self) -> None:
        """End now; an error that nobody caught has no code and is left to Python."""
        if self.code is None:
            return
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # as where it was closed by whoever started this
                stream.flush()
        os._exit(self.code)


def main() -> None:
    """Run the command line, and end without taking apart what it loaded."""
    gc.set_threshold(_SELDOM)
    quick = _QuickEnd()
    # The first that is registered is the last that is called: when all threads have ended and what
    # libraries register has been done.
    atexit.register(quick.end)

    if sys.argv[1:2] == ["serve"]:
        from monitor.service import signals  # noqa: PLC0415  only the service listens

        signals.hold_reload()
    from monitor.cli import main as run  # noqa: PLC0415  after the line above, for its reason

    try:
        run()
    except SystemExit as ended:
        quick.code = ended.code or 0 if isinstance(ended.code, int | None) else None
        raise


if __name__ == "__main__":
    main()
