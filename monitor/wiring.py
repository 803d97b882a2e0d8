"""The one place that builds adapters from the config."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic import ValidationError

from monitor.config.adapters import HOOKS, LABELERS, SOURCES
from monitor.config.model import Config, MonitorConfig
from monitor.config.opened_source import opened_source, problems_of
from monitor.config.several import labelers_of
from monitor.domain.adapters import LabelerSite
from monitor.domain.block import Block
from monitor.domain.errors import ConfigRefused, SettingRefused
from monitor.domain.label_parts import ROLE, AssignedLabeler, parts_of, role_of
from monitor.domain.model import ANSWERS, LOG, MLFLOW, EffectKind
from monitor.domain.notice import Notice
from monitor.domain.ports import (
    Checkable,
    CheckResult,
    Clock,
    EffectHandler,
    Labeler,
    Source,
    TakesAnswers,
    utc_now,
)
from monitor.domain.settings import Labeling, RoundSettings
from monitor.hooks.context import HookContext, Link
from monitor.hooks.log import LogHandler, LogSettings
from monitor.labeling.column import ColumnLabeler
from monitor.labeling.files import FilesLabeler
from monitor.labeling.page import PageLabeler
from monitor.rounds.answers import AnswersHandler
from monitor.rounds.context import MonitorContext, SettledWindows
from monitor.storage.database import Database
from monitor.storage.outbox import effect_admin
from monitor.tracking.aliases import MlflowAliases
from monitor.tracking.links import round_link
from monitor.tracking.mlflow import MlflowHandler
from monitor.tracking.shown import MlflowRuns

if TYPE_CHECKING:
    MakeLabeler = Callable[[Labeling, Block | None], Labeler]


@dataclass(frozen=True, slots=True)
class Application:
    """Everything built from one config: the store, each monitor's context, the effect handlers."""

    config: Config
    database: Database
    monitors: tuple[MonitorContext, ...]
    handlers: dict[str, EffectHandler]
    clock: Clock
    link: Link

    @property
    def names(self) -> list[str]:
        """Names of the monitors, in the order of the config."""
        return [context.settings.name for context in self.monitors]

    def context(self, name: str) -> MonitorContext:
        """Find a monitor's context. Raises `ConfigRefused` if the config has no such monitor."""
        self.config.monitor(name)
        return next(context for context in self.monitors if context.settings.name == name)

    def mlflow_page(self, monitor: str, key: str) -> str | None:
        """Return the address of a round in MLflow, by the round's key."""
        return _mlflow_page(self.config, self.database, monitor, key)

    def config_fingerprints(self) -> dict[str, str]:
        """Describe all that decides a check of each monitor, except data and labels."""
        # Another version of the program may behave differently with the same config.
        program = version("mlflow-pr-monitor")
        return {
            context.settings.name: "\n".join(
                [
                    program,
                    str(self.config.folder),
                    answer.model_dump_json(),
                    context.settings.model_dump_json(),
                ]
            )
            for answer, context in zip(self.config.monitors, self.monitors, strict=True)
        }


def build(
    config: Config, *, clock: Clock = utc_now, database: Database | None = None
) -> Application:
    """Build the application of a config, with an open store if one is given.

    Opens and calls nothing yet.
    """
    database = database or Database(config.store_url)
    link = partial(_link, config, database)
    aliases = MlflowAliases(config.mlflow, config.folder)
    runs = MlflowRuns(config.mlflow, config.folder)
    settled: defaultdict[str, SettledWindows] = defaultdict(SettledWindows)
    monitors = tuple(
        _context(config, monitor, database, clock, runs, aliases, settled)
        for monitor in config.monitors
    )
    by_name = {context.settings.name: context for context in monitors}
    takes_answers = any(isinstance(context.source, TakesAnswers) for context in monitors)
    answers = {ANSWERS: AnswersHandler(database, by_name)} if takes_answers else {}
    return Application(
        config=config,
        database=database,
        monitors=monitors,
        handlers=_handlers(config, clock, link) | answers,
        clock=clock,
        link=link,
    )


