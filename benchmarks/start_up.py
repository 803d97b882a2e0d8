"""What it costs to start a command, in processor time, beside an empty Python.

Each a process of its own with bytecode cached: the median of user and system seconds, and its ratio
to ``python -c pass``.
"""

import statistics
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

import monitor
from benchmarks.harness import usage

TREE = Path(monitor.__file__).parents[1]
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


def main(monitors: tuple[int, ...] = (1, 50), repeats: int = 7) -> None:
    """Print a line for each number of monitors and command."""
    print(f"{'monitors':>8}  {'':<22}{'now':>8}{'x pass':>8}")
    for number in monitors:
        with tempfile.TemporaryDirectory() as folder:
            measure(_filled(Path(folder) / "monitor", number), number, repeats)


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


def measure(folder: Path, monitors: int, repeats: int) -> None:
    """Print what each command costs with so many monitors."""
    begin = (datetime.now(UTC) - timedelta(days=ROUNDS + 1)).isoformat(timespec="minutes")
    seconds(folder, command(["backfill", "--from", begin]))
    for _ in range(3):  # the passes after it find what it left to do, and then nothing
        seconds(folder, command(["run-once"]))
    works = {name: ["-c", code] for name, code in WORDLESS.items()}
    works |= {name: command(words) for name, words in COMMANDS.items()}
    found = {  # the first run of each fills its cache
        name: statistics.median([seconds(folder, words) for _ in range(repeats + 1)][1:])
        for name, words in works.items()
    }
    for name, now in found.items():
        print(f"{monitors:>8}  {name:<22}{now:>8.2f}{now / found['python -c pass']:>8.1f}")


def seconds(folder: Path, arguments: list[str]) -> float:
    """Return user and system seconds of one process."""
    used = usage(arguments, cwd=folder, env=_environment(folder))
    return used.ru_utime + used.ru_stime


def command(words: list[str]) -> list[str]:
    """Return how this state of the repository runs `pr-monitor`, as its package declares it."""
    declared = (TREE / "pyproject.toml").read_text()
    module = declared.partition('pr-monitor = "')[2].partition(":")[0]
    code = f"import sys; sys.argv[0] = 'pr-monitor'; from {module} import main; sys.exit(main())"
    return ["-P", "-c", code, *words]


def _environment(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(TREE), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
