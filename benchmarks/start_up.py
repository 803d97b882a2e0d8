"""What it costs to start a command, in processor time, beside an empty Python.

    python -m benchmarks start_up [--monitors 1 50] [--repeats 7] [--before TREE]

Runs `pr-monitor --help`, `status`, `run-once` with nothing due and `check`, and `import
monitor.stats`, each as a process of its own with bytecode cached as an installed program has it.
`status`, `run-once` and `check` run in a folder with a store: each monitor has closed rounds of a
Parquet file, limits and margins, and MLflow is a SQLite file. Prints the median of user and system
seconds, its ratio to ``python -c pass``, and which of the heavy packages are imported.
``--before`` is another state of this repository, such as `git worktree add ../before 850b855` makes
one: each repeat then runs both, one after the other, on stores that each has filled by itself.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

HEAVY = ("mlflow", "pandas", "duckdb", "scipy", "numpy", "sqlalchemy", "pydantic", "rich")
COMMANDS = {
    "pr-monitor --help": ["--help"],
    "status": ["status"],
    "run-once, nothing due": ["run-once"],
    "check": ["check"],
}
WORDLESS = {"python -c pass": "pass", "import monitor.stats": "import monitor.stats"}
CONFIG = """\
store: sqlite:///monitor.db
mlflow: {tracking_uri: "sqlite:///mlflow.db"}
monitors:
"""
MONITOR = """\
  - name: mail-{number:02}
    source:
      path: predictions.parquet
      columns: {{id: id, time: at, score: score}}
      threshold: 0.5
    schedule: {{cron: "{cron}"}}
    sample: {{margin: {{precision: 0.05, recall: 0.05}}, max_labels: 300}}
    labeling: {{kind: column, path: predictions.parquet, id: id, value: truth, matures: 1h}}
    limits: {{precision: 0.5, recall: 0.2}}
"""
PREDICTIONS = """
copy (
    select 'm' || i as id, timestamptz '{start}' + i * interval 1 day / {rows} as at,
        score, cast(hash(i) % 1000 / 1000.0 < score as integer) as truth
    from (select i, pow(hash(-i) % 1000 / 1000.0, 4) as score from range({rows} * {days}) as t(i))
) to '{path}' (format parquet)
"""
ROWS, DAYS = 3000, 5  # a day's predictions, and the days that hold any
ROUNDS = 3


@dataclass(frozen=True)
class Tree:
    """A state of the repository, and a folder in which its commands run."""

    path: Path
    folder: Path

    def seconds(self, arguments: list[str]) -> float:
        """Return user and system seconds of one process."""
        child = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self._environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(child.pid, 0)
        if status:
            message = f"{arguments} ended with {os.waitstatus_to_exitcode(status)}"
            raise SystemExit(message)
        return used.ru_utime + used.ru_stime

    def heavy_imports(self, arguments: list[str]) -> list[str]:
        """Name the heavy packages that a process imports."""
        done = subprocess.run(
            [sys.executable, "-X", "importtime", *arguments],
            cwd=self.folder,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        return [name for name in HEAVY if name in loaded]

    def arguments(self, words: list[str]) -> list[str]:
        """Return how this state of the repository runs `pr-monitor`, as its package declares it."""
        declared = (self.path / "pyproject.toml").read_text()
        module = declared.partition('pr-monitor = "')[2].partition(":")[0]
        code = (
            f"import sys; sys.argv[0] = 'pr-monitor'; from {module} import main; sys.exit(main())"
        )
        return ["-P", "-c", code, *words]

    def _environment(self) -> dict[str, str]:
        kept = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        cache = str(self.folder / "bytecode")
        return {**kept, "PYTHONPATH": str(self.path), "PYTHONPYCACHEPREFIX": cache}


def main(
    *, monitors: tuple[int, ...] = (1, 50), repeats: int = 7, before: Path | None = None
) -> None:
    """Print a line for each number of monitors and command."""
    states = [Path(__file__).parents[1], *([before.resolve()] if before else [])]
    heads = ("now", "x pass", *(("before", "ratio") if before else ()))
    print(f"{'monitors':>8}  {'':<22}" + "".join(f"{head:>8}" for head in heads) + "  imports")
    for number in monitors:
        with tempfile.TemporaryDirectory() as folder:
            trees = [
                Tree(path, _filled(Path(folder) / f"{place}", number))
                for place, path in enumerate(states)
            ]
            measure(trees, number, repeats)


def _filled(folder: Path, monitors: int) -> Path:
    """Write predictions, and the config of so many monitors whose newest slot was just now."""
    folder.mkdir()
    slot = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=20)
    start = slot - timedelta(days=DAYS)
    path = folder / "predictions.parquet"
    duckdb.sql(PREDICTIONS.format(start=start.isoformat(), path=path, rows=ROWS, days=DAYS))
    cron = f"{slot.minute} {slot.hour} * * *"
    each = [MONITOR.format(number=number, cron=cron) for number in range(monitors)]
    (folder / "config.yaml").write_text(CONFIG + "".join(each))
    return folder


def measure(trees: list[Tree], monitors: int, repeats: int) -> None:
    """Print what each command costs with so many monitors."""
    begin = (datetime.now(UTC) - timedelta(days=ROUNDS + 1)).isoformat(timespec="minutes")
    for tree in trees:
        tree.seconds(tree.arguments(["backfill", "--from", begin]))
        for _ in range(3):  # the passes after it find what it left to do, and then nothing
            tree.seconds(tree.arguments(["run-once"]))
    works = {name: [["-c", code]] * len(trees) for name, code in WORDLESS.items()}
    for name, words in COMMANDS.items():
        works[name] = [tree.arguments(words) for tree in trees]
    found = {
        name: _medians([(tree, words) for tree, words in zip(trees, each, strict=True)], repeats)
        for name, each in works.items()
    }
    empty = found["python -c pass"][0]
    for name, (now, *before) in found.items():
        cells = [f"{now:>8.2f}", f"{now / empty:>8.1f}"]
        cells += [f"{then:>8.2f}{now / then:>8.2f}" for then in before]
        imports = ", ".join(trees[0].heavy_imports(works[name][0])) or "none of the heavy packages"
        print(f"{monitors:>8}  {name:<22}{''.join(cells)}  {imports}", flush=True)


def _medians(processes: list[tuple[Tree, list[str]]], repeats: int) -> list[float]:
    """Return the medians of processes that run in turn; the first run of each fills its cache."""
    runs = [[tree.seconds(words) for tree, words in processes] for _ in range(repeats + 1)][1:]
    return [statistics.median(column) for column in zip(*runs, strict=True)]
