"""R3: several replicas on one store, some killed, some stopped for longer than their claims."""

import pytest

from tests.faults.sizes import SOAK, sized


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("replicas", [2, 3, 5] if SOAK else [3])
def test_replicas_that_are_killed_make_one_round_of_each_slot(lives, kind, replicas):
    runs = sized(small=1, soak=15)

    done = lives("replicas.together", store=kind, replicas=replicas, runs=runs, seed=replicas)

    assert done["violations"] == []
    assert done["kills"] > 0


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("stopped", "sqlite"),
        ("stopped_twice", "postgresql"),
        pytest.param("stopped", "postgresql", marks=pytest.mark.soak),
        pytest.param("stopped_twice", "sqlite", marks=pytest.mark.soak),
    ],
)
def test_who_wakes_after_its_claim_ran_out_doubles_nothing(lives, kind, how):
    """Another goes on meanwhile; when stopped twice that one is stopped too, and wakes last."""
    done = lives(f"replicas.{how}", store=kind, count=sized(small=3, soak=1000), seed=3)

    assert done["violations"] == []
    assert done["stops"] > 0
