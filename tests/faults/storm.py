"""A storm from outside: processes of the installed command line, and all that can befall them.

Some monitors, half of them labeled by people through files, half by a column that becomes known
later. Slots are the first hours of each day on the clock that the processes see (`fake_clock`).
Whoever answers takes longer for some windows than for the next ones, and in just those the
classifier is bad: so their rounds close after newer ones and fire.
"""

# ruff: noqa: S311  chance that can be repeated is what is wanted
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb

from monitor.domain.settings import Schedule
from monitor.domain.slots import slots_between, window_of
from tests.csv_files import as_csv, read_rows
from tests.faults.fake_clock import SLEEP
from tests.faults.sizes import sized
from tests.workers import ROOT

FIRST = datetime(2031, 3, 1, tzinfo=UTC)
"""Day of the slots that are only ever backfilled, but for its last."""

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SLOTS_A_DAY = sized(small=4, soak=8)
MONITORS = sized(small=2, soak=10)
PER_HOUR = 30
PEOPLE = ("ada lovelace", "bob o'neil", "chen")
USUAL = (0, 0, 0, 1, 2)

CONFIG = """\
store: {store}
mlflow: {{tracking_uri: "{mlflow}", experiment_prefix: "{prefix}", timeout: 60s}}
hooks:
  ops: {{kind: webhook, url: "${{HOOK}}", secret: "${{SECRET}}", allow_private: true, timeout: 2s}}
monitors:
"""
MONITOR = """\
  - name: {name}
    source:
      path: predictions.parquet
      columns: {{id: id, time: seen, score: score, show: [subject]}}
      threshold: 0.5
      where: {{monitor: {name}}}
    schedule: {{cron: "{cron}"}}
    sample: {{max_labels: 12, bands: {{flagged: 1, passed: 1}}}}
    labeling: {labeling}
    reference: {{tp: 48, fp: 5, fn: 8, tn: 99}}
    limits: {{precision: 0.9, false_alarm_every: 2}}
    hooks: [ops]
"""
FILES = "{{kind: files, folder: labels-{name}, deadline: 60d}}"
COLUMN = "{{kind: column, path: truth-{name}.parquet, id: id, value: truth, matures: 60d}}"
ROWS = """
copy (
    with rows as (
        select m, n, timestamptz '{start}' + n * interval 1 hour / {per_hour} as seen,
               'm' || m as monitor, 'm' || m || '-' || lpad(n::varchar, 7, '0') as id
        from range({count}) t(n), range({monitors}) u(m)
    ), judged as (
        select *, case when n % 3 <> 0 then hash(id) % 100 < 3
                       when b.start is null then true else hash(id) % 100 < 15 end::int as truth
        from rows left join bad b
            on b.name = monitor and seen >= b.start and seen < b.until
    )
    select id, monitor, seen, truth, 'in truth ' || truth as subject,
           case when n % 3 = 0 then 0.6 + (n % 7) / 20 else 0.05 + (n % 11) / 30 end as score
    from judged
) to '{path}'
"""
MLFLOW_CHILD = (
    SLEEP
    + """
import ctypes, signal
from monitor.service.mlflow_process import main
from monitor.storage.outbox import effect_store

effect_store.CLAIM_MS = 12 * 3600_000  # as the clock moves by hours
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: killed with its service
main()
"""
)
PROGRAM = (
    SLEEP
    + f"""
import ctypes, faulthandler, signal, sys
from monitor.service import signals
if sys.argv[1:2] == ["serve"]:
    signals.hold_reload()  # as the script pr-monitor does before it imports the rest
from datetime import timedelta
from monitor.service import loop, mlflow_process
from monitor.cli import main
from monitor.storage.outbox import effect_store
from monitor.storage.rounds import round_claims
from tests.faults.few_points import fewer_points

fewer_points(2**6)
round_claims.CLAIM_MS = effect_store.CLAIM_MS = 12 * 3600_000  # as the clock moves by hours
mlflow_process.COMMAND = (sys.executable, "-c", {MLFLOW_CHILD!r})
loop.serve.__kwdefaults__["tick"] = timedelta(seconds=1)
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: no service outlives the test
faulthandler.enable()  # the log then has where native code crashed
faulthandler.register(signal.SIGUSR1)
sys.argv = ["pr-monitor", *sys.argv[1:]]
main()
"""
)


