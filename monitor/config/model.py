"""Settings of the config file: the monitors and all that they share.

`load_config` reads the YAML file. Adapters define their own settings. Each default has its unit and
its reason beside it. The config reference is generated from these classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    SerializeAsAny,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)

from monitor.config.adapters import HOOKS, LABELERS, SOURCES
from monitor.config.blocks import CLASSES, NAME
from monitor.config.pages import PagesSettings, WebSettings
from monitor.config.several import labelers_of, read_labeling
from monitor.domain.adapters import HookSettings, SourceSettings
from monitor.domain.block import Block
from monitor.domain.errors import ConfigRefused, SettingRefused
from monitor.domain.judge import Judge
from monitor.domain.masking import one_at
from monitor.domain.model import ANSWERS, LOG, MLFLOW
from monitor.domain.sample_settings import Bands, Cells, Sample
from monitor.domain.setting_types import Settings
from monitor.domain.settings import (
    FalseAlarms,
    Labeling,
    Limits,
    MonitorSettings,
    Pooling,
    ReferenceMatrix,
    RoundSettings,
    Schedule,
)
from monitor.domain.slots import rounds_per
from monitor.files.sqlite_address import literal_address
from monitor.labeling.column import NO_TRUTHS, ColumnSettings
from monitor.limitable import JUDGE, limitable_of
from monitor.tracking.mlflow import MlflowSettings


def _name(value: str) -> str:
    if not NAME.fullmatch(value):
        message = (
            "a name has 1 to 100 letters, digits, '_', '-' or '.', and begins with a letter, "
            "digit or '_'; it becomes part of tags and file names"
        )
        raise ValueError(message)
    return value


Name = Annotated[str, AfterValidator(_name)]


def _not_a_sink(value: str) -> str:
    if value in {LOG, MLFLOW, ANSWERS}:
        message = f"every monitor has a sink named {value} already; give the hook another name"
        raise ValueError(message)
    return value


Scalar = StrictBool | StrictInt | StrictFloat | StrictStr


class Classes(Settings):
    """One monitor for each class of a multi-class classifier.

    ``column`` has the predicted class of a row; each monitor flags the rows of its class.
    ``values`` lists the classes, or maps short names for use in monitor names to classes:
    ``{real-estate: Real estate}``. ``{class}`` in any setting of the block is replaced by the
    monitor's class or short name. Rows of other classes are refused, unless ``source.negative``
    lists them.
    """

    column: str
    values: tuple[Scalar, ...] | dict[str, Scalar]


ONE_BAND, ONE_CELL = Bands(flagged=1, passed=1), Cells(flagged=1, passed=1)
"""Used without scores, since there is then nothing to divide a class by."""


class MonitorConfig(Settings):
    """One classifier to monitor.

    ``name`` identifies it in commands, tags and experiments. ``model`` (such as
    ``models:/mail-travel/7``, or ``models:/mail-travel@champion`` to follow an alias) is linked and
    tagged in MLflow. ``bad_rows_max`` is the share of unusable rows above which no round is drawn:
    a few are noise, many are a fault upstream. ``hooks`` are names from the section ``hooks``.

    With ``for_each`` or ``classes``, an entry is a block of monitors, one for each value
    ([many monitors](many-monitors.md)). ``for_each`` has a placeholder and its values, such as
    ``{column: [score_travel, score_finance]}``; ``{column}`` is replaced by the value anywhere in
    the block. In a list that is not used in the name, ``null`` means that the setting is not set.
    """

    name: Name
    for_each: dict[str, tuple[Scalar | None, ...]] | None = None
    classes: Classes | None = None
    model: str | None = None
    source: Annotated[SerializeAsAny[SourceSettings], SOURCES]
    schedule: Schedule
    sample: Sample = Sample()
    judge: Judge | None = None
    labeling: Annotated[SerializeAsAny[Labeling], LABELERS, BeforeValidator(read_labeling)]
    reference: ReferenceMatrix | None = None
    limits: Limits = Limits()
    pooling: Pooling = Pooling()
    bad_rows_max: Annotated[float, Field(ge=0, le=1)] = 0.01
    hooks: tuple[str, ...] = ()

    _block: Block | None = PrivateAttr(default=None)

    @property
    def block(self) -> Block | None:
        """The block that the monitor belongs to; None for a single monitor."""
        return self._block

    @model_validator(mode="after")
    def _settings_fit_together(self) -> MonitorConfig:
        for (setting, fact), why in EXCLUSIONS.items():
            if FACTS[setting](self) and FACTS[fact](self):
                raise SettingRefused(setting=setting, why=why)
        if self.judge is not None and (why_not := self.source.why_no_judge(self.judge)):
            raise SettingRefused(setting="judge", why=why_not)
        for where, labeling in labelers_of(self.labeling):
            is_elsewhere = not isinstance(labeling, ColumnSettings) or labeling.paths
            if not (is_elsewhere or self.source.has_truths):
                raise SettingRefused(setting=f"{where}.path", why=NO_TRUTHS)
        self.source.judge_by(self.judge)
        return self

    def _column(self, role: str) -> Any:
        return getattr(getattr(self.source, "columns", None), role, None)

    def _is_judged_by_labels(self) -> bool:
        """Whether labels come from the judge's own column in the predictions."""
        table, paths = getattr(self.source, "table", None), getattr(self.source, "paths", ())
        return any(
            isinstance(labeling, ColumnSettings)
            and labeling.value == getattr(self.judge, "column", None)
            and labeling.table in {None, table}
            and {*labeling.paths} <= {*paths}
            for _, labeling in labelers_of(self.labeling)
        )

    def _cuts(self, name: str, least: Bands | Cells) -> bool:
        """Whether the config sets more than one band or cell for a class."""
        is_set = name in self.sample.model_fields_set
        return is_set and getattr(self.sample, name) not in (None, least)

    def settings(self) -> MonitorSettings:
        """Return the settings for rounds, without secrets."""
        scored = self.source.has_scores
        sample = (
            self.sample
            if scored
            else self.sample.model_copy(update={"bands": ONE_BAND, "cells": None})
        )
        return MonitorSettings(
            name=self.name,
            round=RoundSettings(
                **{name: getattr(self, name) for name in _OF_MONITOR},
                **{name: getattr(self.labeling, name) for name in _OF_LABELING},
                threshold=self.source.threshold,
                challenger=self.source.challenged_by,
                judge=self.judge,
                sample=sample,
                reference=self.reference,
                labeling=self.labeling.own(),
                source=self.source.own(),
                grace=self.source.grace,
            ),
        )


