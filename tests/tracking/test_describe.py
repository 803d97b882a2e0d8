"""The words and the picture of a run, without any MLflow."""

import math
import re
from datetime import UTC, datetime

import pytest

from monitor.domain.report import AnswersRow, ProvisionalMetric, ProvisionalRow
from monitor.report.figures import timeline_svg
from monitor.tracking.describe import as_far_as_fits, describe
from monitor.tracking.values import metrics, tables
from tests.drawing import looking
from tests.tracking.reports import estimates, make_report, segments, strata

TAG_LIMIT = 8000  # characters that MLflow keeps
NUMBERS = (0.8, 0.71, 0.88, 0.75, 0.6, 0.9, 0.1, 1200, 40, None)


def cells(table):
    plain = table.replace("&emsp;", "").replace("\\", "")
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in plain.splitlines()]


def test_an_alert_on_recall_says_that_prevalence_is_not_its_cause():
    [alert] = make_report(11).alerts
    recall = alert.model_copy(update={"metric": "recall"})

    text = describe(make_report(11, alerts=[recall]))

    assert "**Against earlier rounds:** Prevalence does not change recall" in text


def test_a_description_that_is_too_long_loses_its_last_tables_and_says_so():
    text = describe(make_report(11))
    room = len(text) - 1

    short = as_far_as_fits(text, room)

    assert as_far_as_fits(text, len(text)) == text
    assert len(short) <= room
    kept, _, more = short.rpartition("\n\n")
    assert text.startswith(f"{kept}\n\n")
    assert more == "The description of the round has more."


def test_a_metric_without_an_estimate_says_why():
    rows = [
        row.model_copy(update={"point": None, "low": None, "high": None, "reason": "no positives"})
        for row in estimates(1, 0.0)
    ]

    text = describe(make_report(1, estimates=rows))

    assert ["recall", "not estimable", "not estimable", "≥ 0.5"] in cells(text)
    assert "Precision, recall, f1, prevalence: not estimable: no positives." in text


def test_many_segments_still_fit_into_a_tag():
    columns = [f"column {place}" for place in range(10)]
    values = [f"{'a long value <of 100 characters>':.<97}{place:03}" for place in range(21)]
    rows = segments(columns, values)

    text = describe(make_report(1, strata=strata() * 17, segments=rows))
    few = describe(make_report(1, segments=segments(values=values)))

    assert len(text) < TAG_LIMIT
    assert text.endswith("The description of the round has more.")
    assert "26 more rows are in report.json" in few


def test_segments_make_a_table_for_mlflow_with_all_there_is():
    table = tables(make_report(1, segments=segments()))["segments.json"]

    assert table.columns[:3] == ["segment", "value", "metric"]
    assert table.data[0] == ["country", "CZ", "precision", 8000, 400, 90, *NUMBERS]
    assert table.data[3][-1] == "no label says the recall"


def test_corrected_estimates_have_a_column_of_their_own():
    [row] = [row for row in estimates(1, 0.0) if (row.metric, row.basis) == ("precision", "round")]
    numbers = {"basis": "corrected", "point": 0.9, "low": 0.8, "high": 0.95}
    corrected = row.model_copy(update=numbers)
    nothing = row.model_copy(
        update={"metric": "recall", "basis": "corrected", "point": None, "reason": "why"}
    )
    report = make_report(1, estimates=[*estimates(1, 0.0), corrected, nothing])

    text, values = describe(report), metrics(report)

    assert values == metrics(make_report(1))
    head, _, first, second = cells(text[text.index("| metric") :])[:4]
    assert head[3] == "this round, corrected for label errors"
    assert (first[3], second[3]) == ("0.900 [0.800, 0.950]", "not estimable")
    assert "Recall: not estimable: why." in text


def test_what_a_round_showed_before_its_labels_were_there_is_said_with_its_share_and_time():
    recall = ProvisionalMetric(metric="recall", point=0.55, low=0.4, high=0.7)
    early = ProvisionalRow(at=datetime(2025, 3, 3, tzinfo=UTC), matured=0.6, metrics=[recall])

    text = describe(make_report(provisional=early))

    assert "was provisional, 60 % matured on 2025-03-03 00:00 UTC: recall 0.550" in text
    assert "was provisional" not in describe(make_report())


