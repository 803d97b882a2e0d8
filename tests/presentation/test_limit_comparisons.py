"""Four words compare a metric with its limit, by its intervals."""

import pytest

from monitor.domain.report import EstimateRow, EvidenceRow, Status
from monitor.presentation.limit_comparisons import (
    LimitState,
    colour_status,
    compare_limit,
    compare_limits,
    headline_text,
)
from monitor.presentation.outcome import to_do_sentences, verdict_sentence
from monitor.report.html import report_html
from monitor.tracking.describe import verdict
from monitor.tracking.values import colour
from tests.tracking.reports import make_report


def limit(side="at_least", value=0.45, metric="recall"):
    return EvidenceRow(metric=metric, side=side, limit=value, log_evidence=1.0, log_threshold=4.6)


def estimate(low, high, basis="pooled", metric="recall"):
    return EstimateRow(
        metric=metric,
        estimand="rate" if basis == "pooled" else "window",
        basis=basis,
        point=(low + high) / 2,
        low=low,
        high=high,
        level=0.95,
        method="",
    )


@pytest.mark.parametrize(
    ("side", "low", "high", "word"),
    [
        ("at_least", 0.24, 0.444, "under it (not yet an alert)"),
        ("at_least", 0.24, 0.45, "unclear"),
        ("at_least", 0.45, 0.6, "keeps it"),
        ("at_most", 0.46, 0.6, "over it (not yet an alert)"),
        ("at_most", 0.45, 0.6, "unclear"),
        ("at_most", 0.3, 0.45, "keeps it"),
    ],
)
def test_the_word_goes_by_the_side_of_the_limit_on_which_the_whole_interval_lies(
    side, low, high, word
):
    assert compare_limit(limit(side), [estimate(low, high)], alerting=False).word == word


def test_a_round_wholly_counted_under_its_limit_decides_though_earlier_rounds_leave_it_unclear():
    rows = [estimate(0.4, 0.5), estimate(0.3, 0.3, "round")]

    compared = compare_limit(limit(), rows, alerting=False)

    assert compared.text == "under it (not yet an alert), 0.300 [0.300, 0.300] this round alone"


def test_an_open_alert_is_named_even_where_the_interval_is_back_within_the_limit():
    rows = [estimate(0.5, 0.6)]

    [compared] = compare_limits([limit()], rows, {("recall", "at_least")})

    assert compared.state is LimitState.ALERT


def test_a_metric_that_is_not_estimable_is_unclear():
    assert compare_limit(limit(), [], alerting=False).text == "unclear, not estimable"


def test_the_headline_is_the_worst_of_the_limits():
    kept = compare_limit(limit(metric="f1"), [estimate(0.5, 0.6, metric="f1")], alerting=False)
    unclear = compare_limit(limit(), [estimate(0.4, 0.5)], alerting=False)
    under = compare_limit(limit(), [estimate(0.2, 0.3)], alerting=False)

    assert headline_text(Status.OK, [kept]) == "OK"
    assert headline_text(Status.OK, [kept, unclear]) == (
        "no alert, unclear whether recall keeps its limit"
    )
    rate = compare_limit(limit(metric="judge_tpr"), [], alerting=False)
    assert headline_text(Status.OK, [unclear, rate, unclear]) == (
        "no alert, unclear whether recall and judge tpr keep their limits"
    )
    assert headline_text(Status.OK, [kept, unclear, under]) == (
        "recall is under its limit 0.45 (not yet an alert)"
    )
    assert headline_text(Status.STALE, [under]).startswith("STALE; recall is under")
    assert headline_text(Status.ALERT, [under]) == "ALERT"
    assert headline_text(Status.OK, [unclear], ["provisional"]) == "provisional"
    assert headline_text(Status.LEARNING, [], ["provisional"]) == "LEARNING; provisional"
    assert headline_text(Status.ALERT, [], ["provisional"]) == "ALERT"


def test_the_colour_warns_where_a_metric_is_beyond_its_limit():
    kept = compare_limit(limit(), [estimate(0.5, 0.6)], alerting=False)
    under = compare_limit(limit(), [estimate(0.2, 0.3)], alerting=False)

    assert colour_status(Status.OK, [kept]) is Status.OK
    assert colour_status(Status.OK, [kept], ["provisional"]) is Status.ATTENTION
    assert colour_status(Status.OK, [kept, under]) is Status.ATTENTION
    assert colour_status(Status.ALERT, [under]) is Status.ALERT


def test_a_report_says_in_every_part_that_a_metric_is_under_its_limit():
    under = make_report(1)
    rows = [
        row.model_copy(update={"point": 0.2, "low": 0.1, "high": 0.3})
        if row.metric == "recall"
        else row
        for row in under.estimates
    ]
    under = under.model_copy(update={"estimates": rows})

    assert verdict(under) == "**Beyond limit, not yet an alert.** Recall 0.20 (limit 0.5)"
    assert verdict_sentence(under).startswith("Recall is under its limit 0.5 (not yet an alert)")
    assert to_do_sentences(under)[0].startswith("Look at the wrong predictions")
    assert colour(under) != colour(make_report(1))
    page = report_html(under).decode()
    assert '<span class="status attention">recall is under its limit 0.5 (not' in page
    assert "recall at least 0.5: under it (not yet an alert), 0.200 [0.100" in page


def test_a_report_does_not_say_ok_where_the_interval_has_the_limit_inside():
    unclear = make_report(1)
    rows = [
        row.model_copy(update={"low": 0.1, "high": 0.9}) if row.metric == "recall" else row
        for row in unclear.estimates
    ]
    unclear = unclear.model_copy(update={"estimates": rows})

    assert verdict(unclear).startswith("**No alert, limits unclear.** Precision 0.")
    assert verdict_sentence(unclear).startswith("No alert, but unclear whether it keeps all limits")
