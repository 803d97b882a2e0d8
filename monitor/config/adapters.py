"""Kinds of sources, labelers and hooks: built in, or added by entry points.

`monitor.plugins` and other packages add a kind by an entry point (`monitor.domain.adapters`). Only
the names of entry points are read. A kind is imported when a config uses it, so a broken package
affects only the configs that use it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, cast

from pydantic import BeforeValidator, GetCoreSchemaHandler, TypeAdapter, ValidationInfo

from monitor.config.removed import REMOVED_KINDS
from monitor.domain.adapters import (
    Adapter,
    HookSettings,
    LabelerSite,
    MadeT,
    SettingsT,
    SiteT,
    SourceSettings,
)
from monitor.domain.errors import MonitorError, SettingRefused
from monitor.domain.ports import EffectHandler, HasTruths, Labeler, Source, TruthTable
from monitor.domain.setting_types import Settings
from monitor.domain.settings import Labeling
from monitor.hooks.context import HookContext
from monitor.hooks.log import LogHandler, LogSettings
from monitor.hooks.webhook import WebhookHandler, WebhookSettings
from monitor.labeling.column import NO_TRUTHS, ColumnLabeler, ColumnSettings
from monitor.labeling.files import FilesLabeler, FilesSettings
from monitor.labeling.page_settings import PageSettings
from monitor.sources.table_settings import DuckdbSettings, SqlSettings

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


_KIND = "kind"
_LONGEST = 60  # characters of a kind that a sentence shows


@dataclass(frozen=True, eq=False)
class Kinds(Generic[SettingsT, SiteT, MadeT]):
    """The kinds available in one section of the config.

    As an annotation, it makes pydantic choose the class of the section by its kind.
    """

    group: str
    base: type[SettingsT]
    built_in: Mapping[str, Adapter[Settings, SiteT, MadeT]]
    default: str | None = None

    def __get_pydantic_core_schema__(
        self, source: type[Settings], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Validate a section by the class of its kind, before pydantic's own validation."""
        return BeforeValidator(self.read).__get_pydantic_core_schema__(source, handler)

    def read(self, value: object, info: ValidationInfo) -> object:
        """Return the settings of a section; leave other values for pydantic to refuse."""
        return self.settings(value, info.context) if isinstance(value, dict) else value

    def settings(self, section: dict[str, Any], context: Any = None) -> SettingsT:
        """Return the settings of a section by the class of its kind; validators get ``context``.

        Raises `SettingRefused` if the kind is missing or unknown, or if its package is broken;
        `ValidationError` if a setting is invalid.
        """
        kind = section.get(_KIND, self.default)
        if kind is None:
            message = f"this setting is missing; it is one of {', '.join(self.names())}"
            raise SettingRefused(setting=_KIND, why=message)
        # Under its kind, so that pydantic puts the kind into the path of a problem, as for a union.
        adapter = self.adapter(str(kind))
        try:
            named = _under_a_name(adapter.settings)
            result = named.validate_python({str(kind): section}, context=context)
            return cast("SettingsT", result[str(kind)])
        except ValueError:
            raise  # what is wrong with the section
        except Exception as error:
            # Not its text, which may hold a secret.
            why = f"its settings cannot be read ({type(error).__name__})"
            raise self._broken(str(kind), why) from error

    def names(self) -> list[str]:
        """Return all installed kinds: built-in ones, our plugins, then other packages' kinds."""
        added: list[EntryPoint] = sorted(
            _installed(self.group), key=lambda one: (not _is_ours(one), one.name)
        )
        return list(dict.fromkeys([*self.built_in, *(one.name for one in added)]))

    def with_setting(self, name: str) -> list[str]:
        """Return this package's kinds that have a setting of this name."""
        plugins: list[str] = [one.name for one in _installed(self.group) if _is_ours(one)]
        kinds = [*self.built_in, *sorted(plugins)]
        return [kind for kind in kinds if name in self.adapter(kind).settings.model_fields]

    def adapter(self, kind: str) -> Adapter[Settings, SiteT, MadeT]:
        """Return the adapter of a kind, imported if it is not built in.

        Raises `SettingRefused` if the kind does not exist or is provided more than once, or if its
        package is broken.
        """
        brought = self._entries(kind)
        # Refused, not overridden: the winner would depend on the order of installation.
        if len(brought) > (kind not in self.built_in):
            described = " and ".join(map(_described, brought))
            also = " and is built in" if kind in self.built_in else ""
            message = f"{kind!r} is provided by {described}{also}; uninstall all but one"
            raise SettingRefused(setting=_KIND, why=message)
        if brought:
            return self._loaded(brought[0])
        if kind not in self.built_in:
            raise SettingRefused(setting=_KIND, why=self._unknown(kind))
        return self.built_in[kind]

    def make(self, settings: SettingsT, site: SiteT) -> MadeT:
        """Create the object that these settings describe.

        Raises `SettingRefused` if another package's code fails to create it.
        """
        kind = str(getattr(settings, _KIND))
        adapter = self.adapter(kind)
        try:
            return adapter.make(settings, site)
        except MonitorError:
            raise
        except Exception as error:
            if kind in self.built_in or any(map(_is_ours, self._entries(kind))):
                raise  # a fault of this program
            why = f"it cannot be built from its settings ({type(error).__name__})"
            raise self._broken(kind, why) from error

    def _entries(self, kind: str) -> list[EntryPoint]:
        return [one for one in _installed(self.group) if one.name == kind]

    def _unknown(self, kind: str) -> str:
        shown = ascii(kind if len(kind) <= _LONGEST else f"{kind[:_LONGEST]}...")
        if kind in REMOVED_KINDS:
            return f"{shown} was removed: {REMOVED_KINDS[kind]}"
        installed = f"installed are {', '.join(self.names())}"
        close = difflib.get_close_matches(kind, self.names(), n=1)
        hint = f"did you mean {close[0]}? ({installed})" if close else installed
        return f"{shown} is not known; {hint}"

    def _loaded(self, entry: EntryPoint) -> Adapter[Settings, SiteT, MadeT]:
        try:
            adapter = entry.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001  code of others may fail in any way
            why = f"it cannot be imported ({type(error).__name__}: {error})"
        else:
            why = self._misfit(adapter, entry.name)
            if not why:
                return adapter  # type: ignore[no-any-return]  # just looked at
        raise self._broken(entry.name, why)

    def _broken(self, kind: str, why: str) -> SettingRefused:
        named = " and ".join(map(_described, self._entries(kind)))
        message = f"{named or kind}: {why}; update or uninstall it"
        return SettingRefused(setting=_KIND, why=message)

    def _misfit(self, adapter: Any, kind: str) -> str:
        """Explain why an entry point's object is not an adapter of this kind; empty if it is."""
        if not isinstance(adapter, Adapter):
            return f"it is of type {type(adapter).__name__}, expected an Adapter"
        settings = adapter.settings
        if not (isinstance(settings, type) and issubclass(settings, self.base)):
            return f"its settings do not derive from {self.base.__name__}"
        kind_field = settings.model_fields.get(_KIND)
        if kind_field is None or kind_field.default != kind:
            return f"its settings need `kind: Literal[{kind!r}] = {kind!r}`"
        return ""