@dataclass(frozen=True)
class Watched:
    """A monitor, and when the labels of its slots become known."""

    name: str
    cron: str
    by_people: bool
    known_at: dict[datetime, datetime]
    bad: tuple[datetime, ...]

    @property
    def schedule(self):
        return Schedule(cron=self.cron)

    @property
    def text(self):
        labeling = (FILES if self.by_people else COLUMN).format(name=self.name)
        return MONITOR.format(name=self.name, cron=self.cron, labeling=labeling)


def watched(number, days, rng):
    """Make a monitor whose slots come every hour or every third of those of a day."""
    hourly = number % 4 < 2
    every, first_bad, late = ("", 1, 3 * HOUR) if hourly else ("/3", 0, 4 * HOUR)
    cron = f"0 0-{SLOTS_A_DAY - 1}{every} 1-{days + 1} 3 *"
    slots = slots_between(Schedule(cron=cron), FIRST - DAY, FIRST + (days + 1) * DAY)
    of_story = [slot for slot in slots if slot >= FIRST + DAY]
    bad = tuple(FIRST + (day + 1) * DAY + first_bad * HOUR for day in range(days))
    known = {slot: slot + (late if slot in bad else rng.choice(USUAL) * HOUR) for slot in of_story}
    known |= {slot: slot for slot in slots if slot < FIRST + DAY}
    return Watched(f"m{number}", cron, number % 2 == 0, known, bad)


@dataclass
class Storm:
    """Folder, clock and processes."""

    folder: Path
    clock: Any
    secrets: dict[str, str]
    days: int
    seed: int
    text: str = ""
    serving: list[subprocess.Popen[bytes]] = field(default_factory=list)
    commands: list[subprocess.Popen[bytes]] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.rng = random.Random(self.seed)
        self.monitors = [watched(number, self.days, self.rng) for number in range(MONITORS)]
        self.people = [People(self, monitor) for monitor in self.monitors if monitor.by_people]
        self.true_until = FIRST

    @cached_property
    def slots(self):
        """All hours of the story, in order."""
        days = (FIRST + (day + 1) * DAY for day in range(self.days))
        return [day + hour * HOUR for day in days for hour in range(SLOTS_A_DAY)]

    def prepare(self, *, store, mlflow, prefix):
        self.text = CONFIG.format(store=store, mlflow=mlflow, prefix=prefix)
        self.text += "".join(each.text for each in self.monitors)
        (self.folder / "config.yaml").write_text(self.text)
        count = (self.days + 1) * 24 * PER_HOUR
        with duckdb.connect() as connection:
            connection.execute("set timezone = 'UTC'")
            connection.execute(
                "create table bad (name varchar, start timestamptz, until timestamptz)"
            )
            for monitor in self.monitors:
                windows = [window_of(monitor.schedule, slot) for slot in monitor.bad]
                for window in windows:
                    values = [monitor.name, window.start, window.end]
                    connection.execute("insert into bad values (?, ?, ?)", values)
            connection.execute(
                ROWS.format(
                    start=(FIRST - HOUR).isoformat(),
                    per_hour=PER_HOUR,
                    count=count,
                    monitors=MONITORS,
                    path=self.folder / "predictions.parquet",
                )
            )
        self.let_truth_be_known(FIRST + DAY)

    def let_truth_be_known(self, now):
        """Write the columns that hold what has become known by now."""
        for monitor in self.monitors:
            if monitor.by_people:
                continue
            known = [
                window_of(monitor.schedule, of) for of, at in monitor.known_at.items() if at <= now
            ]
            self._write_truth(monitor.name, known)

    def _write_truth(self, name, windows):
        target = self.folder / f"truth-{name}.parquet"
        written = target.with_suffix(".new")
        spans = " or ".join(f"(seen >= '{w.start}' and seen < '{w.end}')" for w in windows)
        with duckdb.connect() as connection:
            connection.execute("set timezone = 'UTC'")
            connection.execute(
                f"copy (select id, truth from '{self.folder}/predictions.parquet'"
                f" where monitor = '{name}' and ({spans})) to '{written}' (format parquet)"
            )
        written.replace(target)

    def start(self, *words):
        """Begin a process of the command line."""
        environment = {**os.environ, **self.clock.environment, **self.secrets}
        environment |= {"PYTHONPATH": str(ROOT), "MLFLOW_DISABLE_TELEMETRY": "true"}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *words],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def serve(self, count=2):
        while len(self.serving) < count:
            self.serving.append(self.start("serve"))

    def one_ends(self, number):
        """Let a signal reach one of the services, and start another in its place."""
        one = self.serving.pop(self.rng.randrange(len(self.serving)))
        one.send_signal(number)
        self.commands.append(one)
        self.serve()

    def reload(self):
        """Change the config without changing what it says, and let a service read it.

        An interpreter that only begins would be ended by the signal, whatever it is to run.
        """
        (self.folder / "config.yaml").write_text(f"{self.text}# {len(self.done)}\n")
        if ready := [process for process in self.serving if _minds_reload(process.pid)]:
            self.rng.choice(ready).send_signal(signal.SIGHUP)

    def command(self, *words):
        self.commands.append(self.start(*words))

    def backfill(self):
        """Fill a part of the first day of one monitor."""
        start = FIRST + self.rng.randrange(4) * HOUR
        name = self.rng.choice(self.monitors).name
        start_of, end_of = f"{start - HOUR:%Y-%m-%dT%H:%M}", f"{start + 3 * HOUR:%Y-%m-%dT%H:%M}"
        self.command("backfill", "--monitor", name, "--from", start_of, "--to", end_of)

    def kill_a_command(self):
        going = [process for process in self.commands if process.poll() is None]
        if going:
            self.rng.choice(going).kill()

    def end_all(self):
        for process in (*self.serving, *self.commands):
            if process.poll() is None:
                process.kill()
            process.wait()
        self.serving.clear()
        self.commands.clear()

    def stop(self):
        """Ask the services to stop; returns their exit codes."""
        for process in self.serving:
            process.send_signal(signal.SIGTERM)
        codes = [self._code_of(each) for each in self.serving]
        self.serving.clear()
        return codes

    def _code_of(self, process):
        try:
            return process.wait(90)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGUSR1)  # the log then has where it stands
            time.sleep(2)
            process.kill()
            return process.wait()


