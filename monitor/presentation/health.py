"""What hangs in the service, as its health page says it."""

from __future__ import annotations


def silent_text(loop: str, seconds: float) -> str:
    """Say that a loop has shown no sign of life for long.

    >>> silent_text("mlflow", 960)
    'the loop of mlflow has been silent for 16 minutes'
    """
    return f"the loop of {loop} has been silent for {_minutes(seconds)}"


def stuck_text(step: str, seconds: float) -> str:
    """Say that a step takes longer than any should."""
    return f"{step} has been under way for {_minutes(seconds)}"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes"
