"""A round goes on by its own settings, whichever setting changes before its draw or later.

Settings and the values that they change to come from the classes of the config, so a new setting is
played without a change here, unless no value of `USUAL` fits it (`VALUES`).
"""

import csv
import shutil
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError
from sqlalchemy import update

from monitor.config.load import load_config
from monitor.config.model import MonitorConfig
from monitor.config.several import labelers_of
from monitor.domain.errors import ConfigRefused, MonitorError, SettingRefused, StoppedByBug
from monitor.labeling.column import OF_TODAY
from monitor.rounds import run
from monitor.storage import schema
from monitor.storage.tables import store
from monitor.wiring import build
from tests.conftest import STORE_ID
from tests.csv_files import read_rows
from tests.faults.few_points import few_points

SLOT, WEEK = datetime(2025, 3, 10, 6, tzinfo=UTC), timedelta(days=7)
ITEMS, POINTS = 120, 2**6
CELLS = {"flagged": 2, "passed": 3}
COLUMN = {"kind": "column", "path": "truth.csv", "id": "id", "value": "label", "matures": "1d"}
COLUMNS: dict[str, Any] = {"id": "id", "time": "at", "score": "score"}
SOURCE = {"kind": "duckdb", "path": "predictions/*.csv", "columns": COLUMNS, "threshold": 0.5}
BY_SEGMENT = SOURCE | {"columns": COLUMNS | {"segments": ["country"]}}
RELEASED = {"columns": COLUMNS | {"released": "pred", "show": ["tier"]}, "released_with": 0.5}
BASES: dict[str, dict[str, Any]] = {
    "counted whole": {
        "source": BY_SEGMENT,
        "sample": {"max_labels": "all", "cells": CELLS},
        "labeling": COLUMN,
    },
    "drawn": {
        "source": BY_SEGMENT | {"challenger": {"score": "other", "threshold": 0.4}},
        "sample": {"max_labels": 40, "cells": CELLS},
        "labeling": COLUMN | {"time": "known_at", "missing_means": "negative"},
        "limits": {"precision": 0.2},
        "reference": {"tp": 8, "fp": 2, "fn": 4, "tn": 90},
    },
    "judged": {
        "source": {
            **SOURCE,
            "columns": COLUMNS | {"predicted": "tier"},
            "threshold": None,
            "positive": "b",
            "negative": "a",
        },
        "judge": {"column": "pred", "positive": [1], "version": "1"},
        "sample": {"max_labels": 40, "cells": CELLS},
        "labeling": COLUMN | {"positive": [1], "negative": [0]},
    },
    "by people": {
        "source": SOURCE | RELEASED,
        "sample": {"max_labels": 40, "cells": CELLS},
        "labeling": {"kind": "files", "overlap": 0.2},
    },
    "by both": {
        "source": SOURCE | {"columns": COLUMNS | {"show": ["tier"]}},
        "sample": {"max_labels": 40, "cells": CELLS},
        "labeling": {"flagged": COLUMN | {"checks": 5}, "passed": {"kind": "files"}},
    },
}