class People:
    """They answer the task files of one monitor, whole or in pieces, and change their mind."""

    def __init__(self, storm, each):
        self.storm = storm
        self.each = each
        self.folder = storm.folder / f"labels-{each.name}"
        self.unfinished: dict[Path, bytes] = {}
        self.answered: dict[str, list[dict[str, str]]] = {}
        self.changed: set[str] = set()

    def work(self, now):
        """Go on with what is half written, then answer what is known by now."""
        for path, rest in list(self.unfinished.items()):
            self._append(path, rest)
            del self.unfinished[path]
        for path in sorted(self.folder.glob("*.csv")):
            slot = datetime.strptime(path.name[-19:-4], "%Y-%m-%dT%H%M").replace(tzinfo=UTC)
            if path.name not in self.answered and self.each.known_at.get(slot, slot) <= now:
                self._answer(path)

    def change_one_answer(self):
        """Save a file once more, by rename, with one answer changed."""
        folder, now = self.folder / "filled", self.storm.clock.now.timestamp()
        left = [
            name
            for name in sorted(set(self.answered) - self.changed)
            if folder / name not in self.unfinished and (folder / name).stat().st_mtime < now
        ]
        if not left:
            return
        name = self.storm.rng.choice(left)
        self.changed.add(name)
        rows = self.answered[name]
        row = self.storm.rng.choice(rows)
        row["label"] = str(1 - int(row["label"]))
        self._replace(folder / name, as_csv(rows).encode())

    def _answer(self, path):
        rows = read_rows(path)
        who = self.storm.rng.choice(PEOPLE)
        for row in rows:
            row |= {"label": row["subject"][-1:], "annotator": who, "note": "as it reads"}
        self.answered[path.name] = rows
        content, target = as_csv(rows).encode(), self.folder / "filled" / path.name
        if self.storm.rng.random() < 0.5:
            self._replace(target, content)
            return
        place = self.storm.rng.randrange(len(content))
        target.touch()
        self._append(target, content[:place])
        self.unfinished[target] = content[place:]

    def _append(self, path, content):
        with path.open("ab") as stream:
            stream.write(content)
        self._date(path)

    def _replace(self, target, content):
        written = target.with_name(f".{target.name}.new")
        written.write_bytes(content)
        self._date(written)
        written.replace(target)

    def _date(self, path):
        at = self.storm.clock.now.timestamp()
        os.utime(path, (at, at))

    @property
    def said(self):
        return {row["task"]: row["label"] for rows in self.answered.values() for row in rows}

    @property
    def tasks(self):
        return [row["task"] for path in self.folder.glob("*.csv") for row in read_rows(path)]


def _minds_reload(pid):
    """Whether a process blocks or handles SIGHUP by now."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
    masks = re.findall(r"^Sig(?:Blk|Cgt):\s*(\w+)", status, re.MULTILINE)
    return any(int(mask, 16) >> (signal.SIGHUP - 1) & 1 for mask in masks)
