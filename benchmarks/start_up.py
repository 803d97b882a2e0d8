"""How long `pr-monitor --help` and `import monitor.stats` take, beside an empty Python.

Run ``python benchmarks/start_up.py``. It runs each in turn as its own process, bytecode cached as
an installed program has it, and prints the medians in seconds, their ratios to ``python -c pass``,
and which of the heavy packages each imports. `--help` is to stay under 0.3 s and to import none of
them; ``monitor.stats`` needs numpy and scipy and may import neither pandas nor mlflow.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

HEAVY = ("mlflow", "pandas", "duckdb", "matplotlib", "scipy", "numpy", "sqlalchemy", "pydantic")
HELP = "import sys; sys.argv = ['pr-monitor', '--help']; import monitor.cli; monitor.cli.main()"
WORK = {
    "python -c pass": "pass",
    "pr-monitor --help": HELP,
    "import monitor.stats": "import monitor.stats",
}


def seconds(code: str, environment: dict[str, str]) -> float:
    """Wall time of one process that runs a piece of Python."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL, env=environment
    )
    return time.perf_counter() - start


def cached_in(folder: str) -> dict[str, str]:
    """Return this environment with bytecode cached in a folder of its own."""
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": folder}


def heavy_imports(code: str) -> list[str]:
    """Name the heavy packages that a piece of Python imports."""
    told = f"print(' '.join(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)"
    guarded = f"import sys\ntry:\n    exec({code!r})\nexcept SystemExit:\n    pass\n{told}"
    done = subprocess.run(
        [sys.executable, "-c", guarded], check=True, capture_output=True, text=True
    )
    return done.stderr.split()


def main() -> None:
    """Time all, one after the other, and print medians, ratios and imports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats

    with tempfile.TemporaryDirectory() as folder:
        environment = cached_in(folder)
        rounds = [
            [seconds(code, environment) for code in WORK.values()] for _ in range(repeats + 1)
        ][1:]  # the first fills the cache
    medians = [statistics.median(column) for column in zip(*rounds, strict=True)]

    print(f"{repeats} interleaved repeats, medians")
    for (name, code), median in zip(WORK.items(), medians, strict=True):
        imported = ", ".join(heavy_imports(code)) or "none of the heavy packages"
        print(f"{name:<22}{median:7.3f} s {median / medians[0]:7.1f} x   imports {imported}")


if __name__ == "__main__":
    main()
