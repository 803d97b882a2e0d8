"""`pr-monitor compare`: another threshold, another classifier, the same labels."""

import pytest

from monitor.results.other_predictions import OtherColumns, read_others
from tests.cli.workplace import COLUMN, working_in
from tests.engine import engine


@pytest.fixture(scope="module")
def labeled(tmp_path_factory):
    """A folder with one closed round of 4 days, whose labels stand in a column."""
    with working_in(tmp_path_factory.mktemp("compare")) as place:
        place.predictions(rows=4000)
        place.config(COLUMN, sample=("max_labels: 40", "max_labels: 300"))
        place.run("run-once")
        yield place


def others(labeled, name="other.parquet", where="true", **columns):
    """Write predictions of another classifier, by default those of a perfect one."""
    usual = {"mail_id": "mail_id", "score": "is_travel::double"}
    listed = ", ".join(f"{sql} as {of}" for of, sql in {**usual, **columns}.items())
    with engine() as connection:
        connection.execute(
            f"copy (select {listed} from '{labeled.folder}/predictions.parquet' where {where}) "
            f"to '{labeled.folder}/{name}'"
        )


def test_another_threshold_is_compared_metric_by_metric_as_lines_and_as_json(labeled):
    said = labeled.run("compare", 1, "--threshold", 0.7)

    assert said.code == 0, said.err
    assert said.lines[0] == "mail, round 1: as it is, and threshold 0.7"
    assert said.lines[1].startswith("by 300 labels, ")
    assert [line.split()[0] for line in said.lines[5:9]] == ["precision", "recall", "f1", "flagged"]
    assert "recall is lower with threshold 0.7" in said.lines
    said = labeled.as_json("compare", 1, "-t", 0.7)

    precision, recall, _ = said["metrics"]
    assert (precision["metric"], recall["metric"]) == ("precision", "recall")
    assert recall["difference"]["high"] < 0
    assert said["only_second"]["high"] == 0
    assert said["first_flagged"]["low"] == said["first_flagged"]["high"] == 100
    assert 0 < said["second_flagged"]["point"] < 100
    assert (said["labeled"], said["estimand"], said["flagged_counted"]) == (300, "window", False)


def test_another_classifier_is_read_from_a_file_and_counted_if_that_has_the_window(labeled):
    others(labeled)
    start, end = labeled.as_json("show", 1)["window"]
    others(labeled, "window.csv", where=f"scored_at >= '{start}' and scored_at < '{end}'")

    found, exact = (labeled.as_json("compare", 1, "-p", f) for f in ("other.parquet", "window.csv"))

    assert found["other"] == "other.parquet"
    assert found["metrics"][0]["second"]["point"] > 0.97
    assert found["metrics"][0]["difference"]["low"] > 0
    assert (found["flagged_counted"], exact["flagged_counted"]) == (False, True)
    flagged = exact["second_flagged"]
    assert flagged["low"] == pytest.approx(flagged["high"])


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], 65, "nothing to compare with; give a threshold, or predictions: a file"),
        (["-p", "away.parquet"], 65, "no file matches away.parquet"),
        (["-p", "other.txt"], 65, "other predictions: path: 'other.txt' has no suffix"),
        (["-p", "x.duckdb"], 65, "other predictions: x.duckdb is a DuckDB file; give Parquet"),
        (["-p", "other.parquet", "--score", "scor"], 65, "other.parquet has no column 'scor'"),
        (["-p", "other.parquet", "--id", "x"], 65, "other.parquet has no column 'x' (--id)"),
    ],
)
def test_what_cannot_be_compared_is_said(labeled, words, code, sentence):
    others(labeled)

    said = labeled.run("compare", 1, *words)

    assert said.code == code
    assert sentence in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"where": "mail_id not like '%7'"}, "of the 300 labeled items are not in it, such as 'm"),
        ({"score": "nullif(score, score)"}, "have no decision in it that can be read, such as 'm"),
    ],
)
def test_an_item_without_a_decision_is_not_passed_over(labeled, columns, sentence):
    others(labeled, "holes.parquet", **columns)

    said = labeled.run("compare", 1, "-p", "holes.parquet")

    assert said.code == 65
    assert sentence in said.err
    assert "every one is needed, or the comparison would be biased" in said.err


@pytest.mark.parametrize("lowest", [0, 2])
def test_scores_in_percent_are_not_compared_with_a_threshold_that_is_a_share(labeled, lowest):
    others(labeled, "percent.csv", score=f"{lowest} + 90 * is_travel")

    refused = labeled.run("compare", 1, "-p", "percent.csv", "-t", 0.5)

    assert refused.code == 65
    assert f"300 scores are above 1, up to {90 + lowest}; if some are in percent" in refused.err
    assert "write them as shares, as the threshold is (0.5), or give --threshold" in refused.err
    assert labeled.run("compare", 1, "-p", "percent.csv", "-t", 50).code == 0


def test_a_score_of_32_bits_at_the_threshold_is_flagged_in_the_file(tmp_path):
    with engine() as connection:
        connection.execute(
            "copy (select * from (values ('a', 0.7::float), ('b', 0.6::float)) as t(id, score)) "
            f"to '{tmp_path}/p.parquet' (format parquet)"
        )

    found = read_others(tmp_path / "p.parquet", ["a", "b"], OtherColumns("id"), 0.7)

    assert (found.flags, found.flagged) == ({"a": True, "b": False}, 1)
