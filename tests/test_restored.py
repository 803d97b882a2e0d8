"""A backup is of one moment; a store restored from it says what it lost, and nothing is doubled.

A folder as a user has it lives through weeks on a made-up clock: task files are
filled, a hook listens, MLflow is a SQLite file. Then the store is put back to an earlier time;
where rounds are missing, `pr-monitor db restored` is run.
"""

import json
import shutil
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from monitor import wiring
from monitor.config.load import load_config
from monitor.domain.report import RoundReport
from monitor.rounds.restore import reconcile
from monitor.service import loop
from monitor.storage import schema, sqlite_file
from monitor.storage.database import Database
from monitor.storage.labels import label_store
from monitor.storage.results import alert_store
from monitor.storage.rounds import round_store
from monitor.tracking import values
from monitor.tracking.mlflow import ROUND_KEY
from monitor.tracking.shown import RESTORED, MlflowRuns
from tests.cli.workplace import NOW, Workplace
from tests.coarse import coarsely  # noqa: F401  a fixture
from tests.csv_files import read_rows, write_rows
from tests.hooks.receivers import Receiver
from tests.servers import postgres_program
from tests.small_config import runs
from tests.storage.payloads import REPORTS

SECRET = "a secret of twenty-four bytes"  # noqa: S105  made up
WEEK = timedelta(days=7)
ROUNDS = 4
KNOWN = 2  # rounds that the backup has
PER_WEEK = 600
CONFIG = """\
store: {store}
mlflow: {{tracking_uri: "sqlite:///mlflow.db"}}
monitors:
  - name: mail
    source:
      path: predictions.csv
      columns: {{id: id, time: at, score: score, show: [truth]}}
      threshold: 0.5
    schedule: {{cron: "{cron}"}}
    sample: {{max_labels: 120, bands: {{flagged: 1, passed: 1}}}}
    labeling: {{kind: files, deadline: 2d}}
    limits: {{precision: 0.7, false_alarm_every: 20}}
    reference: {{tp: 48, fp: 12, fn: 32, tn: 908}}
    hooks: [ops]
hooks:
  ops: {{kind: webhook, url: "${{OPS_HOOK}}", secret: "${{OPS_HOOK_SECRET}}", allow_private: true}}
"""


