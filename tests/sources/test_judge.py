"""A judge's verdicts in the same predictions: read in the scan, refused or told."""

from typing import Any

import pytest
from pydantic import ValidationError

from monitor.domain.judge import Judge
from monitor.domain.model import BandEdges
from monitor.sources.duckdb import DuckdbSource
from monitor.testing import JudgeContract, MemorySource
from tests.sources.prediction_files import (
    WEEK,
    InFolder,
    as_texts,
    copy_to,
    settings_with,
    write_csv,
)

HEADER = ("mail_id", "scored_at", "score", "text", "verdict")
WORDS = {True: "yes", False: "no", None: ""}
BY_CLASS = BandEdges(judged=True).strata()


def judged_settings(judge, **changes):
    settings = settings_with(**changes)
    settings.judge_by(Judge(**judge))
    return settings


def with_verdicts(rows, words=WORDS):
    return [(*text, words[row["verdict"]]) for text, row in zip(as_texts(rows), rows, strict=True)]


class TestMemorySource(JudgeContract):
    def judged_source(self, rows):
        return MemorySource(rows, threshold=0.5, judge="verdict")


class TestParquetByScore(InFolder, JudgeContract):
    def judged_source(self, rows):
        write_csv(self.folder / "p.csv", with_verdicts(rows), HEADER)
        copy_to(
            self.folder / "p.parquet",
            "select mail_id, cast(scored_at as timestamptz) scored_at, "
            "cast(score as double) score, text, case verdict when 'yes' then 4.0 when 'no' "
            "then 2.0 when '' then 'nan'::double end as verdict "
            "from read_csv(?, header = true, all_varchar = true)",
            str(self.folder / "p.csv"),
        )
        return DuckdbSource(judged_settings({"column": "verdict", "threshold": 3}), self.folder)


@pytest.mark.parametrize(
    ("judge", "sizes"),
    [
        ({"positive": "yes"}, (2, 1, 1)),
        ({"positive": "yes", "negative": "no"}, (1, 1, 2)),
        ({"positive": ["yes", "error: timeout"]}, (1, 2, 1)),
    ],
)
def test_what_is_neither_yes_nor_missing_is_a_no_unless_the_config_names_those(
    tmp_path, judge, sizes
):
    words = (" yes\r\n", "no", "error: timeout", "NULL")
    rows = [(f"i{i}", "2026-03-03T00:00:00Z", 0.9, "t", word) for i, word in enumerate(words)]
    write_csv(tmp_path / "p.csv", rows, HEADER)
    settings = judged_settings({"column": "verdict", **judge}, path="p.csv")

    frame = DuckdbSource(settings, tmp_path).scan(WEEK, BY_CLASS, 9, "s")

    assert tuple(part.size for part in frame.strata[:3]) == sizes


def test_a_column_that_is_not_there_costs_no_round(tmp_path):
    rows = [(f"i{i}", "2026-03-03T00:00:00Z", i / 10, "t", "yes") for i in range(10)]
    write_csv(tmp_path / "p.csv", rows, HEADER)
    settings = judged_settings({"column": "verdikt", "positive": "yes"}, path="p.csv")

    frame = DuckdbSource(settings, tmp_path).scan(WEEK, BY_CLASS, 9, "s")

    assert {part.stratum.name: part.size for part in frame.strata if part.size} == {
        "flagged-missing": 5,
        "passed-missing": 5,
    }
    assert "no column 'verdikt'" in (frame.judge_fault or "")


@pytest.mark.parametrize(
    "judge", [{"column": "v", "positive": 1, "threshold": 2}, {"column": "", "positive": 1}]
)
def test_a_judge_has_one_rule(judge):
    with pytest.raises(ValidationError):
        Judge(**judge)


def test_rules_that_differ_read_differently():
    rules: list[dict[str, Any]] = [
        {"positive": "yes"},
        {"positive": "yes", "negative": "no"},
        {"positive": ["yes", "no"]},
        {"positive": "yes or no"},
        {"positive": "yes", "version": "no"},
        {"positive": 1},
        {"positive": "1"},
        {"positive": True},
        {"threshold": 0.8123002},
        {"threshold": 0.8123004},
        {"threshold": 3},
    ]

    titles = [Judge.model_validate({"column": "v", **rule}).title for rule in rules]

    assert len(set(titles)) == len(titles)
    assert [titles[0], titles[4], titles[-1]] == ["v = yes", "v = yes (no)", "v >= 3"]
