"""How Hypothesis runs: never by the clock, and in CI with the same examples each time."""

from __future__ import annotations

import os

from hypothesis import settings


def load() -> None:
    """Set what every property test inherits; a busy machine makes no example wrong."""
    settings.register_profile("here", deadline=None)
    settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
    settings.load_profile("ci" if os.environ.get("CI") == "true" else "here")
