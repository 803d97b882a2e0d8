"""Build the source of a round from the settings that it was opened with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from monitor.config.adapters import SOURCES
from monitor.domain.adapters import DIGESTS, SourceSettings
from monitor.domain.errors import SettingRefused, SourceRefused
from monitor.domain.ports import Source
from monitor.domain.settings import RoundSettings


@dataclass(slots=True)
class AbsentSource:
    """A `Source` that can no longer be built; every call raises `SourceRefused` with the reason."""

    why: str

    def _refuse(self, *_: object) -> NoReturn:
        message = f"the source that the round was opened with cannot be used: source.{self.why}"
        raise SourceRefused(message, is_public=True)

    scan = count = show = span = prediction_times = excluded = _refuse


def opened_source(settings: RoundSettings, today: SourceSettings, folder: Path) -> Source:
    """Build the source that a round was opened with.

    Secrets, and addresses that may hold one, are read from the current config.
    """
    try:
        return SOURCES.make(opened_settings(settings, today), folder)
    except ValidationError as error:
        return AbsentSource(problems_of(error))
    except SettingRefused as error:
        return AbsentSource(" ".join(str(error).split()))


def opened_settings(settings: RoundSettings, today: SourceSettings) -> SourceSettings:
    """Return the settings of a round's source, with the secrets of the current config.

    Raises `SettingRefused` if an address has changed; `ValidationError` if settings are invalid.
    """
    own = _settings(settings.source or {}, today)
    own.judge_by(settings.judge)
    own.track_at(today.tracking_uri)
    return own


def _settings(opened_with: Mapping[str, Any], today: SourceSettings) -> SourceSettings:
    section = {name: value for name, value in opened_with.items() if name != DIGESTS}
    now = today.own()
    if section["kind"] != now["kind"]:
        return SOURCES.settings(section)
    for name, digest in opened_with[DIGESTS].items():
        if now[DIGESTS].get(name) != digest:
            raise SettingRefused(setting=name, why="the config has another value now")
    return SOURCES.settings({**today.unfrozen(), **section})


def problems_of(error: ValidationError) -> str:
    """Return the problems of a validation on one line, without the values."""
    text = "; ".join(
        f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False)
    )
    return " ".join(text.split())