BY_CLASS = {"source.threshold": None, "source.columns.predicted": "tier"}
BY_CHALLENGER = {"score": "score", "threshold": 0.7}
OF_SQL = {"kind": "sql", "url": "sqlite:///other.db", "table": "t", "threshold": 0.5}
VALUES: dict[str, dict[str, Any]] = {
    # As if two monitors had swapped their names
    "name": BY_CLASS | {"source.positive": "b", "sample.max_labels": 20, "limits": {}},
    "limits": {"limits": {"precision": 0.9, "recall": 0.1}},
    "model": {"model": "models:/m/2"},
    "judge": {"judge": {"column": "tier", "positive": "a"}},
    "judge.threshold": {"judge": {"column": "other", "threshold": 0.5}},
    "reference": {"reference": {"tp": 80, "fp": 20, "fn": 40, "tn": 900}},
    "hooks": {"hooks": ["ops"]},
    "source.kind": {"source": OF_SQL | {"columns": COLUMNS}},
    "source.path": {"source.path": "elsewhere/*.csv"},
    "source.table": {"source.path": "other.duckdb", "source.table": "t"},
    "source.columns.id": {"source.columns.id": "other_id"},
    "source.columns.score": {"source.columns.score": "other"},
    "source.columns.segments": {"source.columns.segments": ["tier"]},
    "source.columns.time": {"source.columns.time": "known_at"},
    "source.columns.predicted": BY_CLASS | {"source.positive": "a"},
    "source.time_zone": {"source.time_zone": "Asia/Tokyo"},
    "source.where": {"source.where": {"tier": "a"}},
    "source.positive": BY_CLASS | {"source.positive": "b"},
    "source.negative": BY_CLASS | {"source.positive": "a", "source.negative": "b"},
    "source.challenger": {"source.challenger": BY_CHALLENGER},
    "source.challenger.predicted": {"source.challenger": {"predicted": "pred"}},
    "source.columns.released": {f"source.{name}": value for name, value in RELEASED.items()},
    "source.released_with": {f"source.{name}": value for name, value in RELEASED.items()},
    "schedule.cron": {"schedule.cron": "0 7 * * TUE"},
    "schedule.time_zone": {"schedule.time_zone": "Asia/Tokyo"},
    "labeling.id": {"labeling.id": "tier"},
    "labeling.value": {"labeling.value": "tier"},
    "labeling.time": {"labeling.time": "known_at"},
    "labeling": {"labeling": BASES["by both"]["labeling"]},
    "labeling.kind": {"labeling": {"kind": "files"}},
    "labeling.path": {"labeling.path": "elsewhere.csv"},
    "labeling.table": {"labeling.path": "other.duckdb", "labeling.table": "t"},
    "labeling.positive": {"labeling.positive": 0, "labeling.negative": 1},
    "labeling.negative": {"labeling.negative": [0, 2]},
    "labeling.deadline": {"labeling.deadline": "9d"},
}
"""Values that mean something for these settings, with what they need beside them."""
USUAL = (
    *("pred", ["pred"], "3h", "30d", "accept", "negative", "jsonl"),
    *(0.25, 0.4, 0.7, 20, 3, True, False, None),
)


