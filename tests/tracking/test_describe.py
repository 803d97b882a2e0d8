"""The words and the picture of a run, without any MLflow."""

from __future__ import annotations

import math
import subprocess
import sys

from monitor.tracking.describe import describe
from monitor.tracking.figures import timeline_figure, timeline_png
from monitor.tracking.values import metrics, tags, timestamp
from tests.tracking.reports import estimates, make_report, strata

TAG_LIMIT = 8000  # characters that MLflow keeps


def cells(table):
    return [
        [cell.strip() for cell in line.strip("|").replace("&emsp;", "").split(" | ")]
        for line in table.splitlines()
    ]


def test_the_sentence_comes_first_then_the_alert_then_the_tables():
    parts = describe(make_report(11)).split("\n\n")

    assert parts[0].endswith("below the limit of 80 %.")
    assert parts[1] == "**Alert firing:** limit precision ≥ 0.8, fired in round 10."
    assert cells(parts[2])[0] == ["metric", "this round alone", "with earlier rounds", "limit"]
    assert cells(parts[2])[2][0] == "precision"


def test_a_metric_without_an_estimate_says_why():
    rows = [
        row.model_copy(update={"point": None, "low": None, "high": None, "reason": "no positives"})
        for row in estimates(1, 0.0)
    ]

    text = describe(make_report(1, estimates=rows))

    why = "not estimable: no positives"
    assert ["recall", why, why, "≥ 0.5"] in cells(text)


def test_many_strata_still_fit_into_a_tag():
    report = make_report(1, strata=strata() * 17)

    text = describe(report)

    assert "78 more strata are in counts.json" in text
    assert len(text) < TAG_LIMIT


def test_text_from_the_config_cannot_break_out_of_its_table_cell():
    rows = [strata()[0].model_copy(update={"stratum": "a|b<img src=x>"})]

    text = describe(make_report(1, strata=rows, sentence="<script>*bold*</script>"))

    assert r"a\|b\<img src=x\>" in text
    assert text.startswith(r"\<script\>\*bold\*\</script\>")


def test_partial_rounds_corrections_and_proposals_are_said():
    text = describe(make_report(1, version=3, partial=True, proposed_limits={"precision": 0.8123}))

    assert "partial: the deadline came before all answers" in text
    assert "version 3: corrected by later labels" in text
    assert "precision ≥ 0.812" in text


def test_what_is_not_finite_is_no_metric():
    rows = [row.model_copy(update={"low": math.nan, "high": math.inf}) for row in estimates(1, 0.0)]

    values = metrics(make_report(1, estimates=rows, size=0, flagged=0))

    assert "precision/round_low" not in values
    assert "population/flagged_rate" not in values
    assert all(math.isfinite(value) for value in values.values())


def test_both_sides_of_a_limit_have_a_name_of_their_own():
    report = make_report(1)
    upper = report.evidence[0].model_copy(update={"side": "at_most", "log_evidence": 9.0})

    values = metrics(make_report(1, evidence=[*report.evidence, upper]))

    assert values["alert/precision_evidence"] == 0.0
    assert values["alert/precision_at_most_evidence"] == 9.0


def test_every_version_is_one_millisecond_later():
    assert timestamp(make_report(1, version=2)) - timestamp(make_report(1)) == 1


def test_without_an_estimate_the_tags_say_so():
    assert tags(make_report(1, state="abandoned"))["monitor.precision"] == "not estimable"


def test_the_same_report_draws_the_same_bytes():
    assert timeline_png(make_report(12)) == timeline_png(make_report(12))


def test_the_figure_names_everything_it_shows_once():
    figure = timeline_figure(make_report(12))

    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "with earlier rounds",
        "round alone",
        "limit",
        "an alert fires",
    ]
    assert "prevalence 5.10%" in figure.texts[1].get_text()


def test_no_round_one_round_and_many_rounds_can_be_drawn():
    for report in (make_report(1, timeline=[]), make_report(1), make_report(70)):
        assert timeline_png(report).startswith(b"\x89PNG")


def test_drawing_leaves_pyplot_alone():
    script = (
        "import sys; from tests.tracking.reports import make_report;"
        "from monitor.tracking.figures import timeline_png; timeline_png(make_report(3));"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
