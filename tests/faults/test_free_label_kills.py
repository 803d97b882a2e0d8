"""R1 for several labelers: truth in PostgreSQL and people on the page, killed at each step."""

import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import yaml
from sqlalchemy import create_engine, text

from monitor.config.load import load_config
from monitor.domain.model import Answer
from monitor.service import loop
from monitor.service.pages.labeling.outcome import AnswerOutcome
from monitor.service.pages.labeling.task_queue import TaskQueue
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.wiring import build
from tests.small_config import rows as stored_rows
from tests.workers import lives_until_one_is_whole

SLOT = datetime(2025, 3, 10, 6, tzinfo=UTC)
FLAGGED, ITEMS, CHECKS = 30, 120, 8
COLUMN: dict[str, Any] = {
    "kind": "column",
    "id": "case_id",
    "value": "verdict",
    "late_labels": "60d",
}
COLUMN |= {"positive": ["fraud"], "negative": ["fine"]}
LABELING = {
    "flagged": {**COLUMN, "table": "cases", "time": "known", "matures": "30d"}
    | {"missing_means": "negative", "checks": CHECKS},
    "passed": {"kind": "page", "question": "Is it fraud?", "deadline": "7d"},
}
STAGES = (0, 1, 3, 20, 31, 40)
"""Days after the slot; at the last the truth of a closed round changes."""

LIVES = """
from pathlib import Path

import alembic.command, monitor.sources.sql, monitor.sources.table_truths, psycopg

from monitor.domain import crashpoint
from tests.faults.few_points import fewer_points
from tests.faults.test_free_label_kills import live

fewer_points(2**10)


def one(last):
    live(sys.argv[1], Path(sys.argv[2]), killed_at(last))


lives(one)
"""


def is_fraud(number):
    """Whether an item is fraud: two in three of the flagged ones, one in nine of the others."""
    return number % 3 != 0 if number <= FLAGGED else number % 9 == 0


def cases(day):
    """Rows of the flagged items that the table has on a day: the newest of each counts."""
    rows = []
    for number in range(1, FLAGGED + 1):
        if number % 5 == 0 or (day < 20 and number % 2):
            continue  # one in five never gets a row, and half of the others come late
        rows.append(
            (number, "fraud" if is_fraud(number) else "fine", SLOT + timedelta(days=number % 2))
        )
    changed = ((20, 2), (40, 4))  # on that day, another word on that item
    rows += [(n, "fine", SLOT + timedelta(days=on)) for on, n in changed if day >= on]
    return rows


def put_tables(url, day):
    """Let the tables be as they are on a day, in one transaction."""
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("delete from cases"))
        connection.execute(
            text("insert into cases values ('p' || :n, :verdict, :known)"),
            [{"n": n, "verdict": verdict, "known": known} for n, verdict, known in cases(day)],
        )
    engine.dispose()


def set_up(url, folder):
    """Make the tables and the config."""
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(
            text("create table cases (case_id text, verdict text, known timestamptz)")
        )
        connection.execute(
            text(
                "create table payments as select 'p' || i as id, 'item ' || i as shown, "
                f"case when i <= {FLAGGED} then 0.9 else 0.1 end as score, "
                "timestamptz '2025-03-04 06:00+00' + make_interval(mins => i) as at "
                f"from generate_series(1, {ITEMS}) t(i)"
            )
        )
    engine.dispose()
    columns = {"id": "id", "time": "at", "score": "score", "show": ["shown"]}
    source = {"kind": "sql", "url": url, "table": "payments", "threshold": 0.5}
    monitor = {
        "name": "fraud",
        "source": {**source, "columns": columns},
        "schedule": {"cron": "0 6 10 3 *"},
        "sample": {"max_labels": 30},
        "labeling": LABELING,
    }
    config = {"store": url, "mlflow": {"tracking_uri": "http://127.0.0.1:9"}, "monitors": [monitor]}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


def live(url, folder, at_points):
    """Go on from the stage in which the last life ended."""
    from monitor.domain import crashpoint  # noqa: PLC0415  set in a fork alone

    notes = folder / "stages.txt"
    begun = len(notes.read_text().split()) if notes.exists() else 0
    crashpoint.hook = at_points
    for day in STAGES[begun:]:
        now = SLOT + timedelta(days=day)
        put_tables(url, day)
        application = build(load_config(folder / "config.yaml"), clock=partial(_shown, now))
        schema.ready(application.database)
        for _ in range(2):
            for context in application.monitors:
                error = loop.advance(context)
                assert error is None, error
            label(application.database, now, some=day == 1)
        with notes.open("a") as stream:
            stream.write(f"{day}\n")
            os.fsync(stream.fileno())
        application.database.close()


def _shown(now):
    """What the clock shows."""
    return now


def label(database, now, *, some):
    """Let a person answer what is on the page, or two screens of it."""
    desk = TaskQueue(database, lambda: now, lambda: ["fraud"])
    for _ in range(2 if some else 100):
        tasks = desk.screen("ada").tasks
        for task in tasks:
            number = int(str((task.shown or {})["shown"]).removeprefix("item "))
            answer = Answer.POSITIVE if is_fraud(number) else Answer.NEGATIVE
            outcome = desk.record_answer("ada", task.key, answer, task.revision)
            assert outcome is AnswerOutcome.TAKEN, outcome
        if not tasks:
            return


def test_free_labels_and_answers_are_counted_once_wherever_it_is_killed(postgres_url, tmp_path):
    set_up(postgres_url, tmp_path)

    codes = list(lives_until_one_is_whole(LIVES, postgres_url, tmp_path))

    database = Database(postgres_url)
    rows = partial(stored_rows, database)
    [(state, version)] = rows("select state, version from rounds")
    flagged = rows(
        "select sum(labeled), sum(positive) from counts join strata using (round_id, stratum) "
        f"where flagged and version = {version}"
    )
    of_people = rows("select item_id from page_answers left join tasks on key = task_key")
    asked = set(rows("select item_id, part, slot from tasks"))
    [(checks,)] = rows(
        f"select counts from round_parts where version = {version} and name = 'checks'"
    )
    given = rows("select item_id, count(*) from label_events where annotator = 'ada' group by 1")
    database.close()

    newest = {number: verdict for number, verdict, _ in sorted(cases(40), key=lambda row: row[2])}
    fraud = {n for n in range(1, FLAGGED + 1) if newest.get(n) == "fraud"}
    assert (state, version) == ("closed", 2)
    assert flagged == [(FLAGGED, len(fraud))]
    checked = {int(item[1:]) for item, _, slot in asked if slot == 0}
    truth = Counter((is_fraud(n), n in fraud) for n in checked)
    of_flagged = (truth[True, True], truth[True, False], truth[False, False], truth[False, True])
    assert checks == {"flagged": dict(zip(("tp", "fn", "tn", "fp"), of_flagged, strict=True))}
    assert len(checked) == CHECKS
    passed = {(item, part) for item, part, slot in asked if int(item[1:]) > FLAGGED and slot == 1}
    assert {part for _, part in passed} == {1}
    by_page = {item for item, _ in passed} | {f"p{n}" for n in checked}
    assert Counter(item for (item,) in of_people) == Counter(by_page)
    assert dict(given) == dict.fromkeys(by_page, 1)
    assert len(codes) > 10