def full(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return the section of a monitor of which some settings are others; None removes one."""
    result = {"name": "m", "schedule": {"cron": "0 6 * * MON"}} | deepcopy(base)
    for name, value in changes.items():
        *sections, last = name.split(".")
        section: Any = result
        for each in sections:
            section = section.setdefault(each, {})
        if value is None:
            section.pop(last, None)
        else:
            section[last] = value
    return result


def validated(base: dict[str, Any], changes: dict[str, Any]) -> MonitorConfig | None:
    """Return the monitor, or None if the config refuses it."""
    try:
        return MonitorConfig.model_validate(full(base, changes))
    except (ValidationError, SettingRefused, ConfigRefused, ValueError):
        return None


def settings_of(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """List all settings of a section and of those below it."""
    for name, value in model:
        yield f"{prefix}{name}", value
        if name == "labeling":
            for where, labeler in labelers_of(value):
                yield from settings_of(labeler, f"{where}.")
        elif isinstance(value, BaseModel):
            yield from settings_of(value, f"{prefix}{name}.")


@cache
def changes_of(base: str) -> dict[str, dict[str, Any]]:
    """Return what changes each setting of a monitor, and what removes those that it has."""
    section = BASES[base]
    before = validated(section, {})
    assert before is not None
    result = {}
    for name, value in settings_of(before):
        usual = [each for each in USUAL if isinstance(each, bool) == isinstance(value, bool)]
        prefix, of_kind = name.rpartition(".")[0], plain(name)
        for each in [VALUES[of_kind]] if of_kind in VALUES else [{of_kind: one} for one in usual]:
            changes = {
                f"{prefix}.{key.removeprefix('labeling.')}" if of_kind != name else key: value
                for key, value in each.items()
                if key != "labeling"
            } or each
            if validated(section, changes) not in (None, before):
                result[name] = changes
                break
        if name not in result or None not in result[name].values():
            removed = {name: None}
            if validated(section, removed) not in (None, before):
                result[f"no {name}"] = removed
    return result


@dataclass
class World:
    """A monitor, its predictions and its truth, in a folder that goes back to where it was."""

    folder: Path
    base: str
    now: datetime = SLOT + timedelta(hours=2)
    errors: list[MonitorError] = field(default_factory=list)

    def configure(self, changes: dict[str, Any]) -> None:
        """Write the config, with some settings changed."""
        config = {
            "mlflow": {"tracking_uri": "http://127.0.0.1:9"},
            "hooks": {"ops": {"kind": "command", "command": ["true"]}},
            "monitors": [full(BASES[self.base], changes) | {"name": "m"}],
        }
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
        path = self.folder / "config.yaml"
        self.application = build(load_config(path), clock=lambda: self.now)
        database = self.application.database
        schema.ready(database)
        with database.write() as connection:  # each round draws the same items
            connection.execute(update(store).values(id=STORE_ID))

    def write_predictions(self) -> None:
        """Let the predictions arrive."""
        (self.folder / "predictions").mkdir()
        head = ["id", "other_id", "at", "known_at", "score", "other", "country", "tier", "pred"]
        rows: list[list[Any]] = [head]
        for n in range(ITEMS):
            at = (SLOT - WEEK + n * WEEK / ITEMS).isoformat()
            values = [n / ITEMS, 1 - n / ITEMS, ["CZ", "DE"][n % 2], "ab"[n % 3 > 0], n % 2]
            rows.append([f"i{n}", f"j{n}", at, at, *values])
        self.write("predictions/week.csv", rows)

    def label(self, count: int, *, turned: bool = False) -> None:
        """Let the labels of the first items be known, some of them turned around."""
        labels = {f"i{n}": int(n % 4 == 0 or n > ITEMS * 3 / 4) for n in range(count)}
        if turned:
            labels |= {f"i{n}": 1 - labels[f"i{n}"] for n in range(8, 20)}
        known_at = self.now.isoformat()
        rows = [[item, label, known_at, "a"] for item, label in labels.items()]
        self.write("truth.csv", [["id", "label", "known_at", "tier"], *rows])
        for file in (self.folder / "labels").glob("*.csv"):
            is_first = "." not in file.stem
            self.fill(file, count / ITEMS, turned=turned and is_first)

    def fill(self, file: Path, share: float, *, turned: bool) -> None:
        """Answer the first tasks of a file; the first of all is turned around."""
        tasks = read_rows(file)
        rows = [
            [each["task"], int((each["tier"] == "a") != (turned and place == 0)), file.stem]
            for place, each in enumerate(tasks[: round(len(tasks) * share)])
        ]
        self.write(f"labels/filled/{file.name}", [["task", "label", "annotator"], *rows])

    def write(self, name: str, rows: list[list[Any]]) -> None:
        """Write a file of rows."""
        with (self.folder / name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)

    def look(self, later: timedelta = timedelta(hours=1)) -> None:
        """Look at the monitor once."""
        self.now += later
        try:
            run.run(self.application.monitors[0])
        except MonitorError as error:
            self.errors.append(error)

    def stored(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return how the round stands, and what its newest version counts and estimates."""
        stored = {
            table: self.rows(
                f"select t.* from {table} t join rounds r on r.id = t.round_id and "
                f"r.version = t.version where r.id = 1 order by {order}"
            )
            for table, order in TABLES.items()
        }
        stored["rounds"] = self.rows("select state, version, partial from rounds where id = 1")
        return stored

    def texts(self) -> list[str]:
        """Return what people are told about the round."""
        concerns = self.rows("select sentence from concerns where round_id = 1")
        reasons = self.rows("select reason from rounds where id = 1")
        stored = [text for (text,) in [*concerns, *reasons] if text is not None]
        return [*map(str, self.errors), *stored]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Ask the store."""
        with self.application.database.read() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(query)]


TABLES = dict.fromkeys(("counts", "estimates", "evidence"), "1, 2, 3, 4, 5") | {
    "round_parts": "name"
}


def arrive(world):
    world.write_predictions()
    world.look()


def label_half(world):
    world.label(ITEMS // 2)
    world.look()


def label_all(world):
    world.label(ITEMS)


def finish(world):
    for _ in range(2):  # tasks may follow the first ones
        world.look()
        world.label(ITEMS)
    world.look()


def turn_some(world):
    world.label(ITEMS, turned=True)
    world.look()
    world.look(later=timedelta(days=5))


STEPS = {
    "open": arrive,
    "drawn": label_half,
    "half labeled": label_all,
    "answered": finish,
    "closed": turn_some,
}
"""What happens next at each state of a round."""


@dataclass
class Unchanged:
    """A round of which no setting changes: its folder and its time at each state, and its end."""

    base: str
    folder: Path
    states: dict[str, tuple[Path, datetime]] = field(default_factory=dict)
    end: dict[str, Any] = field(default_factory=dict)

    def play(self) -> None:
        """Play it once, and keep a copy of its folder at each state."""
        world = World(self.folder / "now", self.base)
        world.folder.mkdir(parents=True)
        world.label(0)
        world.configure({})
        world.look()
        world.errors.clear()
        for state, step in STEPS.items():
            self.states[state] = self.folder / state, world.now
            shutil.copytree(world.folder, self.folder / state)
            step(world)
        assert world.errors == []
        self.end = world.stored()
        assert self.end["rounds"] == [("closed", 2, 0)]

    def end_after(self, state: str, changes: dict[str, Any]) -> World:
        """Let the round go on from a state, in the same folder and with other settings."""
        copy, now = self.states[state]
        shutil.rmtree(self.folder / "now")
        shutil.copytree(copy, self.folder / "now")
        world = World(self.folder / "now", self.base, now)
        world.configure(changes)
        for step in [*STEPS.values()][[*STEPS].index(state) :]:
            step(world)
        return world

    def complaint(self, state: str, name: str, changes: dict[str, Any]) -> object:
        """Return how the round differs after a setting changed; None if it may."""
        world = self.end_after(state, changes)
        if bugs := [error for error in world.errors if isinstance(error, StoppedByBug)]:
            return bugs
        stored = world.stored()
        by_today = {"evidence"} if name.startswith(WATCHED) else set()
        different = {each for each in stored if stored[each] != self.end[each]} - by_today
        is_told = name.rpartition(".")[2] in OF_TODAY and world.texts() != []
        return None if is_told or not different else (different, world.texts())


WATCHED = ("name", "limits", "no limits")
"""Limits of the config watch a round until it closes; it says so."""


SLOW = BASES.keys() - {"drawn"}
"""Kinds of monitors that are played in full only; of label files each pass takes its time."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(base, marks=[pytest.mark.slow] * (base in SLOW)) for base in BASES],
)
def unchanged(request, tmp_path_factory):
    """Return a round of each kind of monitor."""
    with few_points(POINTS):
        unchanged = Unchanged(request.param, tmp_path_factory.mktemp("round"))
        unchanged.play()
        yield unchanged