class Shop:
    """The folder, its clock, and what people do in it."""

    def __init__(self, folder, store_url, receiver):
        self.folder, self.store_url, self.receiver = folder, store_url, receiver
        self.newest = self.now = NOW.replace(second=0)
        day = self.newest.isoweekday() % 7
        cron = f"{self.newest.minute} {self.newest.hour} * * {day}"
        (folder / "config.yaml").write_text(CONFIG.format(store=store_url, cron=cron))

    def slot(self, number):
        return self.newest - (ROUNDS - number) * WEEK

    def predictions(self, precisions):
        """A tenth is flagged; of the flagged, each week's share is positive, as the text says."""
        rng, rows = np.random.default_rng(7), []
        for number, precision in enumerate(precisions, start=1):
            for i in range(PER_WEEK):
                at = self.slot(number) - WEEK + i * WEEK / PER_WEEK
                share, score = (0.03, 0.1) if i % 10 else (precision, 0.9)
                row = {"id": f"w{number}-{i:04}", "at": at.isoformat(), "score": score}
                rows.append(row | {"truth": f"is {rng.random() < share:d}"})
        write_rows(self.folder / "predictions.csv", rows)

    def once(self):
        """Do what `pr-monitor run-once` does, at the clock's time."""
        application = wiring.build(load_config(self.folder / "config.yaml"), clock=lambda: self.now)
        schema.ready(application.database)
        done = loop.one_pass(application, application.monitors)
        application.database.close()
        return done

    def week(self, number):
        """Live through a round: it is drawn, people answer, it closes, all is told."""
        self.now = self.slot(number) + timedelta(minutes=1)
        assert self.once().exit_code == 0
        self.answer()
        self.now += timedelta(hours=1)
        assert self.once().exit_code == 0

    def answer(self):
        """Fill every task file that nobody has filled, as its texts say."""
        for path in (self.folder / "labels").glob("*.csv"):
            filled = self.folder / "labels" / "filled" / path.name
            if not filled.exists():
                self.write_answers(path, filled)

    def write_answers(self, path, filled, changed=0):
        """Answer a task file; the first answers may be given the other way round."""
        rows = read_rows(path)
        for place, row in enumerate(rows):
            said = row["truth"].endswith("1") != (place < changed)
            row |= {"label": f"{said:d}", "annotator": "ada"}
        write_rows(filled, rows)

    def nobody_can_tell(self):
        """Let people answer so that the round is abandoned, of which hooks are told."""
        [path] = (self.folder / "labels").glob("*.csv")
        rows = [row | {"label": "cannot tell", "annotator": "ada"} for row in read_rows(path)]
        write_rows(path.parent / "filled" / path.name, rows)

    def change_answers(self, number):
        """Let somebody correct answers of a closed round."""
        [path] = [each for each in (self.folder / "labels").glob("mail-*.csv")
                  if f"{self.slot(number):%Y-%m-%dT%H%M}" in each.name]  # fmt: skip
        self.write_answers(path, self.folder / "labels" / "filled" / path.name, changed=4)

    def back_up(self):
        if self.store_url.startswith("sqlite"):
            database = Database(self.store_url)
            sqlite_file.back_up(database, self.folder / "copy.db")
            database.close()
        else:
            self.postgres("pg_dump", "-Fc", "-f", str(self.folder / "copy.dump"))

    def restore(self):
        """Put the backup in the place of the store, as docs/security.md says."""
        if self.store_url.startswith("sqlite"):
            for each in self.folder.glob("monitor.db*"):
                each.unlink()
            shutil.copy(self.folder / "copy.db", self.folder / "monitor.db")
            return
        self.postgres("dropdb")
        self.postgres("createdb")
        self.postgres("pg_restore", "-d", make_url(self.store_url).database, dump="copy.dump")

    def postgres(self, program, *words, dump=None):
        url = make_url(self.store_url)
        where = ["-h", str(url.host), "-p", str(url.port), "-U", str(url.username)]
        named = [str(self.folder / dump)] if dump else [str(url.database)]
        subprocess.run([postgres_program(program), *where, *words, *named], check=True)

    def read(self, ask):
        database = Database(self.store_url)
        with database.read() as connection:
            found = ask(connection)
        database.close()
        return found

    def counts(self):
        """How many rows each table holds."""
        names = ("rounds", "items", "label_events", "counts", "estimates", "alerts", "effects")
        return {name: self.rows(f"select count(*) from {name}")[0][0] for name in names}

    def rows(self, query):
        return self.read(lambda connection: [tuple(row) for row in connection.execute(text(query))])

    def rounds(self):
        return self.read(round_store.find_rounds)

    def states(self):
        return [(round_.number, str(round_.state)) for round_ in self.rounds()]

    def alerts(self):
        return self.read(alert_store.find_alerts)

    def labels(self):
        return self.read(
            lambda connection: {
                round_.number: label_store.current_labels(connection, round_.id)
                for round_ in round_store.find_rounds(connection)
            }
        )

    def reports(self):
        """The last report of each round, as the store has it."""
        payloads = [row[0] for row in self.rows(REPORTS)]
        read = [json.loads(each) if isinstance(each, str) else each for each in payloads]
        reports = [RoundReport.model_validate(each) for each in read]
        return {report.round: report for report in reports}

    def told_ids(self):
        """Ids of the notices that came, in their order."""
        return [headers["webhook-id"] for _, headers, _ in self.receiver.got]

    def told(self):
        """Events of alerts that the hook got: event and alert."""
        bodies = [json.loads(body)["data"] for _, _, body in self.receiver.got]
        return [(body["event"], body["alert"]) for body in bodies if body["alert"]]

    def command(self, *words):
        return Workplace(self.folder, self.now).run(*words)


