"""What people are asked for a block of classes: by each monitor, or once for all of them.

A Parquet file with the class that a classifier chose, right in .75 of cases; a monitor for each
class with this sample a round. Their rounds are put on the labeling page and answered by the
truth, once with a question of yes or no for each monitor and once with ``answer: class``. Prints
the tasks that stand on the page, both ways in one run, and whether both came to the same estimates.
That is once of a first round, which plans as many flagged items as passed ones, and once with rates
that are known from before launch, by which most labels go to passed items.
"""

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
from sqlalchemy import Connection, select

from monitor.config.load import load_config
from monitor.domain.block import Block
from monitor.domain.model import Answer
from monitor.domain.page_answer import ClassChosen, PageAnswer
from monitor.rounds import run
from monitor.storage import schema
from monitor.storage.pages import page_store
from monitor.storage.pages.page_tables import page_shares, page_tasks
from monitor.storage.tables import estimates, monitors, rounds, store, tasks
from monitor.wiring import Application, build

NOW = datetime(2026, 3, 9, 6, 5, tzinfo=UTC)
RIGHT = 0.75
CONFIG = """\
store: sqlite:///{way}.db
monitors:
  - name: mail-{{class}}
    classes: {{column: predicted, values: {classes}}}
    source: {{path: p.parquet, columns: {{id: id, time: scored_at, show: [text]}}}}
    schedule: {{cron: "0 6 * * MON"}}
    sample: {sample}
    labeling: {{kind: page, {asked}}}
    {more}
"""
WAYS = {
    "yes or no": 'question: "Is it about {class}?"',
    "class": 'question: "What is it about?", answer: class',
}


def main(
    classes: tuple[int, ...] = (3, 10, 30), sample: str = "{max_labels: 200}", rows: float = 30_000
) -> None:
    """Print a line for each number of classes."""
    print(f"sample: {sample}, {int(rows):,} rows")
    for count in classes:
        for known, more in {"nothing known": "", "rates known": reference(count)}.items():
            line = compared(count, sample, int(rows), more)
            print(f"{count:3} classes, {known:13}: {line}")


def compared(count: int, sample: str, rows: int, more: str) -> str:
    """Play both ways, and say what they came to."""
    with tempfile.TemporaryDirectory() as folder:
        truth = write_table(Path(folder), count, rows)
        each, once = (played(Path(folder), way, count, sample, more, truth) for way in WAYS)
    same = "yes" if each[1] == once[1] else "NO"
    return (
        f"{each[0]:6,} tasks by each monitor, {once[0]:6,} for all ({once[0] / each[0]:.2f}); "
        f"same estimates: {same}"
    )


def reference(classes: int) -> str:
    """Write the labels from before launch by which a plan knows the rates of such a class."""
    right = round(1000 * (RIGHT + (1 - RIGHT) / classes))
    wrong = 1000 - right
    rest = 1000 * classes - right - 2 * wrong
    return f"reference: {{tp: {right}, fp: {wrong}, fn: {wrong}, tn: {rest}}}"


def write_table(folder: Path, classes: int, rows: int) -> dict[str, int]:
    """Write the predictions, made from hashes; returns the true class of each item."""
    step = timedelta(days=7) / rows
    share = "hash(i, '{salt}') / 18446744073709551616.0"
    drawn = f"cast(floor({share} * {classes}) as int)"
    query = (
        f"select 'mail-' || i as id, timestamptz '{NOW - timedelta(days=7, minutes=5)}' "
        f"+ interval (i * {step.total_seconds() * 1e6:.0f}) microsecond as scored_at, "
        f"'mail ' || i as text, "
        f"{drawn.format(salt='truth')} as truth, 'c' || case when {share.format(salt='right')} < "
        f"{RIGHT} then {drawn.format(salt='truth')} else {drawn.format(salt='other')} end "
        f"as predicted from range({rows}) t(i)"
    )
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'")
        connection.execute(f"create table p as {query}")
        path = folder / "p.parquet"
        connection.execute(f"copy (select * exclude (truth) from p) to '{path}'")
        return dict(connection.execute("select id, truth from p").fetchall())


def played(
    folder: Path, way: str, count: int, sample: str, more: str, truth: dict[str, int]
) -> tuple[int, list[tuple[Any, ...]]]:
    """Put the first rounds on the page, answer and close them; returns tasks and estimates."""
    path = folder / "config.yaml"
    classes = "[" + ", ".join(f"c{place}" for place in range(count)) + "]"
    settings = {"way": way.replace(" ", "-"), "classes": classes, "sample": sample, "more": more}
    path.write_text(CONFIG.format(asked=WAYS[way], **settings))
    application = build(load_config(path), clock=lambda: NOW)
    schema.ready(application.database)
    with application.database.write() as connection:
        connection.execute(store.update().values(id="one store"))
    look_at_all(application)
    with application.database.write() as connection:
        asked = answers(connection, truth)
        for key, answer in asked.items():
            page_store.record_answer(connection, key, "ada", answer, before=None, now=NOW)
    look_at_all(application)
    with application.database.read() as connection:
        found = [tuple(row) for row in connection.execute(estimated())]
    application.database.close()
    return len(asked), found


def look_at_all(application: Application) -> None:
    """Look at every monitor once."""
    for context in application.monitors:
        run.run(context)


def answers(connection: Connection, truth: dict[str, int]) -> dict[str, PageAnswer]:
    """Answer each task on the page as somebody does who knows the truth."""
    own = (
        select(page_tasks.c.key, tasks.c.item_id, rounds.c.settings["block"])
        .join(tasks, tasks.c.key == page_tasks.c.key)
        .join(rounds, rounds.c.id == tasks.c.round_id)
    )
    said: dict[str, PageAnswer] = {}
    for key, item, of in connection.execute(own):
        is_true = Block.model_validate({**of, "values": tuple(of["values"])}).value
        said[key] = Answer.POSITIVE if is_true == f"c{truth[item]}" else Answer.NEGATIVE
    shared = select(page_shares.c.page_key, tasks.c.item_id).join(
        tasks, tasks.c.key == page_shares.c.task_key
    )
    return said | {key: ClassChosen(truth[item]) for key, item in connection.execute(shared)}


def estimated() -> Any:
    """Select all estimates of all monitors."""
    columns = [
        estimates.c[name] for name in ("metric", "estimand", "basis", "point", "low", "high")
    ]
    return (
        select(monitors.c.name, *columns)
        .join(rounds, rounds.c.id == estimates.c.round_id)
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
        .order_by(monitors.c.name, *columns[:3])
    )
