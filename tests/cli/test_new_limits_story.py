"""Somebody backfills, accepts the proposed limits, and the labels of the open rounds mature."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

DAY = timedelta(days=1)
MATURES = "{kind: column, path: truth.parquet, id: mail_id, value: is_travel, matures: 2d}"
SAMPLE = ("sample: {max_labels: 40, ", "sample: {max_labels: 300, ")
FALLS = "i % 10 = 0 and i % 50 > 0 or i % 20 = 1 or (i >= 4000 and i % 4 = 1)"
KNOWN_THEN = 4000
"""Predictions whose label is there when the limits are accepted: all but the last two days."""


def truth(place, known):
    place.predictions(
        "truth.parquet",
        days=14,
        rows=5600,
        is_travel=f"case when i < {known} then ({FALLS})::int end",
    )


@pytest.fixture
def backfilled(bare):
    """Rounds without limits, of which the newest two are open and worse than those before."""
    bare.predictions(days=14, rows=5600)
    truth(bare, KNOWN_THEN)
    bare.config(MATURES, sample=SAMPLE)
    start = bare.slot - 14 * DAY
    bare.said = bare.run_at(bare.now - 2 * DAY, "backfill", "--from", f"{start:%Y-%m-%dT%H:%M}")
    return bare


def status(place, time):
    [found] = json.loads(place.run_at(time, "status", "--json").out)["monitors"]
    return found


@pytest.mark.slow
def test_the_open_rounds_alert_by_limits_that_were_accepted_before_their_labels_came(backfilled):
    then = backfilled.now - 2 * DAY
    before = status(backfilled, then)
    proposed = before["proposed_limits"]
    backfilled.config(
        MATURES,
        sample=SAMPLE,
        limits=("    labeling", f"    limits: {json.dumps(proposed)}\n    labeling"),
    )
    accepted = backfilled.run_at(then, "status")
    truth(backfilled, 5600)
    backfilled.run_at(backfilled.now, "run-once")
    after = status(backfilled, backfilled.now)

    open_then = {each["round"] for each in before["open_rounds"]}
    [alert] = after["alerts"]
    assert "limits are proposed after" not in accepted.out
    assert "closed before the limits were set" in accepted.out
    assert set(proposed) == {"precision", "recall"}
    assert open_then
    assert alert["metric"] == "recall"
    assert alert["fired_in_round"] in open_then
    assert after["status"] == "alert"
