"""What it takes to begin: processor seconds of commands, and ``uvx`` with a cold and a warm cache.

Commands read a CSV of 20,000 predictions, 1,000 of them labeled. With ``--uv`` the program comes
from ``--source`` into a cache of its own, first an empty one, and runs ``init`` on that file.
"""

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.first_minutes import write_predictions
from benchmarks.harness import usage

MATRIX = "--tp 138 --fp 22 --fn 108 --tn 4732 --flagged-size 1600 --passed-size 48400"
COMMANDS = {
    "--help": "--help",
    "estimate": f"estimate {MATRIX}",
    "plan, assumed": "plan --precision 0.8 --recall 0.6 --flagged-rate 0.03",
    "gate": "gate predictions.csv --predicted predicted --at-least recall=0.05",
    "init": "init predictions.csv --threshold 0.5",
    "plan": "plan --config config.yaml",
}


def main(repeats: int = 5, uv: Path | None = None, source: str = "git+file://.") -> None:
    """Print medians; ``uv`` is the folder of that program, ``source`` what ``uvx --from`` takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_predictions(folder / "predictions.csv", 1)
        items = pd.read_csv(folder / "predictions.csv")
        at = pd.Timestamp("2026-10-05") + pd.to_timedelta(np.arange(len(items)), unit="min")
        items.assign(at=at).to_csv(folder / "predictions.csv", index=False)
        print(f"processor seconds, medians of {repeats}")
        for title, command in COMMANDS.items():
            print(f"{title:<16}{_processor_seconds(command, folder, repeats):5.2f}", flush=True)
        if uv is not None:
            _print_uvx(uv, source, folder)


def _processor_seconds(command: str, folder: Path, repeats: int) -> float:
    seconds = []
    for _ in range(repeats + 1):  # the first one writes bytecode
        if command.startswith("init"):
            (folder / "config.yaml").unlink(missing_ok=True)
        used = usage(["-m", "monitor", *command.split()], cwd=folder, env=_environment())
        seconds.append(used.ru_utime + used.ru_stime)
    return statistics.median(seconds[1:])


def _environment() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).parents[1])}


def _print_uvx(uv: Path, source: str, folder: Path) -> None:
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    environment["UV_CACHE_DIR"] = str(folder / "cache")
    print(f"{'uvx':<16}  seconds  MB of cache  packages")
    for title in ("cold cache", "warm cache"):
        (folder / "config.yaml").unlink(missing_ok=True)
        start = time.perf_counter()
        command = [str(uv / "uvx"), "--from", source, "pr-monitor", *COMMANDS["init"].split()]
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        seconds = time.perf_counter() - start
        cache = folder / "cache"
        sizes = {file.stat().st_ino: file.stat().st_size for file in cache.rglob("*")}
        size = sum(sizes.values()) / 1e6  # environments share the files of packages
        installed = cache.glob("archive-*/*/lib/*/site-packages")
        packages = max(len([*each.glob("*.dist-info")]) for each in installed)
        print(f"{title:<16}{seconds:9.0f}{size:13.0f}{packages:10}", flush=True)