@cache  # what is installed does not change while a process runs, and reading it takes 10 ms
def _installed(group: str) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))


def _is_ours(entry: EntryPoint) -> bool:
    return entry.value.startswith("monitor.plugins.")


@cache
def _under_a_name(settings: type[Settings]) -> TypeAdapter[dict[str, Settings]]:
    return TypeAdapter(dict[str, settings])  # type: ignore[valid-type]


def _described(entry: EntryPoint) -> str:
    package = "a package" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
    return f"package {package} (entry point {entry.name} = {entry.value} of {entry.group})"


def _duckdb_source(settings: DuckdbSettings, folder: Path) -> Source:
    from monitor.sources.duckdb import DuckdbSource  # noqa: PLC0415  SQLAlchemy takes 0.2 s

    return DuckdbSource(settings, folder)


def _sql_source(settings: SqlSettings, folder: Path) -> Source:
    from monitor.sources.sql import SqlSource  # noqa: PLC0415  as above

    return SqlSource(settings, folder)


def _column_labeler(settings: ColumnSettings, site: LabelerSite) -> Labeler:
    if settings.path is not None:
        from monitor.sources.duckdb import truths_in_files  # noqa: PLC0415  as above

        truths: TruthTable = truths_in_files(settings.paths, site.folder, settings.columns)
    elif isinstance(site.source, HasTruths):
        truths = site.source.truths(settings.columns)
    else:
        raise SettingRefused(setting="path", why=NO_TRUTHS)
    return ColumnLabeler(settings, truths, clock=site.clock)


def _page_labeler(settings: PageSettings, site: LabelerSite) -> Labeler:
    from monitor.labeling.page import PageLabeler  # noqa: PLC0415  as above

    return PageLabeler(settings, site.folder, site.clock, site.store, site.block)


SOURCES: Kinds[SourceSettings, Path, Source] = Kinds(
    group="pr_monitor.sources",
    base=SourceSettings,
    built_in={
        "duckdb": Adapter(DuckdbSettings, _duckdb_source),
        "sql": Adapter(SqlSettings, _sql_source),
    },
    default="duckdb",
)
LABELERS: Kinds[Labeling, LabelerSite, Labeler] = Kinds(
    group="pr_monitor.labelers",
    base=Labeling,
    built_in={
        "files": Adapter(FilesSettings, lambda settings, site: FilesLabeler(settings, site.folder)),
        "column": Adapter(ColumnSettings, _column_labeler),
        "page": Adapter(PageSettings, _page_labeler),
    },
)
HOOKS: Kinds[HookSettings, HookContext, EffectHandler] = Kinds(
    group="pr_monitor.hooks",
    base=HookSettings,
    built_in={
        "webhook": Adapter(WebhookSettings, WebhookHandler),
        "log": Adapter(LogSettings, LogHandler),
    },
)
