"""Each item, and each pair of items, is drawn as often as chance would; what is not, is seen."""

import numpy as np
import pytest

from benchmarks import same_sample as benchmark


def larger(strata):
    """Share of random sets of samples that spread more, by what is counted."""
    return {name: float(share) for name, _, share in benchmark.compared(strata, sets=30)}


def random_samples(size=30, taken=10):
    sizes = [(size, taken), (50, 10)]
    return benchmark.drawn_by_generator(np.random.default_rng(3), sizes, count=400)


def test_the_rule_draws_as_evenly_as_a_generator(monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "SETS", 10)

    benchmark.main(kinds=("unicode",), seeds=30)

    sizes, _, *rows = capsys.readouterr().out.splitlines()
    assert sizes.startswith("unicode, 30 seeds; drawn of each stratum: 20 of ")
    assert [row.split()[-1] for row in rows] != ["0.00"] * 3
    assert all(0.8 < float(row.split()[-2]) < 1.2 for row in rows)


@pytest.mark.parametrize("counted", ["items", "pairs within", "pairs across"])
def test_samples_that_are_not_are_seen(counted):
    first, second = random_samples()
    if counted == "items":  # one is drawn each time
        first = np.hstack([np.ones((400, 1)), random_samples(29, 9)[0]])
    elif counted == "pairs within":  # neighbours go together
        first = np.repeat(random_samples(15, 5)[0], 2, axis=1)
    else:  # one stratum follows the other
        second = np.hstack([first, np.zeros((400, 20))])

    assert larger([first, second])[counted] == 0
