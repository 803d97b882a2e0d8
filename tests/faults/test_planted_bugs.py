"""R11: the checker of R1 and R3 is no ornament; it finds bugs that are planted into the product."""

from typing import Any

import pytest

BUGS: dict[str, dict[str, Any]] = {
    "no_search_before_create_and_none_after": {"do": "everywhere", "only": "after mlflow create"},
    "no_state_and_no_attempt_guard_in_moves": {
        "do": "stopped",
        "only": "after show",
        "count": 1,
        "seed": 1,
    },
}
FOUND = {
    "no_search_before_create_and_none_after": "live runs in MLflow",
    "no_state_and_no_attempt_guard_in_moves": "stopped by a bug",
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(lives, tell_figures, bug):
    done = lives(**BUGS[bug], bug=bug)

    assert any(FOUND[bug] in each for each in done["violations"])
    tell_figures(
        "R11",
        what=bug.replace("_", " "),
        size=BUGS[bug]["do"],
        violations=f"{len(done['violations'])} (wanted: 1 or more)",
    )
