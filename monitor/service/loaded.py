"""Keeping what is loaded out of the search for garbage.

MLflow, scipy and DuckDB make some 400,000 objects that live as long as the process. Python looks
through all of them whenever it looks for cycles among the older objects, which took a tenth to a
quarter of a second in every few rounds.
"""

from __future__ import annotations

import atexit
import gc
import sys

_seen = 0


def leave_out_loaded() -> None:
    """Leave out what is there now, if modules were loaded since the last time.

    What else is there by then is never looked for either, so this is for processes that load what
    they need at their start and then go on for long.
    """
    global _seen  # noqa: PLW0603  there is one search for garbage in a process
    if len(sys.modules) == _seen:
        return
    if _seen == 0:
        # At its end Python clears up what is loaded too, and DuckDB complains of what is left.
        atexit.register(gc.unfreeze)
    _seen = len(sys.modules)
    gc.collect()
    gc.freeze()