def _has_limit(name: str, monitor: MonitorConfig) -> bool:
    return name in monitor.limits.bounds


FACTS: dict[str, Callable[[MonitorConfig], bool]] = {
    "sample.bands": lambda monitor: monitor._cuts("bands", ONE_BAND),
    "sample.cells": lambda monitor: monitor._cuts("cells", ONE_CELL),
    **{f"limits.{name}": partial(_has_limit, name) for name in limitable_of(JUDGE)},
    "sample.max_labels": lambda monitor: monitor.sample.max_labels == "all",
    "labeling.checks": lambda monitor: getattr(monitor.labeling, "checks", None) is not None,
    "judge": lambda monitor: monitor.judge is not None,
    "no score": lambda monitor: not monitor.source.has_scores,
    "no judge": lambda monitor: monitor.judge is None,
    "labels of the judge": lambda monitor: monitor._is_judged_by_labels(),
    "one column": lambda monitor: isinstance(monitor.labeling, ColumnSettings),
    "another labeler": lambda monitor: not isinstance(monitor.labeling, ColumnSettings),
    "classes": lambda monitor: monitor.classes is not None,
    "challenger": lambda monitor: monitor.source.challenged_by is not None,
    "released": lambda monitor: monitor._column("released") is not None,
    "source.kept_with": lambda monitor: getattr(monitor.source, "kept_with", None) is not None,
    "source.columns.weight": lambda monitor: monitor._column("weight") is not None,
    "bands alone": lambda monitor: monitor.source.has_scores and monitor.sample.cells is None,
    "source.columns.group": lambda monitor: monitor._column("group") is not None,
    "labels counted whole": lambda monitor: bool(monitor.settings().round.counted_whole),
}
"""Facts about a monitor, used in `EXCLUSIONS`: that it has a setting, or something else."""

_NO_SCORE = (
    "the source has no score to cut {0} by; leave {0} out, or name the column in "
    "source.columns.score"
)
_NO_JUDGE = "the monitor has no judge to set limits for"
_NO_GROUPS = "evidence about a judge assumes independent items; remove the limit, or the group"

