"""Run a benchmark, ``python -m benchmarks NAME --help``; without a name, list them.

``python -m benchmarks --tree TREE NAME`` runs it with the code of another state of this repository,
as ``git worktree add TREE COMMIT`` makes one.
"""

import ast
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.harness import run


def main(words: list[str]) -> None:
    """Run the benchmark that the first word names."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    if words[:1] == ["--tree"]:
        sys.path.insert(0, str(Path(words[1]).resolve()))
        words = words[2:]
    if words and words[0] not in ("-h", "--help"):
        if not (Path(__file__).parent / f"{words[0]}.py").exists():
            sys.exit(f"no benchmark is called {words[0]!r}; python -m benchmarks lists them")
        benchmark = import_module(f"benchmarks.{words[0]}")
        run(words[0], benchmark.main, benchmark.__doc__, words[1:])
        return
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        text = path.read_text()
        if "\ndef main(" in text:
            title = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
            print(f"{path.stem:<20}{title}")


if __name__ == "__main__":
    main(sys.argv[1:])
