"""What hangs or fails in the service, as its health page says it."""

from __future__ import annotations


def silent_text(loop: str, seconds: float) -> str:
    """Return the sentence that a loop has shown no sign of life for long.

    >>> silent_text("mlflow", 960)
    'the loop of mlflow has been silent for 16 minutes'
    """
    return f"the loop of {loop} has been silent for {_minutes(seconds)}"


def stuck_text(step: str, seconds: float) -> str:
    """Return the sentence that a step takes longer than any should."""
    return f"{step} has been under way for {_minutes(seconds)}"


def broken_text(loop: str, bug: str) -> str:
    """Return the sentence that a bug stops a loop at each tick.

    >>> broken_text("rounds", "KeyError")
    'the loop of rounds is stopped by a bug (KeyError); the log has the traceback'
    """
    return f"the loop of {loop} is stopped by a bug ({bug}); the log has the traceback"


def unable_text(monitors: int) -> str:
    """Return the sentence that no monitor can work.

    >>> unable_text(3)
    'no monitor can work: a bug stopped the last look at each of 3; the log has the traceback'
    """
    return (
        f"no monitor can work: a bug stopped the last look at each of {monitors}; the log has the "
        "traceback"
    )


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes"
