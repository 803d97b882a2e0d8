"""Labels counted whole, counted again after the config, the predictions or the truth changed."""

import csv
import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.config.load import load_config
from monitor.domain.errors import MonitorError
from monitor.rounds import censuses, run
from monitor.storage import schema
from monitor.wiring import build

WEEK = timedelta(days=7)
FIRST = datetime(2025, 3, 3, 6, tzinfo=UTC)
ITEMS = 60
SOURCE: dict[str, Any] = {
    "path": "predictions/*.csv",
    "columns": {"id": "id", "time": "at", "score": "score", "segments": ["country"]},
    "threshold": 0.5,
}
LABELING = {"kind": "column", "path": "truth.csv", "id": "id", "value": "label", "matures": "1h"}


@dataclass
class Weeks:
    """A monitor whose weekly rounds count all labels, over a file of predictions a week."""

    folder: Path
    now: datetime = FIRST + WEEK + timedelta(hours=2)

    def __post_init__(self):
        (self.folder / "predictions").mkdir()
        self.truth = {}
        for week in range(3):
            self.write_week(week)
        self.write_truth()

    def write_week(self, week):
        """Write the predictions of a week, of which every second flagged one is positive."""
        rows = []
        for n in range(ITEMS):
            name, at = f"{week}-{n:02}", FIRST + week * WEEK + timedelta(hours=2 * n)
            rows.append([name, at.isoformat(), n / ITEMS, "CZ" if n % 3 else "DE", "ab"[n % 2]])
            self.truth[name] = int(n >= ITEMS / 2 and n % 2)
        head = ["id", "at", "score", "country", "tier"]
        self.write(f"predictions/{week}.csv", [head, *rows])

    def write_truth(self, **changed):
        """Write the truth, of which some labels are others."""
        self.write("truth.csv", [["id", "label"], *(self.truth | changed).items()])

    def write(self, name, rows):
        """Write a file of rows."""
        with (self.folder / name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)

    def play(self, source=None, labeling=None, **monitor: Any):
        """Look at the monitor once, by a config that is written for it."""
        one = {
            "name": "m",
            "source": SOURCE | (source or {}),
            "schedule": {"cron": "0 6 * * MON"},
            "sample": {"max_labels": "all"},
            "labeling": LABELING | (labeling or {}),
            **monitor,
        }
        config = {"mlflow": {"tracking_uri": "http://127.0.0.1:9"}, "monitors": [one]}
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config))
        application = build(load_config(self.folder / "config.yaml"), clock=lambda: self.now)
        self.database = application.database
        schema.ready(self.database)
        [context] = application.monitors
        run.run(context)
        return context

    def rows(self, query):
        """Ask the store."""
        with self.database.read() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(query)]

    def positives(self, number):
        """Positive labels of a round's newest version, flagged and passed."""
        return self.rows(
            "select c.stratum, c.positive from counts c join rounds r on r.id = c.round_id and "
            f"r.version = c.version where r.number = {number} order by 1"
        )

    def total(self, number):
        """All positive labels of a round."""
        return sum(count for _, count in self.positives(number))

    def concerns(self):
        """Number of each round of which something is noted, and what."""
        return self.rows(
            "select r.number, c.sentence from concerns c join rounds r on r.id = c.round_id"
        )


@pytest.fixture
def weeks(store_folder):
    """Return two closed rounds whose labels may still change."""
    weeks = Weeks(store_folder)
    weeks.play()
    weeks.now += WEEK
    weeks.play()
    assert weeks.rows("select number, state from rounds") == [(1, "closed"), (2, "closed")]
    return weeks


def test_a_round_whose_predictions_are_deleted_keeps_its_count_and_says_so_once(weeks):
    before = weeks.total(1), weeks.total(2)
    (weeks.folder / "predictions" / "0.csv").unlink()
    weeks.write_truth(**{"0-59": 0, "1-59": 0})

    weeks.play()
    weeks.play()

    assert (weeks.total(1), weeks.total(2)) == (before[0], before[1] - 1)
    [(number, sentence)] = weeks.concerns()
    assert (number, "keeps its last count of 60 labels" in sentence) == (1, True)
    notices = "select count(*) from effects where payload like '%keeps its last count%'"
    assert weeks.rows(f"{notices} and sink = 'log'") == [(1,)]


def test_predictions_that_are_back_are_counted_again_and_the_concern_ends(weeks):
    before = weeks.total(1)
    (weeks.folder / "predictions" / "0.csv").unlink()
    weeks.write_truth(**{"0-59": 0})
    weeks.play()
    assert (weeks.total(1), len(weeks.concerns())) == (before, 1)

    weeks.write_week(0)
    weeks.play()

    assert (weeks.total(1), weeks.concerns()) == (before - 1, [])


def test_a_bug_in_the_recount_of_one_round_stops_no_other(weeks, monkeypatch):
    before = weeks.total(1), weeks.total(2)
    recount = censuses._recount

    def broken(context, round_, *args):
        if round_.number == 1:
            raise KeyError(round_.number)
        return recount(context, round_, *args)

    monkeypatch.setattr(censuses, "_recount", broken)
    weeks.write_truth(**{"0-59": 0, "1-59": 0})
    weeks.now += WEEK

    with pytest.raises(MonitorError, match="KeyError"):
        weeks.play()

    assert (weeks.total(1), weeks.total(2)) == (before[0], before[1] - 1)
    assert weeks.rows("select state from rounds where number = 3") == [("closed",)]


def labels_by_segment(rows):
    labels: Counter[tuple[str, str]] = Counter()
    for (counts,) in rows:
        for _, segment, value, labeled, _ in json.loads(counts):
            labels[segment, value] += labeled
    return labels


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], ["country"]),
        (["country"], ["tier"]),
        (["country"], []),
        (["country"], ["tier", "country"]),
    ],
)
def test_labels_are_counted_again_by_the_segments_of_the_draw(store_folder, before, after):
    weeks, columns = Weeks(store_folder), SOURCE["columns"]
    weeks.play(source={"columns": columns | {"segments": before}})
    segments = "select counts from round_parts where name = 'segments' and version = {}"
    before_segments, total = labels_by_segment(weeks.rows(segments.format(1))), weeks.total(1)
    weeks.write_truth(**{"0-59": 0})

    weeks.play(source={"columns": columns | {"segments": after}})

    assert weeks.total(1) == total - 1
    assert labels_by_segment(weeks.rows(segments.format(2))) == before_segments


def test_labels_are_counted_again_by_the_threshold_of_the_draw(weeks):
    before = weeks.positives(2)
    weeks.write_truth(**{"1-59": 0})

    weeks.play(source={"threshold": 0.75})

    assert weeks.total(2) == sum(count for _, count in before) - 1
    assert weeks.concerns() == []