def mlflow_handler(config: Config) -> MlflowHandler:
    """Build the handler of MLflow's effects."""
    return MlflowHandler(config.mlflow, config.folder)


def _handlers(config: Config, clock: Clock, link: Link) -> dict[str, EffectHandler]:
    return {
        LOG: LogHandler(LogSettings(), HookContext(LOG, config.folder, clock, link)),
        MLFLOW: mlflow_handler(config),
        **{
            name: HOOKS.make(hook, HookContext(name, config.folder, clock, link))
            for name, hook in config.hooks.items()
        },
    }


def _link(config: Config, database: Database, notice: Notice) -> str | None:
    """Return the address of a notice's round in MLflow."""
    if notice.event == "test":
        return None  # it is of no round, and needs no store
    return _mlflow_page(config, database, notice.monitor, notice.round_key)


def _mlflow_page(config: Config, database: Database, monitor: str, key: str) -> str | None:
    uri, prefix = config.mlflow.tracking_uri, config.mlflow.experiment_prefix
    if not uri.startswith(("http://", "https://")):
        return None
    with database.read() as connection:
        last = effect_admin.last_done(connection, monitor, EffectKind.ROUND_RUN)
    return round_link(uri, f"{prefix}/{monitor}", key, None if last is None else last[1])


def _context(
    config: Config,
    monitor: MonitorConfig,
    database: Database,
    clock: Clock,
    runs: MlflowRuns,
    aliases: MlflowAliases,
    settled: Mapping[str, SettledWindows],
) -> MonitorContext:
    with _refused("source"):
        source = SOURCES.make(monitor.source, config.folder)
    make = partial(_made_labeler, config, monitor.name, clock, database, source)
    today = _today(monitor, make)
    return MonitorContext(
        settings=config.settings_of(monitor),
        database=database,
        source=source,
        labeler=today[0].labeler,
        parts=today,
        clock=clock,
        runs=runs,
        aliases=aliases,
        labelers=partial(_labelers, monitor, today, make),
        as_opened=lambda settings: opened_source(settings, monitor.source, config.folder),
        class_monitors=config.class_monitors(monitor),
        settled=SettledWindows() if monitor.block is None else settled[monitor.block.name],
    )


def _labelers(
    monitor: MonitorConfig,
    today: Sequence[AssignedLabeler],
    make: MakeLabeler,
    settings: RoundSettings,
) -> tuple[AssignedLabeler, ...]:
    if settings.labeling is None:
        return (*today,)
    of_config = labelers_of(monitor.labeling)
    now = {
        one.role: (labeling, one.labeler)
        for one, (_, labeling) in zip(today, of_config, strict=True)
    }
    roles = [role_of(settings.labeling, part) for part in range(len(parts_of(settings.labeling)))]
    return tuple(
        AssignedLabeler(labeler, part, role)
        for part, (role, stored) in enumerate(zip(roles, parts_of(settings.labeling), strict=True))
        for labeler in _of_part(stored, now.get(role), make, settings.block, monitor.block)
    )


def _of_part(
    opened_with: Mapping[str, Any],
    today: tuple[Labeling, Labeler] | None,
    make: MakeLabeler,
    block: Block | None,
    block_today: Block | None,
) -> tuple[Labeler, ...]:
    """Return the labelers of a part of a round, the one that it was opened with first.

    A round that asks people keeps the folder of its tasks. It also reads the folder of today's
    config, if that has one, because people may put answers there. It keeps whether people answer
    yes or no or choose a class, and which classes. Any other kind is read with today's config, so
    that a wrong path or name can be corrected, except for settings that decide the round
    (`Labeling.as_opened`).
    """
    if today is None:
        return (_stored_labeler(opened_with, block, make),)
    labeling, labeler = today
    if _asks_equally(opened_with, labeling) and type(labeler) is not FilesLabeler:
        opened = labeling.as_opened(opened_with)
        is_same = opened is labeling and block == block_today
        return (labeler if is_same else make(opened, block),)
    stored = _stored_labeler(opened_with, block, make)
    # By the very class: a package may derive its own labeler from it.
    if type(stored) is not FilesLabeler or type(labeler) is not FilesLabeler:
        return (stored,)
    return _folders(stored, labeler)