@pytest.fixture
def receiver(folder, monkeypatch):
    with Receiver(204) as receiver:
        monkeypatch.setenv("OPS_HOOK", receiver.url)
        monkeypatch.setenv("OPS_HOOK_SECRET", SECRET)
        monkeypatch.chdir(folder)
        yield receiver


@pytest.fixture
def shop(folder, store_url, receiver):
    return Shop(folder, store_url, receiver)


@pytest.fixture
def small_shop(folder, receiver):
    """A shop for what does not depend on the database."""
    return Shop(folder, f"sqlite:///{folder}/monitor.db", receiver)


def live_through(shop, precisions):
    """Four weeks with a backup after the second, and answers of that one corrected at the end."""
    shop.predictions(precisions)
    for number in range(1, ROUNDS + 1):
        shop.week(number)
        if number == KNOWN:
            shop.back_up()
    shop.change_answers(KNOWN)
    shop.now += timedelta(hours=1)
    assert shop.once().exit_code == 0
    return SimpleNamespace(
        rounds=shop.rounds(), alerts=shop.alerts(), labels=shop.labels(), told=shop.told()
    )


def settle(shop):
    """Start everything again: two passes, as cron does them."""
    shop.now += timedelta(hours=1)
    return [shop.once().exit_code for _ in range(2)]


def assert_mlflow_is_right(shop):
    """One live run per round, which shows the metrics of the store's last version, or its loss."""
    reports = {report.round_key: report for report in shop.reports().values()}
    lost = {round_.number: round_.reason for round_ in shop.rounds() if round_.is_lost}
    by_key = {run.data.tags[ROUND_KEY]: run for run in runs(shop.folder, "monitor/mail")}
    assert len(by_key) == ROUNDS
    for key, run in by_key.items():
        number = int(run.data.tags["monitor.round"])
        if number in lost:
            assert run.data.tags[RESTORED] == lost[number]
        else:
            assert run.data.metrics == values.metrics(reports[key])
            assert run.data.tags["monitor.version"] == str(reports[key].version)


def test_lost_rounds_are_recorded_and_an_alert_that_fired_in_them_ends(shop):
    """And nothing is skipped before somebody ran the command."""
    before = live_through(shop, [0.9, 0.9, 0.1, 0.1])
    [fired] = before.alerts
    assert (fired.state, fired.fired_in_round > KNOWN) == ("firing", True)
    assert [round_.version for round_ in before.rounds[KNOWN - 1 :]] == [2, 2, 2]

    shop.restore()
    assert shop.command("db", "upgrade").code == 0
    refused = shop.once()
    status = shop.command("status")
    done = shop.command("db", "restored")
    codes = settle(shop)
    again = shop.command("db", "restored")

    assert refused.exit_code == 78
    why = str(refused.errors["mail"])
    assert f"due {shop.slot(ROUNDS):%Y-%m-%d %H:%M} UTC that the store" in why
    assert "run: pr-monitor db restored" in why
    assert "mail: STALE" in status.out
    assert "does not know: it was restored from an older backup" in " ".join(status.out.split())
    assert "pr-monitor db restored" not in shop.command("status").out
    assert (done.code, codes) == (0, [0, 0])
    lost = [(number, "skipped") for number in range(KNOWN + 1, ROUNDS + 1)]
    assert shop.states() == [(1, "closed"), (KNOWN, "closed"), *lost]
    assert shop.labels()[KNOWN] == before.labels[KNOWN]
    assert [round_.version for round_ in shop.rounds()] == [1, 3, 0, 0]
    assert_mlflow_is_right(shop)
    assert shop.alerts() == []
    assert shop.told()[len(before.told) :] == [("alert.resolved", fired.id)]
    assert f"mail: round {ROUNDS} (due {shop.slot(ROUNDS):%Y-%m-%d %H:%M} UTC) is lost:" in done.out
    assert "round 2 (due" in done.out
    assert "MLflow shows version 2, so its next version is 3" in " ".join(done.out.split())
    assert (
        f"mail: the alert {fired.id[:8]} on precision of round {fired.fired_in_round}" in done.out
    )
    assert done.err == ""
    assert again.lines == ["mail: MLflow shows nothing that the store does not know"]