def test_each_setting_can_be_changed():
    settings, changed = set(), set()
    for base, section in BASES.items():
        monitor = validated(section, {})
        assert monitor is not None
        leaves = {name for name, value in settings_of(monitor) if is_leaf(value)}
        settings |= {plain(name) for name in leaves}
        changed |= {plain(name) for name in changes_of(base)}

    assert settings - changed == NOT_CHANGED


NOT_CHANGED = {"for_each", "classes", "limits.bounds", "judge.assessment"}
"""Blocks make monitors of other names; limits are read into bounds, an assessment into column."""


def is_leaf(value: object) -> bool:
    """Whether a setting has none below it."""
    return not isinstance(value, BaseModel)


def plain(name: str) -> str:
    """Return the name of a setting, of one of several labelers as of one that is alone."""
    where, _, last = name.rpartition(".")
    return f"labeling.{last}" if where.startswith("labeling") else name


@cache
def pairs() -> dict[str, list[tuple[str, str]]]:
    """Return, for each setting, a kind of monitor before its draw, and another in a later state."""
    kinds: dict[str, list[str]] = {}
    for base in BASES:
        for key in dict.fromkeys(map(plain, changes_of(base))):
            kinds.setdefault(key, []).append(base)
    before, *later = STEPS
    return {
        key: [
            (kinds[key][number % len(kinds[key])], before),
            (kinds[key][(number + 1) % len(kinds[key])], later[number % len(later)]),
        ]
        for number, key in enumerate(sorted(kinds))
    }


def test_ten_settings_or_more_change_in_each_state_and_in_each_kind_of_monitor():
    bases, states = zip(*(pair for played in pairs().values() for pair in played), strict=True)

    assert min(map(bases.count, BASES)) >= 10
    assert min(map(states.count, STEPS)) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("share", ["pairs", pytest.param("all", marks=pytest.mark.soak)])
@pytest.mark.parametrize("state", STEPS)
def test_a_round_goes_on_by_its_own_settings_at_each_state(unchanged, state, share):
    complaints = {
        name: unchanged.complaint(state, name, changes)
        for name, changes in changes_of(unchanged.base).items()
        if share == "all" or (unchanged.base, state) in pairs()[plain(name)]
    }

    assert {name: why for name, why in complaints.items() if why is not None} == {}
