"""R11: the checker of R1 and R3 is no ornament; it finds bugs that are planted into the product."""

import pytest


@pytest.mark.parametrize(
    ("bug", "played", "found"),
    [
        (
            "no_search_before_create_and_none_after",
            {"do": "everywhere", "only": "after mlflow create"},
            "live runs in MLflow",
        ),
        (
            "no_state_and_no_attempt_guard_in_moves",
            {"do": "stopped", "only": "after show", "count": 1, "seed": 1},
            "stopped by a bug",
        ),
    ],
)
def test_a_planted_bug_is_found(lives, bug, played, found):
    done = lives(**played, bug=bug)

    assert any(found in each for each in done["violations"])
