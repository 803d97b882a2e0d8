"""Signs that a log keeps only a sample of the predictions, without `kept_with` in the config."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from monitor.domain.model import Frame
from monitor.domain.settings import RoundSettings
from monitor.presentation import windows

MOST_FLAGGED = 0.15
"""Flagged share above which a log of all predictions is rare: classifiers look for what is rare."""

RATIOS = (1, 2, 3, 4, 5, 9, 10, 19, 20, 49, 50, 99, 100)
"""Usual ratios of passed to flagged items in a cut log. No log of 100 flagged items has one by
chance."""
FEWEST = 100

LIBRARY_RATIO = "MLFLOW_TRACE_SAMPLING_RATIO"


def sampling_questions(
    frame: Frame, settings: RoundSettings, environ: Mapping[str, str]
) -> Iterator[str]:
    """Ask whether the log is a sample, unless ``source.kept_with`` is set."""
    if frame.is_amount or "kept_with" in (settings.source or {}):
        return
    if ratio := _library_ratio(environ):
        yield windows.library_sampling_sentence(LIBRARY_RATIO, ratio)
    flagged, passed = frame.flagged_size, frame.size - frame.flagged_size
    if flagged >= FEWEST and passed in {flagged * ratio for ratio in RATIOS}:
        yield windows.round_share_sentence(flagged, passed)
    elif settings.reference is None and MOST_FLAGGED * frame.size < flagged <= passed:
        yield windows.many_flagged_sentence(flagged, frame.size)


def _library_ratio(environ: Mapping[str, str]) -> float | None:
    """Read the share that a tracing library keeps; None if it keeps all, or is not a number."""
    try:
        ratio = float(environ.get(LIBRARY_RATIO, "1"))
    except ValueError:
        return None
    return ratio if 0 < ratio < 1 else None
