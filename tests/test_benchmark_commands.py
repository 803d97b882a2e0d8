"""The commands of benchmarks: their options are the parameters of main, and docs name real ones."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Literal

from benchmarks.harness import run

ROOT = Path(__file__).parents[1]
COMMAND = re.compile(r"`python -m benchmarks (?:--tree TREE )?([a-z_]+)([^`]*)`")


@cache
def options(name):
    tree = ast.parse((ROOT / "benchmarks" / f"{name}.py").read_text())
    [main] = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "main"]
    return {"--" + arg.arg.replace("_", "-") for arg in (*main.args.args, *main.args.kwonlyargs)}


def documented():
    texts = ("*.md", "docs/**/*.md", "benchmarks/results/*.txt")
    for page in sorted(path for pattern in texts for path in ROOT.glob(pattern)):
        for name, words in COMMAND.findall(page.read_text()):
            yield page.stem, name, words


def test_each_command_in_the_docs_is_a_benchmark_with_these_options():
    commands = list(documented())

    assert len(commands) > 50
    assert [
        (page, name, words)
        for page, name, words in commands
        if not set(re.findall(r"--[a-z-]+", words)) <= options(name)
    ] == []


def test_options_have_the_types_and_defaults_of_the_parameters_of_main():
    calls = []

    def main(
        folder: Path,
        rows: tuple[float, ...] = (1.0,),
        by: Literal["cells", "bands"] = "cells",
        parts: Literal[1, 2] = 2,
        before: Path | None = None,
        only_first: bool = False,
    ) -> None:
        calls.append((folder, tuple(rows), by, parts, before, only_first))

    run("x", main, None, ["--folder", "data"])
    run("x", main, None, ["--folder", "d", "--rows", "2", "3e3", "--parts", "1", "--only-first"])

    assert calls == [
        (Path("data"), (1.0,), "cells", 2, None, False),
        (Path("d"), (2.0, 3000.0), "cells", 1, None, True),
    ]
