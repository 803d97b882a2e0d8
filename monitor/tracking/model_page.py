"""The registered model version that monitors watch: found, described and tagged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from monitor.domain.errors import DeliveryFailed
from monitor.domain.registered import MODEL_URI
from monitor.domain.report import RoundReport, Status
from monitor.presentation.numbers import NOT_ESTIMABLE
from monitor.tracking.describe import escaped, verdict
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
_LOGGED_MODEL = re.compile(r"models:/(m-[0-9a-f]+)")
_NOT_THERE = frozenset({"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "PERMISSION_DENIED"})


def model_version(client: MlflowClient, uri: str) -> ModelVersion:
    """Find ``models:/name/7`` or ``models:/name@alias``."""
    from mlflow.exceptions import MlflowException  # noqa: PLC0415

    parts = MODEL_URI.fullmatch(uri)
    if parts is None:
        message = f"model {uri!r} is not a registered version; write models:/name/7 or @alias"
        raise DeliveryFailed(message, sink_down=False)
    try:
        if parts["alias"]:
            return client.get_model_version_by_alias(parts["name"], parts["alias"])
        return client.get_model_version(parts["name"], parts["version"])
    except MlflowException as error:
        if error.error_code not in _NOT_THERE:
            raise
        message = (
            f"MLflow shows no model version {uri} to this user; register it, correct `model` in "
            "the config, or give the user permission READ on it"
        )
        raise DeliveryFailed(message, sink_down=False) from error


def watched_version(client: MlflowClient, report: RoundReport) -> ModelVersion:
    """Find the model version that made the predictions of a round."""
    if report.watched is None:
        message = f"monitor {report.monitor} names no `model`, so there is nothing to tag"
        raise DeliveryFailed(message, sink_down=False)
    return model_version(client, report.watched)


def logged_model_id(client: MlflowClient, uri: str) -> str | None:
    """Return the id by which a run links to the model; None for what cannot be linked."""
    try:
        version = model_version(client, uri)
    except DeliveryFailed:
        return None
    match = _LOGGED_MODEL.fullmatch(version.source or "")
    return version.model_id or (match[1] if match else None)


@dataclass(frozen=True, slots=True)
class RoundLinks:
    """Paths of a round and of all rounds in MLflow's pages, and the timeline as Markdown.

    ``address`` is the full address of all rounds. ``picture`` is empty if the round has none, or if
    the page of the version is on another server.
    """

    round: str
    rounds: str
    address: str
    picture: str = ""


def write_model_page(
    client: MlflowClient, version: ModelVersion, report: RoundReport, links: RoundLinks
) -> None:
    """Write the description and then the tags; unchanged values fire no webhook."""
    old = version.description or ""
    new = with_our_part(old, report, links)
    if len(new) > LONGEST and new != old:
        log.warning(
            "model version not described: MLflow keeps no more of a description",
            model=f"models:/{version.name}/{version.version}",
            characters=len(new),
            most=LONGEST,
        )
    elif new != old:
        client.update_model_version(version.name, str(version.version), new)
    write_tags(client, version, report, links.address)


def with_our_part(description: str, report: RoundReport, links: RoundLinks) -> str:
    """Write a monitor's status into a description, replacing its earlier part.

    The rest belongs to people. A monitor's part is between two comments.
    """
    name = report.monitor.replace("--", "- -")  # which would end the comment
    begin = f"<!-- pr-monitor {name}: each round writes anew from here -->"
    end = f"<!-- pr-monitor {name}: to here -->"
    marked = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    match = marked.search(description)
    earlier = (line for line in (match[0] if match else "").splitlines() if line.startswith("!["))
    picture = links.picture or next(earlier, "")
    sentence = escaped(report.sentence)
    stands = verdict(report) if report.estimates else f"**{report.status.upper()}.** {sentence}"
    round_link = f"[Round {report.round}, {slot_date(report)}]({links.round})"
    first_line = f"{stands} · {round_link} · [Rounds]({links.rounds})"
    parts = [first_line, picture, sentence if report.estimates else ""]
    ours = "\n\n".join([begin, *(part for part in parts if part), end])
    if match:
        return f"{description[: match.start()]}{ours}{description[match.end() :]}"
    return f"{description.rstrip()}\n\n{ours}" if description.strip() else ours


def write_tags(client: MlflowClient, version: ModelVersion, report: RoundReport, link: str) -> None:
    """Write the version's tags of this monitor, and plain tags of the gravest monitor.

    Unchanged values fire no webhook.
    """
    tags: Mapping[str, str] = version.tags
    if _write(client, version, tags, _tags(f"monitor.{report.monitor}", _state(report, link))):
        tags = client.get_model_version(version.name, str(version.version)).tags  # others write
    by_name = sorted(_stands_of(tags).items())
    newest_first = sorted(by_name, key=lambda one: one[1].get("date", ""), reverse=True)
    name, gravest = min(newest_first, key=lambda one: _grade(one[1]["status"]))
    blank = dict.fromkeys(_ESTIMATES, NOT_ESTIMABLE)  # the plain ones may be another monitor's
    _write(client, version, tags, {_NAME: name, **_tags("monitor", {**blank, **gravest})})


def _stands_of(tags: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Read the tags of each monitor that has some.

    Tags without a status are incomplete: it is written last.
    """
    result: dict[str, dict[str, str]] = {}
    for key, value in tags.items():
        if parts := _OF_ONE.fullmatch(key):
            result.setdefault(parts["name"], {})[parts["field"]] = value
    return {name: state for name, state in result.items() if "status" in state}


def _grade(status: str) -> int:
    """Grade a status tag; any other word comes last."""
    return Status(status).grade if status in set(Status) else len(Status) + 1


def _state(report: RoundReport, link: str) -> dict[str, str]:
    intervals = {metric: interval(report, metric) for metric in _ESTIMATES}
    return {
        **(intervals if report.estimates else {}),  # a round without any leaves the last ones
        "date": slot_date(report),
        "link": link,
        "status": str(report.status),
    }


def _tags(begin: str, state: ModelState) -> dict[str, str]:
    return {f"{begin}.{field}": state[field] for field in _FIELDS if field in state}


def _write(
    client: MlflowClient,
    version: ModelVersion,
    tags: Mapping[str, str],
    new_tags: Mapping[str, str],
) -> bool:
    changed = {key: value for key, value in new_tags.items() if tags.get(key) != value}
    for key, value in changed.items():
        client.set_model_version_tag(version.name, str(version.version), key, value)
    return bool(changed)
