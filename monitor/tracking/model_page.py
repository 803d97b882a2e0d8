"""What the page of a registered model version says of the monitors that watch it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from monitor.domain.report import RoundReport, Status
from monitor.presentation.numbers import NOT_ESTIMABLE
from monitor.tracking.describe import sentence, verdict
from monitor.tracking.values import interval, slot_date

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities.model_registry import ModelVersion

    ModelState = Mapping[str, str]


log = structlog.get_logger("monitor.tracking")

LONGEST = 5_000  # Characters that MLflow's registry keeps of a description

_ESTIMATES = ("precision", "recall")
_FIELDS = (*_ESTIMATES, "date", "link", "status")
"""The status comes last: a listener to it finds the rest."""
_NAME = "monitor.name"
_OF_ONE = re.compile(rf"monitor\.(?P<name>.+)\.(?P<field>{'|'.join(_FIELDS)})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RoundLinks:
    """Where MLflow's pages show a round and all rounds, and the timeline as Markdown.

    ``address`` leads to all rounds from anywhere, where MLflow has such an address.
    ``picture`` is empty where the round has none, or where the page of the version could not show
    it: on another server than the runs.
    """

    round: str
    rounds: str
    address: str
    picture: str = ""


def write_model_page(
    client: MlflowClient, version: ModelVersion, report: RoundReport, links: RoundLinks
) -> None:
    """Write the description and then the tags; what stands already fires no webhook."""
    _write_description(client, version, report, links)
    write_tags(client, version, report, links.address)


def _write_description(
    client: MlflowClient, version: ModelVersion, report: RoundReport, links: RoundLinks
) -> None:
    old = version.description or ""
    new = with_our_part(old, report, links)
    if new == old:
        return
    if len(new) > LONGEST:
        log.warning(
            "model version not described: MLflow keeps no more of a description",
            model=f"models:/{version.name}/{version.version}",
            characters=len(new),
            most=LONGEST,
        )
        return
    client.update_model_version(version.name, str(version.version), new)


def with_our_part(description: str, report: RoundReport, links: RoundLinks) -> str:
    """Write how a monitor stands into a description, replacing what it said there before.

    The rest belongs to people. A monitor's part stands between two comments, which the page does
    not show and its editor does; a new one comes last.
    """
    name = report.monitor.replace("--", "- -")  # which would end the comment
    begin = f"<!-- pr-monitor {name}: each round writes anew from here -->"
    end = f"<!-- pr-monitor {name}: to here -->"
    marked = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    match = marked.search(description)
    picture = links.picture or _picture_of(match[0] if match else "")
    parts = [_first_line(report, links), picture, sentence(report) if report.estimates else ""]
    ours = "\n\n".join([begin, *(part for part in parts if part), end])
    if match:
        return f"{description[: match.start()]}{ours}{description[match.end() :]}"
    return f"{description.rstrip()}\n\n{ours}" if description.strip() else ours


def _first_line(report: RoundReport, links: RoundLinks) -> str:
    stands = (
        verdict(report) if report.estimates else f"**{report.status.upper()}.** {sentence(report)}"
    )
    name = f"Round {report.round}, {slot_date(report)}"
    return f"{stands} · [{name}]({links.round}) · [Rounds]({links.rounds})"


def _picture_of(part: str) -> str:
    """Keep the picture of an earlier round where this one has none."""
    return next((line for line in part.splitlines() if line.startswith("![")), "")


def write_tags(client: MlflowClient, version: ModelVersion, report: RoundReport, link: str) -> None:
    """Write how the version stands; what stands already fires no webhook."""
    state = _state(report, link)
    stands = _stands_of(version.tags)
    if not stands and version.tags.get(_NAME, report.monitor) == report.monitor:
        _write(client, version, version.tags, {_NAME: report.monitor, **_tags("monitor", state)})
        return
    tags = _write_of_each(client, version, stands, {report.monitor: state})
    name, gravest = _gravest_of(_stands_of(tags))
    blank = dict.fromkeys(_ESTIMATES, NOT_ESTIMABLE)  # the plain ones may be another monitor's
    _write(client, version, tags, {_NAME: name, **_tags("monitor", {**blank, **gravest})})


def _stands_of(tags: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Read how each monitor with its own tags stands.

    Without a status the tags are not whole: that is written last.
    """
    result: dict[str, dict[str, str]] = {}
    for key, value in tags.items():
        if parts := _OF_ONE.fullmatch(key):
            result.setdefault(parts["name"], {})[parts["field"]] = value
    return {name: state for name, state in result.items() if "status" in state}


def _gravest_of(stands: Mapping[str, ModelState]) -> tuple[str, ModelState]:
    """Choose the monitor that stands gravest; of several the newest, then by name."""
    by_name = sorted(stands.items())
    newest_first = sorted(by_name, key=lambda one: one[1].get("date", ""), reverse=True)
    return min(newest_first, key=lambda one: _grade(one[1]["status"]))


def _grade(status: str) -> int:
    """Grade what a tag says; a word that somebody else wrote there comes last."""
    return Status(status).grade if status in set(Status) else len(Status) + 1


def _state(report: RoundReport, link: str) -> dict[str, str]:
    intervals = {metric: interval(report, metric) for metric in _ESTIMATES}
    return {
        **(intervals if report.estimates else {}),  # a round without any leaves the last ones
        "date": slot_date(report),
        "link": link,
        "status": str(report.status),
    }


def _write_of_each(
    client: MlflowClient,
    version: ModelVersion,
    stands: Mapping[str, ModelState],
    states: Mapping[str, ModelState],
) -> dict[str, str]:
    """Write the tags of single monitors, and return all tags as they are then.

    The first of them may have the plain ones only; they become its own.
    """
    tags = dict(version.tags)
    plain = {field: tags[f"monitor.{field}"] for field in _FIELDS if f"monitor.{field}" in tags}
    first = {} if stands or "status" not in plain else {tags[_NAME]: plain}
    new_tags = {
        key: value
        for name, state in (first | dict(states)).items()
        for key, value in _tags(f"monitor.{name}", state).items()
    }
    if not _write(client, version, tags, new_tags):
        return tags
    return dict(client.get_model_version(version.name, str(version.version)).tags)  # others write


def _tags(begin: str, state: ModelState) -> dict[str, str]:
    return {f"{begin}.{field}": state[field] for field in _FIELDS if field in state}


def _write(
    client: MlflowClient,
    version: ModelVersion,
    tags: Mapping[str, str],
    new_tags: Mapping[str, str],
) -> bool:
    """Write those that are not there yet; returns whether there were any."""
    changed = {key: value for key, value in new_tags.items() if tags.get(key) != value}
    for key, value in changed.items():
        client.set_model_version_tag(version.name, str(version.version), key, value)
    return bool(changed)
