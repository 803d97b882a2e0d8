"""The config: which monitors there are, and where everything they need is.

`load_config` reads the YAML file. Each adapter brings its own settings, every default stands
beside its unit and its reason, and the reference of the config is made of these classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, cast, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    PrivateAttr,
    SerializeAsAny,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    Tag,
    model_validator,
)

from monitor.config.adapters import JUDGES, LABELERS, SOURCES
from monitor.config.block_checks import NAME
from monitor.config.block_requests import CLASSES
from monitor.config.pages import PagesSettings, takes_passwords
from monitor.config.several import SeveralLabelers, labelers_of, read_labeling
from monitor.config.web import WebSettings
from monitor.domain.adapters import SourceSettings
from monitor.domain.block import Block
from monitor.domain.errors import ConfigRefused, SettingRefused
from monitor.domain.judge import Judge, JudgeSettings, OnDemandJudge, OnDemandSettings
from monitor.domain.label_parts import why_unclear
from monitor.domain.masking import one_at
from monitor.domain.sample_settings import Bands, Cells, Sample
from monitor.domain.setting_types import Settings
from monitor.domain.settings import (
    LEAST_CONFIDENCE,
    FalseAlarms,
    Labeling,
    Limits,
    MonitorSettings,
    Pooling,
    ReferenceMatrix,
    RoundSettings,
    Schedule,
    ThresholdTarget,
)
from monitor.domain.slots import rounds_per
from monitor.files.sqlite_address import literal_address
from monitor.hooks.alertmanager import AlertmanagerSettings
from monitor.hooks.apprise import AppriseSettings
from monitor.hooks.command import CommandSettings
from monitor.hooks.log import LogSettings
from monitor.hooks.webhook import WebhookSettings
from monitor.labeling.column import NO_TRUTHS, ColumnSettings
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
    if value in {"log", "mlflow"}:
        message = f"every monitor has a sink named {value} already; give the hook another name"
        raise ValueError(message)
    return value


class ReferenceFile(Settings):
    """A plain random sample with labels from before launch, in a Parquet or CSV file.

    ``value`` names the column with the true class; ``score`` and ``predicted`` default
    to the columns of the source; ``positive`` is the value that means positive. Where the file
    has the source's ``id`` column, no id may be there twice.
    """

    path: Annotated[str, Field(min_length=1)]
    value: Annotated[str, Field(min_length=1)]
    score: str | None = None
    predicted: str | None = None
    positive: str | int | bool | None = None


Scalar = StrictBool | StrictInt | StrictFloat | StrictStr


class Classes(Settings):
    """One monitor for each class of a classifier with several.

    ``column`` has the predicted class; a row is flagged for the class that is there. ``values``
    are the classes, or short names that can be part of a monitor's name, with the classes:
    ``{real-estate: Real estate}``. ``{class}`` in any setting of the block stands for the one of a
    monitor. Rows of any other class are refused, unless ``source.negative`` has it.
    """

    column: str
    values: tuple[Scalar, ...] | dict[str, Scalar]


def _matrix_or_file(value: object) -> str:
    keys = set(value) if isinstance(value, dict) else set(dir(value))
    return "file" if keys & {"path", "value"} else "matrix"


Reference = Annotated[
    Annotated[ReferenceMatrix, Tag("matrix")] | Annotated[ReferenceFile, Tag("file")],
    Discriminator(_matrix_or_file),
]


Hook = Annotated[
    WebhookSettings | AppriseSettings | AlertmanagerSettings | CommandSettings | LogSettings,
    Field(discriminator="kind"),
]

HOOKS: dict[str, type[Settings]] = {
    get_args(hook.model_fields["kind"].annotation)[0]: hook for hook in get_args(get_args(Hook)[0])
}
"""The settings of each kind of hook."""


ONE_BAND, ONE_CELL = Bands(flagged=1, passed=1), Cells(flagged=1, passed=1)
"""Without scores there is nothing to cut a class by."""


class MonitorConfig(Settings):
    """One classifier to watch.

    ``name`` is its name everywhere: commands, tags, experiments. ``model`` (such as
    ``models:/mail-travel/7``, or ``models:/mail-travel@champion`` to follow an alias) is linked and
    tagged in MLflow. ``bad_rows_max`` is the share of
    unusable rows above which no round is drawn: few are noise, many are a fault upstream.
    ``hooks`` are names from the section ``hooks``.

    With ``for_each`` or ``classes`` an entry is a block of monitors, one for each value
    ([many monitors](many-monitors.md)): ``for_each`` has a placeholder and its values, such as
    ``{column: [score_travel, score_finance]}``, and ``{column}`` stands for the value wherever it
    is written in the block.
    """

    name: Name
    for_each: dict[str, tuple[Scalar, ...]] | None = None
    classes: Classes | None = None
    model: str | None = None
    source: Annotated[SerializeAsAny[SourceSettings], SOURCES]
    schedule: Schedule
    sample: Sample = Sample()
    judge: Annotated[SerializeAsAny[JudgeSettings] | None, JUDGES] = None
    labeling: Annotated[SerializeAsAny[Labeling], LABELERS, BeforeValidator(read_labeling)]
    reference: Reference | None = None
    limits: Limits = Limits()
    threshold_target: ThresholdTarget | None = None
    pooling: Pooling = Pooling()
    bad_rows_max: Annotated[float, Field(ge=0, le=1)] = 0.01
    hooks: tuple[str, ...] = ()

    _block: Block | None = PrivateAttr(default=None)

    @property
    def block(self) -> Block | None:
        """The block that the monitor is one of; None for one that stands by itself."""
        return self._block

    @model_validator(mode="after")
    def _strata_have_scores(self) -> MonitorConfig:
        for name, least in (("bands", ONE_BAND), ("cells", ONE_CELL)):
            requested, provided = name in self.sample.model_fields_set, getattr(self.sample, name)
            if requested and not self.source.has_scores and provided not in (None, least):
                message = (
                    f"the source has no score to cut {name} by; leave {name} out, or name "
                    "the column in source.columns.score"
                )
                raise SettingRefused(setting=f"sample.{name}", why=message)
        return self

    @model_validator(mode="after")
    def _the_threshold_can_be_tested(self) -> MonitorConfig:
        if self.threshold_target is None:
            return self
        if self.source.threshold is None:
            message = "source.threshold is not set, so there is no threshold that could keep it"
        elif self.judge is not None:
            message = "a judge cuts the strata, so no threshold can be tested; leave out one"
        elif (confidence := self.threshold_target.confidence) < LEAST_CONFIDENCE:
            message = f"of confidence {confidence:g} is mostly broken; 0.5 or more is needed"
        else:
            return self
        raise SettingRefused(setting="threshold_target", why=message)

    @model_validator(mode="after")
    def _the_judge_is_read(self) -> MonitorConfig:
        judge = self.judge
        if judge is None and (on_judge := self.limits.on_judge()):
            message = "the monitor has no judge whose rate could be limited"
            raise SettingRefused(setting=f"limits.{on_judge[0].metric}", why=message)
        if isinstance(judge, OnDemandSettings):
            for where, why_not in self._judge_conflicts(judge):
                raise SettingRefused(setting=f"judge{where}", why=why_not)
        if not isinstance(judge, Judge):
            return self
        why = self.source.why_no_judge(judge)
        if why is None and self._is_truth(judge.column):
            why = f"{judge.column!r} is labeling.value, the truth; a judge is another opinion"
        if why is None and isinstance(self.reference, ReferenceFile):
            why = "a reference file has no verdicts, so with a judge nothing of it can be used"
        if why is not None:
            raise SettingRefused(setting="judge", why=why)
        self.source.judge_by(judge)
        return self

    def _judge_conflicts(self, judge: OnDemandSettings) -> Iterator[tuple[str, str]]:
        """Yield the settings that an on-demand judge does not go with: below it, and why."""
        shown = self.source.shown_columns
        if shown == ():
            yield "", "it is asked about what people are shown; list that in source.columns.show"
        for name in judge.placeholders:
            if shown is not None and name not in shown:
                available = ", ".join(f"{{{one}}}" for one in shown)
                why = f"{{{name}}} is no column of source.columns.show, which has {available}"
                yield ".prompt", why
        if self.source.has_scores and self.sample.cells is None:
            yield "", "it is asked about items of each score cell; leave out sample.cells: null"
        for name, is_there in {
            "source.challenger": self.source.challenged_by is not None,
            "source.columns.released": self._released is not None,
            "a reference file": isinstance(self.reference, ReferenceFile),
        }.items():
            if is_there:
                why = (
                    f"{name} is counted by stratum, and the sizes of strata by a judge that is "
                    "asked are estimated; leave out one, or write its verdicts into a column"
                )
                yield "", why

    @property
    def _released(self) -> str | None:
        """The column that marks flagged items which were let through."""
        return getattr(getattr(self.source, "columns", None), "released", None)

    def _is_truth(self, column: str) -> bool:
        """Whether labels are read from this column of the predictions themselves."""
        table, paths = getattr(self.source, "table", None), getattr(self.source, "paths", ())
        return any(
            isinstance(labeling, ColumnSettings)
            and labeling.value == column
            and labeling.table in {None, table}
            and {*labeling.paths} <= {*paths}
            for _, labeling in labelers_of(self.labeling)
        )

    @model_validator(mode="after")
    def _each_item_has_one_labeler(self) -> MonitorConfig:
        labeling = self.labeling
        if not isinstance(labeling, SeveralLabelers):
            if labeling.items is not None:
                message = "a labeler that is alone answers for all items; leave it out"
                raise SettingRefused(setting="labeling.for", why=message)
            if getattr(labeling, "checks", None):
                message = (
                    "nobody is asked; make labeling a list: this column `for: otherwise`, and a "
                    'line such as {for: checks, kind: page, question: "..."}'
                )
                raise SettingRefused(setting="labeling.checks", why=message)
            return self
        segments = getattr(getattr(self.source, "columns", None), "segments", ())
        why = why_unclear([part.items for part in labeling.parts], segments)
        if why is not None:
            raise SettingRefused(setting="labeling", why=why)
        return self

    @model_validator(mode="after")
    def _all_labels_can_be_counted(self) -> MonitorConfig:
        if self.sample.max_labels == "all" and (why := self._why_not_all()):
            raise SettingRefused(setting="sample.max_labels", why=f"all {why}; give a number")
        return self

    @model_validator(mode="after")
    def _segments_can_be_explored(self) -> MonitorConfig:
        if self.sample.segments is not None and (why := self._why_not_explored()):
            raise SettingRefused(setting="sample.segments", why=why)
        return self

    def _why_not_explored(self) -> str | None:
        if self.sample.max_labels == "all":
            return "max_labels: all labels every item, so none is left to explore; leave it out"
        if self.classes is not None:
            return "a block of classes has one sample, which no class may change; leave it out"
        if not getattr(getattr(self.source, "columns", None), "segments", ()):
            return "there is no segment to explore; list columns in source.columns.segments"
        return None

    def _why_not_all(self) -> str | None:
        if not isinstance(self.labeling, ColumnSettings):
            return "is for one labeler of kind column, whose labels cost nothing"
        if self.classes is not None:
            return "is not for a block of classes, whose averages are computed from drawn items"
        if self.source.challenged_by is not None:
            return "leaves no items by which a challenger could be compared"
        if self._released is not None:
            return "counts flagged items that were not released, whose outcome nobody can observe"
        if isinstance(self.judge, OnDemandSettings):
            return "leaves no items that the judge could be asked about"
        return None

    @model_validator(mode="after")
    def _the_truth_is_somewhere(self) -> MonitorConfig:
        for where, labeling in labelers_of(self.labeling):
            if not isinstance(labeling, ColumnSettings) or labeling.paths:
                continue
            if not self.source.has_truths:
                raise SettingRefused(setting=f"{where}.path", why=NO_TRUTHS)
        return self

    @model_validator(mode="after")
    def _gold_items_resemble_others(self) -> MonitorConfig:
        for where, labeling in labelers_of(self.labeling):
            if getattr(labeling, "gold", None) is None or self.source.shows_texts_only:
                continue
            message = (
                "gold items show texts only, so people would know them from items that "
                "source.columns.show shows as another kind or as a table; leave out gold, or show "
                "texts"
            )
            raise SettingRefused(setting=f"{where}.gold", why=message)
        return self

    @property
    def _judge_of_rounds(self) -> Judge | OnDemandJudge | None:
        judge = self.judge
        if isinstance(judge, OnDemandSettings):
            return judge.frozen(self.source.shown_columns or ())
        return cast("Judge | None", judge)

    def settings(self, reference: ReferenceMatrix | None = None) -> MonitorSettings:
        """Return what the rounds need, without secrets or places.

        reference: The matrix counted from `ReferenceFile`; one that is in the config is used as it
            is.
        """
        provided = self.reference if isinstance(self.reference, ReferenceMatrix) else reference
        scored = self.source.has_scores
        # Only estimates by cells count that the sizes of an asked judge's strata are estimated.
        cells = ONE_CELL if isinstance(self.judge, OnDemandSettings) else None
        sample = (
            self.sample
            if scored
            else self.sample.model_copy(update={"bands": ONE_BAND, "cells": cells})
        )
        return MonitorSettings(
            name=self.name,
            round=RoundSettings(
                model=self.model,
                threshold=self.source.threshold,
                challenger=self.source.challenged_by,
                released=self._released is not None,
                judge=self._judge_of_rounds,
                schedule=self.schedule,
                sample=sample,
                pooling=self.pooling,
                limits=self.limits,
                threshold_target=self.threshold_target,
                reference=provided,
                deadline=self.labeling.deadline,
                late_labels=self.labeling.late_labels,
                matures=getattr(self.labeling, "matures", timedelta(0)),
                overlap=self.labeling.overlap,
                adjudicator=self.labeling.adjudicator,
                audit=self.labeling.audit,
                labeling=self.labeling.own(),
                bad_rows_max=self.bad_rows_max,
                grace=self.source.grace,
                hooks=self.hooks,
                block=self._block,
            ),
        )


SHORTEST_PROMISE = 2  # Rounds: a promise of more than one false alarm in every second round is none


def _store(value: str) -> str:
    if value.startswith("sqlite:///") and value.removeprefix("sqlite:///") not in {"", ":memory:"}:
        return value
    if re.match(r"postgresql(\+psycopg)?://.", value):
        return one_at(value)
    message = (
        "this is no address of a store; write sqlite:///monitor.db or "
        "postgresql+psycopg://${DB_USER}:${DB_PASSWORD}@HOST/DATABASE"
    )
    raise ValueError(message)


class Config(Settings):
    """The whole file.

    ``store`` is where rounds, labels and estimates are kept: ``sqlite:///FILE`` or
    ``postgresql+psycopg://USER@HOST/DATABASE``. Paths are relative to the folder of the file.
    ``false_alarms`` is a promise over all monitors; without it each has its own. ``web`` is where
    `pr-monitor serve` reports its health, ``pages`` where it has pages for people; without
    them nothing listens.
    """

    store: Annotated[str, AfterValidator(_store), Field(repr=False)] = "sqlite:///monitor.db"
    mlflow: Annotated[MlflowSettings, Field(repr=False)] = MlflowSettings()  # may hold a password
    monitors: Annotated[tuple[MonitorConfig, ...], Field(min_length=1)]
    hooks: dict[Annotated[Name, AfterValidator(_not_a_sink)], Hook] = Field(default_factory=dict)
    false_alarms: FalseAlarms | None = None
    web: WebSettings | None = None
    pages: PagesSettings | None = None

    _folder: Path = PrivateAttr(default_factory=Path.cwd)

    @property
    def folder(self) -> Path:
        """Folder of the config file; paths in it are relative to this."""
        return self._folder

    @property
    def store_url(self) -> str:
        """Address of the store, the path of a SQLite file made absolute."""
        return literal_address(self.store, self.folder)

    @model_validator(mode="after")
    def _one_promise(self) -> Config:
        if self.false_alarms is None:
            return self
        both = [m.name for m in self.monitors if "false_alarm_every" in m.limits.model_fields_set]
        if both:
            message = (
                f"it promises for all monitors together, so leave "
                f"limits.false_alarm_every out of {', '.join(both)}"
            )
            raise SettingRefused(setting="false_alarms", why=message)
        if self.false_alarm_every(self.monitors[0]) < SHORTEST_PROMISE:
            message = (
                f"at most {self.false_alarms.at_most:g} in that time is more than "
                "one in every second round; promise fewer, or name a longer time in per"
            )
            raise SettingRefused(setting="false_alarms", why=message)
        return self

    @model_validator(mode="after")
    def _an_address_each(self) -> Config:
        page, web = self.pages, self.web
        if page is not None and web is not None and page.address.port == web.address.port:
            message = f"port {page.address.port} is that of web.listen; choose another one"
            raise SettingRefused(setting="pages.listen", why=message)
        return self

    @model_validator(mode="after")
    def _accounts_to_ask_for(self) -> Config:
        login, uri = None if self.pages is None else self.pages.login, self.mlflow.tracking_uri
        if login is not None and login.kind == "mlflow" and not takes_passwords(uri):
            message = (
                "accounts are those of an MLflow server, and no password is sent to one without "
                "encryption; set mlflow.tracking_uri to its https:// address (http:// on this "
                "machine only), or take kind: users"
            )
            raise SettingRefused(setting="pages.login", why=message)
        return self

    def false_alarm_every(self, monitor: MonitorConfig) -> float:
        """Return the rounds per false alarm that a monitor promises, alone or as its share.

        A block promises as one: each of its k monitors raises a false alarm in k times as many
        rounds.
        """
        if self.false_alarms is None:
            together = 1 if monitor.block is None else len(monitor.block.values)
            return monitor.limits.false_alarm_every * together
        return self._shared_promise

    @cached_property
    def _shared_promise(self) -> float:
        """Rounds per false alarm of every monitor where they promise together."""
        from monitor.stats.detection.fleet import shared_promise  # noqa: PLC0415  numpy takes 0.2 s

        promise = self.false_alarms or FalseAlarms()
        rounds = [rounds_per(monitor.schedule, promise.per) for monitor in self.monitors]
        return round(shared_promise(rounds, at_most=promise.at_most), 3)

    def false_alarms_a_year(self) -> dict[str, float]:
        """Most false alarms to expect of each monitor that has limits, in 52 weeks."""
        year = timedelta(weeks=52)
        return {
            monitor.name: rounds_per(monitor.schedule, year) / self.false_alarm_every(monitor)
            for monitor in self.monitors
            if monitor.limits.bounds
        }

    def settings_of(self, monitor: MonitorConfig) -> MonitorSettings:
        """Return what the rounds of a monitor need, its share of the promise among it."""
        settings = monitor.settings()
        limits = monitor.limits.model_copy(
            update={"false_alarm_every": self.false_alarm_every(monitor)}
        )
        return settings.model_copy(
            update={"round": settings.round.model_copy(update={"limits": limits})}
        )

    def placed(self, folder: Path) -> Config:
        """Return the same config as it reads in another folder."""
        placed = self.model_copy()
        placed._folder = folder
        return placed

    def in_blocks(self, blocks: Iterable[Block | None]) -> Config:
        """Return the same config with the block of each monitor."""
        for monitor, block in zip(self.monitors, blocks, strict=True):
            monitor._block = block
        return self

    def class_monitors(self, monitor: MonitorConfig) -> dict[str, str]:
        """Name the monitor of each class of a monitor's block; empty if it is of none."""
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
        """Find a monitor by name. Raises `ConfigRefused` if none exists, naming those there are."""
        for monitor in self.monitors:
            if monitor.name == name:
                return monitor
        available = ", ".join(monitor.name for monitor in self.monitors)
        message = f"there is no monitor {name!r} in the config; it has {available}"
        raise ConfigRefused(message)