_BANDS_ALONE = (
    "the noise of sizes is in intervals of score cells only; remove sample.bands and "
    "sample.cells: null"
)

EXCLUSIONS = {
    ("sample.bands", "no score"): _NO_SCORE.format("bands"),
    ("sample.cells", "no score"): _NO_SCORE.format("cells"),
    **{(f"limits.{name}", "no judge"): _NO_JUDGE for name in limitable_of(JUDGE)},
    ("judge", "labels of the judge"): (
        "its column is labeling.value, the truth; a judge is another opinion"
    ),
    ("labeling.checks", "one column"): (
        "nobody is asked; write labeling as {flagged: ..., passed: ..., checks: ...}: this "
        'column under both classes, and {kind: page, question: "..."} under checks'
    ),
    ("source.columns.group", "labels counted whole"): (
        "labels of a class that are all counted have no groups; draw its items (another labeler), "
        "or remove the group"
    ),
    **{(f"limits.{name}", "source.columns.group"): _NO_GROUPS for name in limitable_of(JUDGE)},
    ("sample.max_labels", "another labeler"): (
        "all is for one labeler of kind column, whose labels cost nothing; give a number"
    ),
    ("sample.max_labels", "classes"): (
        "all is not for a block of classes, whose averages are computed from drawn items; give a "
        "number"
    ),
    ("sample.max_labels", "challenger"): (
        "all leaves no items to compare a challenger on; give a number"
    ),
    ("sample.max_labels", "released"): (
        "all counts flagged items that were not released, whose outcome nobody can observe; give "
        "a number"
    ),
    ("sample.max_labels", "source.kept_with"): (
        "all counts the rows of the log, which keeps a sample of the predictions; give a number"
    ),
    ("source.kept_with", "bands alone"): _BANDS_ALONE,
    ("source.columns.weight", "bands alone"): _BANDS_ALONE,
    ("sample.max_labels", "source.columns.weight"): (
        "all counts items, and source.columns.weight has every number by amount; give a number"
    ),
    ("source.columns.weight", "classes"): (
        "the averages of a block of classes are by items; leave the weight out, or write the "
        "monitors out one by one"
    ),
}
"""Messages for a setting that is refused if a fact holds: the reason and what to do."""

_OF_MONITOR = (
    *("model", "schedule", "pooling", "limits", "bad_rows_max", "hooks"),
    "block",
)
_OF_LABELING = ("deadline", "late_labels", "overlap", "adjudicator")
"""Settings that rounds store unchanged."""

SHORTEST_PROMISE = 2  # Rounds: more than one false alarm in every second round is no promise


def _store(value: str) -> str:
    if value.startswith("sqlite:///") and value.removeprefix("sqlite:///") not in {"", ":memory:"}:
        return value
    if re.match(r"postgresql(\+psycopg)?://.", value):
        return one_at(value)
    message = (
        "this is not the address of a store; write sqlite:///monitor.db or "
        "postgresql+psycopg://${DB_USER}:${DB_PASSWORD}@HOST/DATABASE"
    )
    raise ValueError(message)