def _folders(opened_with: FilesLabeler, today: FilesLabeler) -> tuple[Labeler, ...]:
    if not today.filled.exists():
        return (opened_with,)
    if opened_with.settings.own() == today.settings.own():
        return (today,)
    return (opened_with,) if opened_with.location == today.location else (opened_with, today)


def _asks_equally(stored: Mapping[str, Any], labeling: Labeling) -> bool:
    """Whether a round's labeler is of the config's kind, and asks for the same kind of answer."""
    kinds = [(each["kind"], each.get("answer", "yes_no")) for each in (stored, labeling.own())]
    return kinds[0] == kinds[1]


def _stored_labeler(labeling: Mapping[str, Any], block: Block | None, make: MakeLabeler) -> Labeler:
    settings = {name: value for name, value in labeling.items() if name != ROLE}
    try:
        return make(LABELERS.settings(settings), block)
    except (SettingRefused, ValidationError) as error:
        # its package was uninstalled or changed while the round was open: that round alone stops
        why = error if isinstance(error, SettingRefused) else problems_of(error)
        return AbsentLabeler(" ".join(str(why).split()))


@dataclass(slots=True)
class AbsentLabeler:
    """A `Labeler` of a kind that can no longer be made, which refuses every call with the reason.

    So the rounds that need it show why they wait, and all others go on.
    """

    why: str
    name: str = "absent"
    asks_people: bool = True
    question: None = None

    def _refuse(self, *arguments: object, **_: object) -> NoReturn:
        about = arguments[0] if arguments and isinstance(arguments[0], str) else "these rounds"
        message = f"the labeler of {about} cannot be used: {self.why}"
        raise ConfigRefused(message)

    send = collect = close = forget = _refuse


def _today(monitor: MonitorConfig, make: MakeLabeler) -> tuple[AssignedLabeler, ...]:
    own = monitor.labeling.own()
    with _refused("labeling"):
        return tuple(
            AssignedLabeler(make(labeling, monitor.block), part, role_of(own, part))
            for part, (_, labeling) in enumerate(labelers_of(monitor.labeling))
        )


def _made_labeler(
    config: Config,
    name: str,
    clock: Clock,
    database: Database,
    source: Source,
    labeling: Labeling,
    block: Block | None,
) -> Labeler:
    mlflow = config.mlflow
    experiment = f"{mlflow.experiment_prefix}/{name}/labels"
    site = LabelerSite(
        config.folder, clock, database, mlflow.tracking_uri, experiment, source, block
    )
    return LABELERS.make(labeling, site)


@contextmanager
def _refused(section: str) -> Iterator[None]:
    """Turn `SettingRefused` of a section into `ConfigRefused`."""
    try:
        yield
    except SettingRefused as error:
        message = f"{section}.{error}"
        raise ConfigRefused(message) from error


def check_labels(labeler: Labeler) -> CheckResult | str:
    """Check the location of labels, and describe it.

    Raises `LabelsRefused` if the file, a column of it, or the guideline is missing,
    the folder cannot be written, or the tool in which people label does not accept us;
    `LabelsUnavailable` if that tool does not answer.
    """
    if isinstance(labeler, ColumnLabeler):
        labeler.columns()
        return f"column {labeler.settings.value} of {labeler.truths}"
    if isinstance(labeler, PageLabeler):
        labeler.guideline()
        return f"{labeler.location}: {labeler.settings.question}"
    if isinstance(labeler, FilesLabeler):
        labeler.make_folder()
        return f"files in {labeler.folder}"
    if isinstance(labeler, Checkable):
        return labeler.usable()
    return labeler.name
