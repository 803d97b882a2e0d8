"""Which small faults in `monitor.stats` its tests notice: a random sample of mutmut's mutants.

Each subpackage has its share of the sample, and 40 mutants at least. Not among them is what changes
messages, defaults of parameters, docstrings and decorated functions. Tests run against a mutant
until one fails; one that takes a minute of CPU fails as well. ``make mutants SAMPLE=400`` runs it.
"""

import argparse
import os
import random
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import libcst
import numpy as np
import pytest
from mutmut.mutation.file_mutation import create_mutations
from numpy.typing import NDArray

STATS = Path("monitor/stats")
LEAST, SECONDS = 40, 60


@dataclass(frozen=True, eq=False)
class Mutant:
    """One small change of one function."""

    path: Path
    function: str
    tree: libcst.Module
    old: libcst.CSTNode
    new: libcst.CSTNode

    def __str__(self) -> str:
        lines = zip(self.tree.code.splitlines(), self._source().splitlines(), strict=False)
        line, old, new = next((i, a, b) for i, (a, b) in enumerate(lines, 1) if a != b)
        return f"{self.path}:{line} {self.function}: {old.strip()}  ->  {new.strip()}"

    def install(self) -> None:
        """Give the function the changed code, wherever it has been imported to."""
        codes = _codes(compile(self._source(), self.path, "exec"))
        *_, code = (each for each in codes if each.co_qualname == self.function)
        found: Any = sys.modules[self._module()]
        for name in self.function.split("."):
            found = vars(found)[name]
        getattr(found, "__func__", found).__code__ = code  # what a class method wraps

    def distance(self, test: pytest.Item) -> int:
        """0 for a test of the module, 1 where the file names it or the function, else 2."""
        if test.path.name in {self.path.name, f"test_{self.path.name}"}:
            return 0
        text = _text(test.path)
        return 1 if self._module() in text or self.function.rpartition(".")[2] in text else 2

    def _source(self) -> str:
        return str(self.tree.deep_replace(self.old, self.new).code)

    def _module(self) -> str:
        return ".".join(self.path.with_suffix("").parts)


@cache
def _text(path: Path) -> str:
    return path.read_text()


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, type(code)):
            yield from _codes(each)


def mutants(path: Path) -> list[Mutant]:
    """Mutants of a module, in the order of its text."""
    tree, mutations, *_ = create_mutations(str(path), path.read_text())
    names = dict(_functions(tree.body))
    left_out = {id(node) for each in names for node in _nodes(each.params)}
    left_out |= {id(node) for each in _nodes(tree) if _is_message(each) for node in _nodes(each)}
    return [
        Mutant(path, names[outer], tree, each.original_node, each.mutated_node)
        for each in mutations
        if (outer := each.contained_by_top_level_function) in names
        and id(each.original_node) not in left_out
    ]


def _functions(
    body: Sequence[libcst.CSTNode], of: str = ""
) -> Iterator[tuple[libcst.FunctionDef, str]]:
    for each in body:
        if isinstance(each, libcst.FunctionDef):
            yield each, of + each.name.value
        elif isinstance(each, libcst.ClassDef):
            yield from _functions(each.body.body, f"{each.name.value}.")


def _nodes(node: libcst.CSTNode) -> Iterator[libcst.CSTNode]:
    yield node
    for each in node.children:
        yield from _nodes(each)


def _is_message(node: libcst.CSTNode) -> bool:
    match node:
        case libcst.Raise():
            return True
        case libcst.Assign(targets=[libcst.AssignTarget(target=libcst.Name(value="message"))]):
            return True
    return False


def choose(sample: int, seed: int) -> dict[str, tuple[int, list[Mutant]]]:
    """By subpackage, how many mutants there are and those drawn."""
    rng = random.Random(seed)  # noqa: S311  # no secret is made of it
    folders = [each.parent for each in sorted(STATS.glob("*/__init__.py"))]
    found = [
        [one for path in sorted(each.glob("*.py")) for one in mutants(path)] for each in folders
    ]
    total = sum(map(len, found))
    return {
        folder.name: (
            len(each),
            rng.sample(each, min(len(each), max(LEAST, sample * len(each) // total))),
        )
        for folder, each in zip(folders, found, strict=True)
    }


class Run:
    """Takes the place of pytest's own loop: the tests once against each mutant."""

    def __init__(self, chosen: list[Mutant]) -> None:
        self.chosen, self.survivors = chosen, list[Mutant]()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run them, first on what is not changed; each time in a process of its own."""
        if not self._survives(None, session):
            message = "a test fails without any mutant: see `make test`"
            raise pytest.UsageError(message)
        for mutant in self.chosen:
            survives = self._survives(mutant, session)
            self.survivors += [mutant] if survives else []
            print("SURVIVED" if survives else "killed  ", mutant, file=sys.__stderr__)
        return True

    def _survives(self, mutant: Mutant | None, session: pytest.Session) -> bool:
        child = os.fork()
        if child:
            return os.waitpid(child, 0)[1] == 0  # else by its exit code, or by the timer
        killed = True
        try:
            silence = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(silence, stream)
            killed = self._is_killed(mutant, session)
        finally:
            os._exit(killed)

    def _is_killed(self, mutant: Mutant | None, session: pytest.Session) -> bool:
        tests = session.items
        if mutant is not None:
            mutant.install()
            tests = sorted(tests, key=mutant.distance)
        for test, following in zip(tests, [*tests[1:], None], strict=True):
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            session.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            if session.testsfailed:
                return True
        return False


def show(chosen: dict[str, tuple[int, list[Mutant]]], survivors: list[Mutant]) -> None:
    """Print the share killed by subpackage, and in all as it would be among all mutants."""
    rng = np.random.default_rng(0)
    total = sum(size for size, _ in chosen.values())
    in_all, draws = 0.0, np.zeros(100_000)
    print(f"{'':<12}{'mutants':>8}{'ran':>6}{'killed':>8}{'share':>8}  95 %")
    for name, (size, ran) in chosen.items():
        killed = sum(each not in survivors for each in ran)
        shares = rng.beta(killed + 0.5, len(ran) - killed + 0.5, draws.size)  # Jeffreys's posterior
        in_all, draws = in_all + size / total * killed / len(ran), draws + size / total * shares
        print(_line(name, size, len(ran), killed, killed / len(ran), shares))
    ran = [each for _, some in chosen.values() for each in some]
    print(_line("in all", total, len(ran), len(ran) - len(survivors), in_all, draws))


def _line(
    name: str, total: int, ran: int, killed: int, share: float, draws: NDArray[np.float64]
) -> str:
    low, high = np.quantile(draws, [0.025, 0.975])
    return f"{name:<12}{total:>8}{ran:>6}{killed:>8}{share:>8.3f}  {low:.3f}-{high:.3f}"


def main() -> None:
    """Choose, run and show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chosen = choose(options.sample, options.seed)
    run = Run([each for _, ran in chosen.values() for each in ran])
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    tests = ["tests/stats", str(STATS), "--confcutdir=tests/stats", "-m", "not simulation"]
    pytest.main(["-q", "-s", "-p", "no:cacheprovider", *tests], plugins=[run])
    show(chosen, run.survivors)


if __name__ == "__main__":
    main()