def test_text_from_the_config_cannot_break_out_of_its_table_cell():
    rows = [strata()[0].model_copy(update={"stratum": "a|b<img src=x>"})]

    text = describe(make_report(1, strata=rows, concerns=["<script>*bold*</script>"]))

    assert r"a\|b\<img src=x\>" in text
    assert r"**What needs a look:** \<script\>\*bold\*\</script\>." in text


def test_partial_rounds_corrections_and_proposals_are_said():
    answers = AnswersRow(wanted=480, labeled=400, declined=6)

    text = describe(
        make_report(1, version=3, answers=answers, proposed_limits={"precision": 0.8123})
    )

    assert "partial: too many answers are missing" in text
    assert "version 3: corrected by later labels" in text
    assert "in force once they are in the config: {precision: 0.8123}" in text


def test_what_is_not_finite_is_no_metric():
    rows = [row.model_copy(update={"low": math.nan, "high": math.inf}) for row in estimates(1, 0.0)]

    values = metrics(make_report(1, estimates=rows, strata=[]))

    assert "precision/low" not in values
    assert "round/flagged_rate" not in values
    assert all(math.isfinite(value) for value in values.values())


def test_both_sides_of_a_limit_have_a_name_of_their_own():
    report = make_report(1)
    upper = report.evidence[0].model_copy(update={"side": "at_most", "log_evidence": 9.0})

    values = metrics(make_report(1, evidence=[*report.evidence, upper]))

    assert values["round/evidence_precision"] == 0.0
    assert values["round/evidence_precision_at_most"] == pytest.approx(9.0 / 3.95, abs=1e-6)
    assert values["precision/limit"] == values["precision/limit_at_most"] == 0.8


def test_the_figure_says_in_words_what_it_shows_and_marks_each_round_and_its_alerts():
    report = make_report(12)

    picture = looking.at(timeline_svg(report))

    legend = ["with earlier rounds", "round alone", "limit", "an alert fires"]
    assert [words for words in picture.texts if words in legend] == legend
    assert "prevalence 5.1 %" in " | ".join(picture.texts)
    assert picture.title == "mail-travel: precision and recall up to round 12"
    assert picture.description.startswith(report.sentence)
    alone = [
        [mark for mark in looking.circles_of(panel) if mark.fill == "white"]
        for panel in picture.panels()
    ]
    assert [len(marks) for marks in alone] == [12, 11]  # round 5 has no recall
    across = [mark.x for mark in alone[0]]
    assert across == sorted(across)
    assert alone[0][-1].y > alone[0][7].y  # precision has fallen
    assert len(picture.triangles()) == 3 + 1  # rounds 10 to 12, and the legend


def test_no_round_one_round_and_many_rounds_can_be_drawn():
    for report, drawn in (
        (make_report(1, timeline=[]), 0),
        (make_report(1), 1),
        (make_report(70), 60),
    ):
        picture = looking.at(timeline_svg(report))

        (upper, _) = picture.panels()
        assert len([mark for mark in looking.circles_of(upper) if mark.fill == "white"]) == drawn


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("[refund](https://evil.example)", r"\[refund\](https\://evil.example)"),
        ("![x](//evil.example/x.png)", r"!\[x\](//evil.example/x.png)"),
        (r"\[x](//evil.example)", r"\\\[x\](//evil.example)"),
        ("<https://evil.example>", r"\<https\://evil.example\>"),
        ("WWW.evil.example", r"WWW\.evil.example"),
        ("@root", r"\@root"),
        ("_new_ ~~old~~ a_b", r"\_new\_ \~\~old\~\~ a_b"),
    ],
)
def test_a_value_of_a_segment_is_text_and_no_link(value, written):
    text = describe(make_report(1, segments=segments(values=[value])))

    assert f"| {written}&emsp; |" in text


def test_no_round_of_the_timeline_is_cut_off_in_a_description_on_a_page_of_1280_pixels():
    width = re.match(rb'<svg [^>]*? width="(\d+)"', timeline_svg(make_report(11)))

    assert width is not None
    assert int(width[1]) <= 680


@pytest.mark.parametrize("number", [2, 40])
def test_no_words_of_the_timeline_lie_over_others_or_over_what_is_drawn(number):
    assert looking.at(timeline_svg(make_report(number, version=2))).covered() == []
