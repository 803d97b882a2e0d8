"""A challenger's decisions in the same predictions: read in the scan, refused or told."""

from typing import Literal

import pytest
from pydantic import ValidationError

from monitor.domain.adapters import SourceSettings
from monitor.domain.errors import SettingRefused
from monitor.testing import ChallengerContract, MemorySource
from tests.sources.prediction_files import (
    COLUMNS,
    TWO,
    WEEK,
    parquet_source,
    settings_with,
)

ROWS = (
    "select 'i' || i mail_id, timestamptz '2026-03-03 00:00:00Z' scored_at, i / 100 score, 't' text"
)


class TestMemorySource(ChallengerContract):
    def challenged_source(self, rows):
        return MemorySource(rows, threshold=0.5, challenger="other")


@pytest.mark.parametrize("value", ["null", "'nan'::double", "'infinity'::double"])
def test_a_score_that_is_no_number_is_no_decision(tmp_path, value):
    source = parquet_source(
        tmp_path,
        f"{ROWS}, case when i < 10 then {value} else i / 50 end other from range(100) t(i)",
        challenger={"score": "other", "threshold": 1},
    )

    frame = source.scan(WEEK, TWO, 100, "s")

    assert (frame.size, frame.challenged.flagged, frame.challenged.undecided) == (100, 50, 10)
    assert (frame.challenged.low, frame.challenged.high) == (0.2, 1.98)


@pytest.mark.parametrize(
    ("challenger", "said"),
    [
        ({"score": "v8", "threshold": 0.7}, "has no column 'v8' (challenger.score)"),
        ({"predicted": "v8"}, "has no column 'v8' (challenger.predicted)"),
        ({"score": "text", "threshold": 0.7}, "column 'text' (challenger.score) is VARCHAR"),
    ],
)
def test_a_column_that_cannot_serve_costs_the_comparison_and_not_the_window(
    tmp_path, challenger, said
):
    columns = {**COLUMNS, "show": []}
    source = parquet_source(
        tmp_path, f"{ROWS} from range(100) t(i)", challenger=challenger, columns=columns
    )

    frame = source.scan(WEEK, TWO, 100, "s")

    assert frame.size == 100
    assert frame.challenged is None
    assert said in frame.challenger_fault


@pytest.mark.parametrize(
    ("challenger", "said"),
    [
        ({}, "expected either score with threshold, or predicted"),
        ({"score": "v8", "threshold": 1, "predicted": "p"}, "expected either score"),
        ({"score": "v8"}, "score and threshold go together"),
        ({"threshold": 0.5}, "score and threshold go together"),
        ({"score": "score", "threshold": 0.5}, "it flags by the classifier's own rule"),
        ({"score": "text", "threshold": 0.5}, "'text' is also in columns.show"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(challenger, said):
    with pytest.raises((ValidationError, SettingRefused), match=said):
        settings_with(challenger=challenger)


def test_a_source_without_challengers_refuses_one_by_name():
    class Other(SourceSettings):
        kind: Literal["other"] = "other"

    with pytest.raises(ValidationError, match=r"challenger\n  Extra inputs are not permitted"):
        Other.model_validate({"challenger": {"predicted": "v8"}})
    assert Other().challenged_by is None
