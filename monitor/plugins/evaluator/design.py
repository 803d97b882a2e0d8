"""Whether an evaluator's config says how its labels were drawn."""

from collections.abc import Mapping
from typing import Any

DESIGN_SETTINGS = ("random", "flagged_rate", "weight", "sizes", "prevalence")
"""Settings that say how the labels were drawn: who gives one asks for this evaluator.

MLflow tries every evaluator where none is named, and does not say whether one was."""


def says_how_drawn(config: Mapping[str, Any] | None) -> bool:
    """Return whether a setting says how the labels were drawn."""
    settings = ((config or {}).get(name) for name in DESIGN_SETTINGS)
    return any(value is not None and value is not False for value in settings)
