"""R11: the checker of R1 and R3 is no ornament; it finds bugs that are planted into the product."""

from typing import Any

import pytest

BUGS: dict[str, dict[str, Any]] = {
    "no_search_before_create_and_none_after": {"do": "everywhere", "only": "after mlflow create"},
    "no_attempt_check_in_write_back": {
        "do": "stopped_twice",
        "only": "after deliver",
        "count": 12,
        "seed": 1,
    },
    "no_state_and_no_attempt_guard_in_moves": {
        "do": "stopped",
        "only": "after show",
        "count": 1,
        "seed": 1,
    },
    "deferred_begin_on_sqlite": {
        "do": "together",
        "replicas": 3,
        "runs": 20,
        "seed": 1,
        "until_found": True,
    },
    "no_unique_slot_and_no_look_before_insert": {
        "do": "together",
        "replicas": 3,
        "runs": 20,  # who meets whom is chance
        "seed": 1,
        "until_found": True,
        "store": "postgresql",
    },
}
FOUND = {
    "no_search_before_create_and_none_after": "live runs in MLflow",
    "no_attempt_check_in_write_back": "a worker that had lost its claim wrote back",
    "no_state_and_no_attempt_guard_in_moves": "stopped by a bug",
    "deferred_begin_on_sqlite": "database is locked",
    "no_unique_slot_and_no_look_before_insert": "rounds",
}


SEEDS = (1, 2, 3)  # on a busy machine a worker may wake too late to do its damage


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(lives, tell_figures, bug):
    for seed in SEEDS:
        chosen = BUGS[bug] | ({"seed": seed} if "seed" in BUGS[bug] else {})
        done = lives(**chosen, bug=bug)
        found = any(FOUND[bug] in each for each in done["violations"])
        if found:
            break

    assert found
    tell_figures(
        "R11",
        what=bug.replace("_", " "),
        size=BUGS[bug]["do"],
        violations=f"{len(done['violations'])} (wanted: 1 or more)",
    )
