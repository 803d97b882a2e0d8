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

_SELDOM = 100_000  # objects made since garbage was last looked for; 700 is Python's own


def _end_quickly(codes: list[int]) -> None:
    """End now with the exit code; an error that nobody caught has none and is left to Python."""
    if codes:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # as where it was closed by whoever started this
                stream.flush()
        os._exit(codes[0])


def main() -> None:
    """Run the command line, and end without taking apart what it loaded."""
    gc.set_threshold(_SELDOM)
    codes: list[int] = []
    # The first that is registered is the last that is called: when all threads have ended and what
    # libraries register has been done.
    atexit.register(_end_quickly, codes)

    if sys.argv[1:2] == ["serve"]:
        from monitor.service import signals  # noqa: PLC0415  only the service listens

        signals.hold_reload()
    from monitor.cli import main as run  # noqa: PLC0415  after the line above, for its reason

    try:
        run()
    except SystemExit as ended:
        codes += [ended.code or 0] if isinstance(ended.code, int | None) else []
        raise


if __name__ == "__main__":
    main()