class Config(Settings):
    """The whole file.

    ``store`` is the database of rounds, labels and estimates: ``sqlite:///FILE`` or
    ``postgresql+psycopg://USER@HOST/DATABASE``. Paths are relative to the folder of the file.
    ``false_alarms`` is one promise over all monitors; by default each has its own. ``web`` is the
    address for the health checks of `pr-monitor serve`, ``pages`` the address of its pages for
    people. Without these sections, it does not listen.
    """

    store: Annotated[str, AfterValidator(_store), Field(repr=False)] = "sqlite:///monitor.db"
    mlflow: Annotated[MlflowSettings, Field(repr=False)] = MlflowSettings()  # may hold a password
    monitors: Annotated[tuple[MonitorConfig, ...], Field(min_length=1)]
    hooks: dict[
        Annotated[Name, AfterValidator(_not_a_sink)], Annotated[SerializeAsAny[HookSettings], HOOKS]
    ] = Field(default_factory=dict)
    false_alarms: FalseAlarms | None = None
    web: WebSettings | None = None
    pages: PagesSettings | None = None

    _folder: Path = PrivateAttr(default_factory=Path.cwd)

    @property
    def folder(self) -> Path:
        """Folder of the config file, the base of relative paths."""
        return self._folder

    @property
    def store_url(self) -> str:
        """Address of the store, with an absolute path for a SQLite file."""
        return literal_address(self.store, self.folder)

    @field_validator("mlflow", mode="before")
    @classmethod
    def _mlflow_always_gets_results(cls, value: object) -> object:
        if value is None:
            message = (
                "results always go to MLflow; remove the line to use mlflow.db beside the config, "
                "or write mlflow: {tracking_uri: URI}"
            )
            raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _sections_fit_together(self) -> Config:
        for setting, why in (*self._promise_conflicts(), *self._page_conflicts()):
            raise SettingRefused(setting=setting, why=why)
        for monitor in self.monitors:
            monitor.source.track_at(self.mlflow.tracking_uri)
        return self

    def _promise_conflicts(self) -> Iterator[tuple[str, str]]:
        if self.false_alarms is None:
            return
        both = [m.name for m in self.monitors if "false_alarm_every" in m.limits.model_fields_set]
        if both:
            yield (
                "false_alarms",
                "it covers all monitors together, so leave limits.false_alarm_every out of "
                f"{', '.join(both)}",
            )
        if self.false_alarm_every(self.monitors[0]) < SHORTEST_PROMISE:
            yield (
                "false_alarms",
                f"at most {self.false_alarms.at_most:g} in that time is more than "
                "one in every second round; promise fewer, or name a longer time in per",
            )

    def _page_conflicts(self) -> Iterator[tuple[str, str]]:
        page, web = self.pages, self.web
        if page is None:
            return
        if web is not None and page.address.port == web.address.port:
            why = f"port {page.address.port} is that of web.listen; choose another one"
            yield "pages.listen", why

    def false_alarm_every(self, monitor: MonitorConfig) -> float:
        """Return the rounds per false alarm that a monitor promises, alone or as its share.

        A block shares one promise: each of its k monitors gets k times as many rounds per false
        alarm.
        """
        if self.false_alarms is None:
            together = 1 if monitor.block is None else len(monitor.block.values)
            return monitor.limits.false_alarm_every * together
        return self._shared_promise

    @cached_property
    def _shared_promise(self) -> float:
        """Rounds per false alarm of each monitor under the common promise."""
        promise = self.false_alarms or FalseAlarms()
        rounds = [rounds_per(monitor.schedule, promise.per) for monitor in self.monitors]
        return round(sum(rounds) / promise.at_most, 3)  # means add up, whatever depends on what

    def false_alarms_a_year(self) -> dict[str, float]:
        """Return the most false alarms expected in 52 weeks, for each monitor with limits."""
        year = timedelta(weeks=52)
        return {
            monitor.name: rounds_per(monitor.schedule, year) / self.false_alarm_every(monitor)
            for monitor in self.monitors
            if monitor.limits.bounds
        }

    def settings_of(self, monitor: MonitorConfig) -> MonitorSettings:
        """Return the settings for a monitor's rounds, including its share of the promise."""
        settings = monitor.settings()
        limits = monitor.limits.model_copy(
            update={"false_alarm_every": self.false_alarm_every(monitor)}
        )
        return settings.model_copy(
            update={"round": settings.round.model_copy(update={"limits": limits})}
        )

    def placed(self, folder: Path) -> Config:
        """Return this config with another folder for relative paths."""
        placed = self.model_copy()
        placed._folder = folder
        return placed

    def in_blocks(self, blocks: Iterable[Block | None]) -> Config:
        """Set the block of each monitor, and return this config."""
        for monitor, block in zip(self.monitors, blocks, strict=True):
            monitor._block = block
        return self

    def class_monitors(self, monitor: MonitorConfig) -> dict[str, str]:
        """Return the name of each class's monitor in a monitor's block; empty without a block."""
        own = monitor.block
        if own is None or own.kind != CLASSES:
            return {}
        blocks = ((each.name, each.block) for each in self.monitors)
        return {
            block.value: name
            for name, block in blocks
            if block is not None and (block.kind, block.name) == (own.kind, own.name)
        }

    def monitor(self, name: str) -> MonitorConfig:
        """Return a monitor by name.

        Raises `ConfigRefused` if none exists; the message lists the existing monitors.
        """
        for monitor in self.monitors:
            if monitor.name == name:
                return monitor
        available = ", ".join(monitor.name for monitor in self.monitors)
        message = f"there is no monitor {name!r} in the config; it has {available}"
        raise ConfigRefused(message)
