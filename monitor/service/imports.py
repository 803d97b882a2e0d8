"""Imports of a process with worker threads: made before there are threads, reported if broken.

Two threads that import parts of one package at the same time may each wait for what the other
imports. Python then breaks one of the imports, and every later one of that package may fail too.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from monitor.domain.errors import StoppedByBug


def import_for_workers() -> None:
    """Import what worker threads need; call it while there is only one thread.

    Commands do without most of this, so modules import it where they need it.
    """
    # ruff: noqa: F401, PLC0415
    import monitor.hooks.posting
    import monitor.presentation.reasons
    import monitor.report.html
    import monitor.rounds.estimation.estimate
    import monitor.rounds.opening.due
    import monitor.rounds.parts.registry
    import monitor.rounds.run
    import monitor.rounds.sampling.window_scan
    import monitor.stats
    import monitor.stats.drift.rare_events
    import monitor.stats.drift.volume
    import monitor.stats.history.running_mean
    import monitor.stats.labels.delays
    from monitor.labeling.formats import formats

    formats()  # no two threads are to be the first to import one
    import_for_adapters()


def import_for_adapters() -> None:
    """Import the libraries of adapters that the config loaded; a missing one is reported later."""
    if "monitor.files.engine" in sys.modules:
        import duckdb
    if "monitor.plugins.lake.formats" in sys.modules:
        with suppress(ImportError):
            import deltalake.exceptions
        with suppress(ImportError):
            import pyiceberg.catalog
    if "monitor.plugins.spark.session" in sys.modules:
        with suppress(ImportError):
            import pyspark.sql


def broken_import(error: BaseException | None) -> str | None:
    """Describe the import that failed and stays broken in this process; None for other errors.

    A package that is not installed counts as another error: a new process would not find it either.
    """
    while error is not None:
        is_missing = isinstance(error, ModuleNotFoundError)
        if not is_missing and (isinstance(error, ImportError) or _was_importing(error)):
            return " ".join(f"{type(error).__name__}: {error}".split())
        error = error.__cause__ or error.__context__
    return None


def end_for(what: str) -> StoppedByBug:
    """Return the error with which a process with a broken import ends."""
    return StoppedByBug(
        f"an import failed and may keep failing in this process ({what}). The process ends, so "
        "that its supervisor starts a new one, which continues where this one stopped"
    )


def _was_importing(error: BaseException) -> bool:
    """Whether an exception left the body of a module, or Python's own lock of one."""
    if type(error).__name__ == "_DeadlockError":
        return True
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "<module>":
            return True
        trace = trace.tb_next
    return False
