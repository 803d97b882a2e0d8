"""Addresses of rounds in MLflow's pages, made without calling MLflow."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from monitor.domain.registered import MODEL_URI
from monitor.tracking.connection import shown

CLASSIC = "workflowType=machine_learning"
"""Makes MLflow's page list runs; without it, a new browser shows an empty page of LLM traces. The
kind of the experiment does not matter (3.17)."""


def round_path(experiment_id: str, round_key: str) -> str:
    """Return the path of a page that lists the run of a round, which may not exist yet."""
    search = quote(f"tags.`monitor.round_key` = '{round_key}'", safe="")
    return f"#/experiments/{experiment_id}/runs?{CLASSIC}&searchFilter={search}"


def run_path(experiment_id: str, run_id: str) -> str:
    """Return the path of a run's page."""
    return f"#/experiments/{experiment_id}/runs/{run_id}?{CLASSIC}"


def model_path(model: str) -> str | None:
    """Return the path of the page of a registered model's version, or of the model itself.

    >>> model_path("models:/mail-travel/7")
    '#/models/mail-travel/versions/7'
    >>> model_path("models:/mail-travel@champion")
    '#/models/mail-travel'
    """
    parts = MODEL_URI.fullmatch(model)
    if parts is None:
        return None
    version = f"/versions/{parts['version']}" if parts["version"] else ""
    return f"#/models/{quote(parts['name'], safe='')}{version}"


def view_path(experiment_id: str, view: str, *, charts: bool) -> str:
    """Return the path of a saved view's page, by the view's key."""
    mode = "CHART" if charts else "TABLE"
    shown = f"viewStateShareKey={view}&compareRunsMode={mode}"
    return f"#/experiments/{experiment_id}/runs?{CLASSIC}&{shown}"


_RECEIPT = re.compile(r"experiments/(\d+)/runs/\w+")


def runs_link(pages: str, receipt: str | None) -> str:
    """Return the address of the page that lists all runs of a round's experiment.

    >>> runs_link("http://127.0.0.1:5000", "experiments/3/runs/ab12")
    'http://127.0.0.1:5000/#/experiments/3/runs?workflowType=machine_learning'
    >>> runs_link("http://127.0.0.1:5000", None)
    'http://127.0.0.1:5000/#/experiments'
    """
    match = _RECEIPT.fullmatch(receipt or "")
    runs = f"/{match[1]}/runs?{CLASSIC}" if match else ""
    return f"{pages.rstrip('/')}/#/experiments{runs}"


def round_link(
    tracking_uri: str, experiment: str, round_key: str, receipt: str | None
) -> str | None:
    """Return the address of a page with the run of a round; None if MLflow has no pages.

    The page searches for the run, which may not be there yet. That needs the number of the
    experiment, which an earlier receipt has; else the page lists the experiment.

    >>> round_link("http://host:5000/", "monitor/mail", "5f/mail/1", None)
    'http://host:5000/#/experiments?experimentSearchFilter=monitor%2Fmail'
    >>> round_link("http://host:5000/", "monitor/mail", "5f/mail/1", "experiments/3/runs/ab12")
    'http://host:5000/#/experiments/3/runs?workflowType=machine_learning&searchFilter=tags.%60monitor.round_key%60%20%3D%20%275f%2Fmail%2F1%27'
    """
    if urlsplit(tracking_uri).scheme not in {"http", "https"}:
        return None
    base = f"{shown(tracking_uri).rstrip('/')}/"
    match = _RECEIPT.fullmatch(receipt or "")
    if match is None:
        return f"{base}#/experiments?experimentSearchFilter={quote(experiment, safe='')}"
    return base + round_path(match[1], round_key)