@pytest.fixture
def first_slot(small_shop):
    """A shop with the predictions of one week, and no round yet."""
    small_shop.predictions([0.9])
    small_shop.now = small_shop.slot(1) + timedelta(minutes=1)
    assert small_shop.command("db", "upgrade").code == 0
    return small_shop


def test_the_command_may_be_killed_and_repeated(first_slot, monkeypatch):
    shop = first_slot
    shop.back_up()
    shop.once()
    shop.answer()
    shop.once()
    shop.restore()
    application = wiring.build(load_config(shop.folder / "config.yaml"))
    [parts] = application.monitors
    assert parts.runs is not None

    with monkeypatch.context() as patch:
        patch.setattr(MlflowRuns, "tag", interrupted)
        with pytest.raises(KeyboardInterrupt):
            reconcile(parts, parts.runs)
    application.database.close()
    again = shop.command("db", "restored")

    [lost] = shop.rounds()
    [run] = runs(shop.folder, "monitor/mail")
    assert (again.code, lost.is_lost) == (0, True)
    assert run.data.tags[RESTORED] == lost.reason


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_restored_store_goes_on_with_rounds_that_were_opened_after_the_backup(first_slot):
    shop = first_slot
    shop.back_up()
    shop.once()
    drawn = shop.rows("select round_id, id from items order by id")
    shop.answer()
    shop.once()

    shop.restore()
    codes = [shop.once().exit_code for _ in range(2)]

    assert codes == [0, 0]
    assert shop.rows("select round_id, id from items order by id") == drawn
    assert shop.rows("select state, version from rounds") == [("closed", 1)]
    assert [len(list(runs(shop.folder, name))) for name in ("monitor/mail", "monitor")] == [1, 1]


def test_what_was_told_after_the_backup_is_told_again_under_the_same_ids(first_slot):
    shop = first_slot
    assert shop.once().exit_code == 0
    shop.back_up()
    shop.nobody_can_tell()
    assert shop.once().exit_code == 0
    before, first = shop.told_ids(), shop.counts()

    shop.restore()
    restored = shop.counts()
    assert shop.once().exit_code == 0
    after = shop.told_ids()[len(before) :]

    assert len(before) == 1
    assert after == before
    assert restored["label_events"] == restored["effects"] == 0
    assert shop.counts() == first
    assert len(list(runs(shop.folder, "monitor/mail"))) == 1


def test_a_backup_taken_while_others_write_is_of_one_moment(tmp_path):
    """Two rows are always written together; a copy never has one of them."""
    database = Database(f"sqlite:///{tmp_path}/monitor.db")
    schema.ready(database)
    with database.write() as connection:
        connection.execute(text("create table pairs (number integer, half integer)"))

    def write(number):
        with database.write() as connection:
            for half in (1, 2):
                connection.execute(
                    text("insert into pairs values (:n, :h)"), {"n": number, "h": half}
                )

    with ThreadPoolExecutor(1) as pool:
        writing = [pool.submit(write, number) for number in range(200)]
        for number in range(5):
            sqlite_file.back_up(database, tmp_path / f"{number}.db")
        for each in writing:
            each.result()
    database.close()

    found = []
    for number in range(5):
        with closing(sqlite3.connect(tmp_path / f"{number}.db")) as copy:
            sql = "select count(*), count(distinct number) from pairs"
            found.append(copy.execute(sql).fetchone())
            assert copy.execute("pragma integrity_check").fetchone() == ("ok",)
    assert [whole for whole, _ in found] == [2 * pairs for _, pairs in found]
    assert found == sorted(found)
