"""What the page of a registered model version says of the monitors that watch it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from monitor.tracking.describe import sentence, verdict
from monitor.tracking.model_tags import write_tags
from monitor.tracking.values import slot_date

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities.model_registry import ModelVersion

    from monitor.domain.report import RoundReport

log = structlog.get_logger("monitor.tracking")

LONGEST = 5_000
"""Characters that MLflow's registry keeps of a description."""


@dataclass(frozen=True, slots=True)
class RoundLinks:
    """Where MLflow's pages show a round and all rounds, and the timeline as Markdown.

    ``address`` is that of all rounds as people may open it from anywhere, where MLflow has one.
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
    before = version.description or ""
    after = with_our_part(before, report, links)
    if after == before:
        return
    if len(after) > LONGEST:
        log.warning(
            "model version not described: MLflow keeps no more of a description",
            model=f"models:/{version.name}/{version.version}",
            characters=len(after),
            most=LONGEST,
        )
        return
    client.update_model_version(version.name, str(version.version), after)


def with_our_part(before: str, report: RoundReport, links: RoundLinks) -> str:
    """Place how a monitor stands into a description, in place of what it said there before.

    The rest belongs to people. A monitor's part stands between two comments, which the page does
    not show and its editor does; a new one comes last.
    """
    name = report.monitor.replace("--", "- -")  # which would end the comment
    begin = f"<!-- pr-monitor {name}: each round writes anew from here -->"
    end = f"<!-- pr-monitor {name}: to here -->"
    marked = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    match = marked.search(before)
    picture = links.picture or _picture_of(match[0] if match else "")
    parts = [_first_line(report, links), picture, sentence(report) if report.estimates else ""]
    ours = "\n\n".join([begin, *(part for part in parts if part), end])
    if match:
        return f"{before[: match.start()]}{ours}{before[match.end() :]}"
    return f"{before.rstrip()}\n\n{ours}" if before.strip() else ours


def _first_line(report: RoundReport, links: RoundLinks) -> str:
    stands = (
        verdict(report) if report.estimates else f"**{report.status.upper()}.** {sentence(report)}"
    )
    name = f"Round {report.round}, {slot_date(report)}"
    return f"{stands} · [{name}]({links.round}) · [Rounds]({links.rounds})"


def _picture_of(part: str) -> str:
    """Keep the picture of an earlier round where this one has none."""
    return next((line for line in part.splitlines() if line.startswith("![")), "")
