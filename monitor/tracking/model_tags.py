"""The tags of a registered model version: how the monitors that watch it stand.

Of one monitor they are ``monitor.status``, ``monitor.precision`` and so on. Where several watch
the version, each has its own as well (``monitor.mail-travel.status``), and the plain ones are those
of the monitor that stands gravest, which ``monitor.name`` names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from monitor.domain.report import RoundReport, Status
from monitor.presentation.numbers import NOT_ESTIMABLE
from monitor.tracking.values import interval, slot_date

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities.model_registry import ModelVersion

    ModelState = Mapping[str, str]

_ESTIMATES = ("precision", "recall")
_FIELDS = (*_ESTIMATES, "date", "link", "status")
"""The status comes last: a listener to it finds the rest."""

_NAME = "monitor.name"
_OF_ONE = re.compile(rf"monitor\.(?P<name>.+)\.(?P<field>{'|'.join(_FIELDS)})", re.DOTALL)


def write_tags(client: MlflowClient, version: ModelVersion, report: RoundReport, link: str) -> None:
    """Write how the version stands; what stands already fires no webhook."""
    own = _state(report, link)
    stands = stands_of(version.tags)
    if not stands and version.tags.get(_NAME, report.monitor) == report.monitor:
        _write(client, version, version.tags, {_NAME: report.monitor, **_tags("monitor", own)})
        return
    tags = _write_of_each(client, version, stands, {report.monitor: own})
    name, gravest = gravest_of(stands_of(tags))
    blank = dict.fromkeys(_ESTIMATES, NOT_ESTIMABLE)  # the plain ones may be another monitor's
    _write(client, version, tags, {_NAME: name, **_tags("monitor", {**blank, **gravest})})


def stands_of(tags: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Read how each monitor with its own tags stands.

    Without a status the tags are not whole: that is written last.
    """
    result: dict[str, dict[str, str]] = {}
    for key, value in tags.items():
        if parts := _OF_ONE.fullmatch(key):
            result.setdefault(parts["name"], {})[parts["field"]] = value
    return {name: state for name, state in result.items() if "status" in state}


def gravest_of(stands: Mapping[str, ModelState]) -> tuple[str, ModelState]:
    """Choose the monitor that stands gravest; of several the newest, then by name."""
    by_name = sorted(stands.items())
    newest_first = sorted(by_name, key=lambda one: one[1].get("date", ""), reverse=True)
    return min(newest_first, key=lambda one: _grade(one[1]["status"]))


def _grade(status: str) -> int:
    """Grade what a tag says; a word that somebody else wrote there comes last."""
    return Status(status).grade if status in set(Status) else len(Status) + 1


def _state(report: RoundReport, link: str) -> dict[str, str]:
    existing = {metric: interval(report, metric) for metric in _ESTIMATES}
    return {
        **(existing if report.estimates else {}),  # a round without any leaves the last ones
        "date": slot_date(report),
        "link": link,
        "status": str(report.status),
    }


def _write_of_each(
    client: MlflowClient,
    version: ModelVersion,
    stands: Mapping[str, ModelState],
    own: Mapping[str, ModelState],
) -> dict[str, str]:
    """Write the tags of single monitors, and return all tags as they are then.

    The first of them may have the plain ones only; they become its own.
    """
    tags = dict(version.tags)
    plain = {field: tags[f"monitor.{field}"] for field in _FIELDS if f"monitor.{field}" in tags}
    first = {} if stands or "status" not in plain else {tags[_NAME]: plain}
    expected = {
        key: value
        for name, state in (first | dict(own)).items()
        for key, value in _tags(f"monitor.{name}", state).items()
    }
    if not _write(client, version, tags, expected):
        return tags
    return dict(client.get_model_version(version.name, str(version.version)).tags)  # others write


def _tags(begin: str, state: ModelState) -> dict[str, str]:
    return {f"{begin}.{field}": state[field] for field in _FIELDS if field in state}


def _write(
    client: MlflowClient,
    version: ModelVersion,
    tags: Mapping[str, str],
    expected: Mapping[str, str],
) -> bool:
    """Write those that are not there yet; returns whether there were any."""
    changed = {key: value for key, value in expected.items() if tags.get(key) != value}
    for key, value in changed.items():
        client.set_model_version_tag(version.name, str(version.version), key, value)
    return bool(changed)
