"""Whether the md5 rule draws each item, and each pair of items, as often as chance would.

Draws one window by the seeds of so many weekly rounds of a monitor, from DuckDB and from SQLite
(and from PostgreSQL where an address is given), which have to agree, and counts how often each item
was drawn of each stratum, each pair of items of one stratum, and each pair of items of two strata.
Of each it prints how far the counts are spread, as a multiple of what is expected of simple random
samples without replacement that are independent between strata, and where that stands among as many
samples by numpy's generator: ``larger`` is the share of these sets whose spread is larger.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.harness import Values
from benchmarks.same_sample import EDGES, START, WINDOW, filled
from monitor.domain.block import seed_of
from monitor.domain.ports import Source

Drawn = Values
"""One row a seed, one column an item of a stratum: 1 where it was drawn."""


ROWS = 600
CANDIDATES = 20
STORE = "00000000-0000-4000-8000-000000000000"


def drawn_by(source: Source, seeds: Sequence[str]) -> list[Drawn]:
    """Draw the window by each seed; one array of a stratum.

    An item that no seed draws keeps a column, since sizes are counted by the source.
    """
    frames = [source.scan(WINDOW, EDGES, CANDIDATES, seed) for seed in seeds]
    found = []
    for stratum in range(len(EDGES)):
        parts = [frame.strata[stratum] for frame in frames]
        ids = {each.id for part in parts for each in part.candidates}
        place = {name: column for column, name in enumerate(sorted(ids))}
        drawn = np.zeros((len(seeds), parts[0].size))
        for row, part in enumerate(parts):
            drawn[row, [place[each.id] for each in part.candidates]] = 1
        found.append(drawn)
    return found


def drawn_by_generator(
    rng: np.random.Generator, sizes: Sequence[tuple[int, int]], count: int
) -> list[Drawn]:
    """Draw as many simple random samples, each of so many of a stratum's items."""
    found = []
    for size, taken in sizes:
        drawn = np.zeros((count, size))
        order = rng.permuted(np.tile(np.arange(size), (count, 1)), axis=1)
        np.put_along_axis(drawn, order[:, :taken], 1, axis=1)
        found.append(drawn)
    return found


def spreads(strata: Sequence[Drawn]) -> dict[str, float]:
    """Compare the spread of the counts with its expectation, which is 1, by what is counted."""
    found: dict[str, list[tuple[float, float]]] = {"items": [], "pairs within": []}
    for drawn in strata:
        found["items"].append(_of_items(drawn))
        found["pairs within"].append(_of_pairs(drawn))
    found["pairs across"] = [_of_two(*both) for both in combinations(strata, 2)]
    return {
        name: sum(seen for seen, _ in each) / sum(expected for _, expected in each)
        for name, each in found.items()
    }


def _of_items(drawn: Drawn) -> tuple[float, float]:
    """Sum the squares of deviations of the items' counts; with what binomial counts have."""
    count, size = drawn.shape
    share = drawn.sum() / drawn.size
    one = share * (1 - share)
    return float(((drawn.sum(axis=0) - count * share) ** 2).sum()), count * size * one


def _of_pairs(drawn: Drawn) -> tuple[float, float]:
    """As `_of_items`, of how often both of two items were drawn: n (n - 1) / N (N - 1)."""
    count, size = drawn.shape
    taken = drawn.sum() / count
    share = taken * (taken - 1) / (size * (size - 1))
    both = (drawn.T @ drawn)[np.triu_indices(size, 1)]
    return float(((both - count * share) ** 2).sum()), both.size * count * share * (1 - share)


def _of_two(first: Drawn, second: Drawn) -> tuple[float, float]:
    """As `_of_items`, of how often items of two strata were drawn together."""
    count = len(first)
    share = (first.sum() / first.size) * (second.sum() / second.size)
    both = first.T @ second
    return float(((both - count * share) ** 2).sum()), both.size * count * share * (1 - share)


def compared(strata: Sequence[Drawn], sets: int, seed: int = 1) -> Iterator[tuple[str, float, str]]:
    """Give the name of each count, its spread, and the share of random sets that spread more."""
    own = spreads(strata)
    count = len(strata[0])
    sizes = [(drawn.shape[1], round(drawn.sum() / count)) for drawn in strata]
    rng = np.random.default_rng(seed)
    others = [spreads(drawn_by_generator(rng, sizes, count)) for _ in range(sets)]
    for name, spread in own.items():
        larger = np.mean([other[name] > spread for other in others])
        yield name, spread, f"{larger:.2f}"


def main(seeds: int = 2000, sets: int = 200, kind: str = "unicode", postgres: str = "") -> None:
    """Print whether the engines agree, and the table of spreads."""
    every = [seed_of(STORE, 1, START + week * timedelta(weeks=1)) for week in range(seeds)]
    with tempfile.TemporaryDirectory() as folder:
        urls = {"sqlite": f"sqlite:///{folder}/uniform.sqlite"}
        if postgres:
            urls["postgresql"] = postgres
        sources = filled(Path(folder), urls, ROWS, [kind])[kind]
        drawn = {name: drawn_by(source, every) for name, source in sources.items()}
    _print(drawn, sets)


def _print(drawn: Mapping[str, Sequence[Drawn]], sets: int) -> None:
    first, *others = drawn.values()
    agree = all(np.array_equal(a, b) for other in others for a, b in zip(first, other, strict=True))
    names = ", ".join(drawn)
    print(f"{names}: {len(first[0]):,} seeds, {'same' if agree else 'DIFFERENT'} items")
    sizes = ", ".join(f"{round(each.sum() / len(each))} of {each.shape[1]}" for each in first)
    print(f"drawn of each stratum: {sizes}")
    print("counted       spread  larger")
    for name, spread, larger in compared(first, sets):
        print(f"{name:<14}{spread:6.3f}  {larger:>6}")
