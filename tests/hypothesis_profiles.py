"""How Hypothesis runs: never by the clock, and in CI with the same examples each time."""

import os

from hypothesis import Phase, settings


def load() -> None:
    """Set what every property test inherits; a busy machine makes no example wrong."""
    settings.register_profile("here", deadline=None)
    settings.register_profile(
        "ci", deadline=None, derandomize=True, print_blob=True, max_examples=50
    )
    settings.register_profile(
        "mutants",  # whether a test fails, the same each time; not by how little
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        report_multiple_bugs=False,
    )
    default = "ci" if os.environ.get("CI") == "true" else "here"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", default))
