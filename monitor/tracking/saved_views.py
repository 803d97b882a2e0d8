"""Views that MLflow's pages offer under "Views": the charts and columns to see first.

A view is a tag of the experiment with the state of MLflow's own page as JSON (tried with 3.17). A
page that does not understand it shows as if there were none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

CHARTS, ROUNDS = "Precision and recall", "Rounds"
MOST_VIEWS = 40  # More are not offered

_TAG = "mlflow.sharedViewState."
_WRITTEN = 1_795_313_804_987  # the same always, so that a view which nobody changed is the same
_ENDS = ("point", "low", "high")
_COLUMNS = ("monitor.status", "P", "R", "monitor.alert")
_SECTIONS_OF_MLFLOW = ("precision", "prevalence", "recall", "round")
_EVIDENCE = "Evidence of a breach: 1 is an alert"
_GRAVEST_FIRST = {
    "orderByKey": "tags.`monitor.grade`",
    "orderByAsc": True,
    "runsHiddenMode": "SHOWALL",
}


def monitor_views() -> dict[str, str]:
    """Make the tags with the views of the experiment of a monitor: a run is a round."""
    return _tags([(ROUNDS, _state([], [], run_list=True))])


def fleet_views() -> dict[str, str]:
    """Make the tags with the views of the experiment of all monitors: a step is a round."""
    points = [_line(metric, _estimates(metric)[:1]) for metric in ("precision", "recall")]
    return _tags(
        [
            (CHARTS, _state(["Estimates of all monitors"], [points]) | _GRAVEST_FIRST),
            ("Evidence", _state([_EVIDENCE], [_evidence()]) | _GRAVEST_FIRST),
            ("Monitors", _state([], [], run_list=True) | _GRAVEST_FIRST),
        ]
    )


def charts_of(monitor: str) -> dict[str, str]:
    """Make the tag with the view of one monitor's charts in the experiment of all."""
    estimates = [_line(metric, _estimates(metric)) for metric in ("precision", "recall")]
    state = _state(["Point, interval and limit", _EVIDENCE], [estimates, _evidence()])
    return _tags([(monitor, state | {"searchFilter": f"tags.`monitor.name` = '{monitor}'"})])


def is_view(tag: str) -> bool:
    """Whether a tag is a saved view, no matter who saved it."""
    return tag.startswith(_TAG)


def key_of(name: str, views: dict[str, str]) -> str:
    """Find the key by which a link opens a view."""
    return next(
        tag.removeprefix(_TAG) for tag, text in views.items() if json.loads(text)["name"] == name
    )


def _tags(views: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, str]:
    tags = {}
    for name, state in views:
        text = json.dumps(state)
        key = hashlib.sha256(f"{name} {text}".encode()).hexdigest()[:16]
        view = {"name": name, "createdAt": _WRITTEN, "updatedAt": _WRITTEN, "state": text}
        tags[f"{_TAG}{key}"] = json.dumps(view)
    return tags


def _evidence() -> list[dict[str, Any]]:
    names = [f"round/evidence_{metric}" for metric in ("precision", "recall")]
    return [_line("evidence", names)]


def _estimates(metric: str) -> list[str]:
    return [f"{metric}/{name}" for name in (*_ENDS, "limit")]


def _line(name: str, metrics: list[str]) -> dict[str, Any]:
    return {
        "type": "LINE",
        "uuid": f"pr-monitor {name}",
        "runsCountToCompare": 10,
        "deleted": False,
        "isGenerated": False,
        "metricKey": metrics[0],
        "selectedMetricKeys": metrics,
        "xAxisKey": "time",
        "selectedXAxisMetricKey": "",
        "useGlobalXaxisKey": False,
        "useGlobalLineSmoothing": True,
        "lineSmoothness": 0,
        "scaleType": "linear",
        "xAxisScaleType": "linear",
        "range": {"xMin": None, "xMax": None, "yMin": None, "yMax": None},
        "displayPoints": False,
    }


def _state(
    sections: list[str], charts: list[list[dict[str, Any]]], *, run_list: bool = False
) -> dict[str, Any]:
    """Describe what the page shows: our sections first, MLflow's own ones closed."""
    ours = [_section(f"pr-monitor {n}", name, is_open=True) for n, name in enumerate(sections)]
    theirs = [_section(f"mlflow {name}", name, is_open=False) for name in _SECTIONS_OF_MLFLOW]
    return {
        "searchFilter": "",
        "orderByKey": "attributes.start_time",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": [*(f"tags.`{name}`" for name in _COLUMNS), "metrics.`round/labels`"],
        "compareRunCharts": [
            {**chart, "metricSectionId": section["uuid"]}
            for section, of_section in zip(ours, charts, strict=True)
            for chart in of_section
        ],
        "compareRunSections": [*ours, *theirs],
        "isAccordionReordered": True,
        "hideEmptyCharts": True,
        "runListHidden": not run_list,
    }


def _section(uuid: str, name: str, *, is_open: bool) -> dict[str, Any]:
    return {
        "uuid": uuid,
        "name": name,
        "display": is_open,
        "isReordered": True,
        "deleted": False,
        "isGenerated": False,
        "columns": 2,
        "cardHeight": 400,
    }
