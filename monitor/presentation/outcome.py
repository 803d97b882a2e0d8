"""How a round came out, for a reader with ten seconds: a verdict and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.domain.alerting import keeps
from monitor.domain.report import AlertRow, EstimateRow, RoundReport, Status
from monitor.domain.sampled_log import AMOUNT_NOTE
from monitor.domain.settings import CREDIBLE_LEVEL
from monitor.presentation.alerts import end_alert_text, remedies
from monitor.presentation.estimates import estimate_text
from monitor.presentation.limit_comparisons import LimitState, beyond_texts, comparisons_of
from monitor.presentation.numbers import (
    NOT_ESTIMABLE,
    bound_sign,
    capital,
    evidence_text,
    limits_text,
    minute_text,
    percent_text,
    plural,
)
from monitor.presentation.rounds import show_command
from monitor.presentation.status import proposal_cautions

_HEADLINE = ("precision", "recall", "f1", "prevalence")


def headline_metrics(report: RoundReport) -> list[str]:
    """Name the metrics that everybody looks at, and those with a limit."""
    limited = [row.metric for row in report.evidence]
    estimated = {row.metric for row in report.estimates}
    return [metric for metric in dict.fromkeys([*_HEADLINE, *limited]) if metric in estimated]


def best_row(report: RoundReport, metric: str) -> EstimateRow | None:
    """Find the estimate of a metric with earlier rounds; None if it has no value.

    Also for a first round: all rounds of a history then show one estimand, so they compare.
    """
    row = report.shown(metric, "pooled")
    return None if row is None or row.point is None else row


def verdict_sentence(report: RoundReport) -> str:
    """Describe in one sentence how the classifier does."""
    if report.firing:
        broken = [_broken(report, alert) for alert in report.firing]
        return f"{capital('; '.join([*broken, *_falls(report)]))}."
    if not report.estimates:
        return f"There is no estimate of this round: {report.reason or 'no reason was kept'}."
    if undefined := [name for name in ("precision", "recall") if best_row(report, name) is None]:
        verdict = f"{capital(' and '.join(undefined))} could not be estimated with earlier rounds"
    else:
        verdict = _current(report)
    return f"{'; '.join([verdict, *_figures(report), *_falls(report)])}."


def meaning_sentences(report: RoundReport) -> list[str]:
    """Describe what precision and recall come to in items, of this round alone."""
    sentences = []
    precision = _own(report, "precision")
    if precision is not None and report.flagged:
        sentences.append(
            f"In this round alone, about {_items(precision, report.flagged)} of the "
            f"{report.flagged:,} {unit_text(report, 'flagged')} are right."
        )
    prevalence = _own(report, "prevalence")
    if prevalence is not None and report.size:
        sentences.append(
            f"In this round alone, about {_items(prevalence, report.size)} of all "
            f"{report.size:,} {unit_text(report)} are actually positive; recall is the share of "
            "these that is flagged."
        )
    return sentences


def to_do_sentences(report: RoundReport) -> list[str]:
    """Describe what to do, the most urgent first."""
    if firing := report.firing:
        sentences = [*remedies(alert.metric for alert in firing), *_ends(firing)]
    elif not report.estimates:
        sentences = [
            f"Until a later round has an estimate, nothing watches {report.monitor}. "
            f"{show_command(report.monitor, report.round)} says what was counted and what came."
        ]
    elif report.status is Status.ATTENTION:
        sentences = [
            "See below what needs a look. pr-monitor check describes the newest predictions; if "
            "the config or the classifier's input is wrong, fix it.",
            *_proposal_cautions(report),
        ]
    elif report.proposed_limits:
        limits = limits_text(report.proposed_limits)
        sentences = [
            *_proposal_cautions(report),
            f"Look at the proposed limits, and put them into the config: limits: {limits}",
        ]
    elif report.evidence:
        sentences = [_watching(report)]
    else:
        sentences = [
            "Nothing yet: limits are proposed once enough rounds have closed and few labels are "
            "still to come."
        ]
    return sentences


def _watching(report: RoundReport) -> str:
    """State that no alert is open, without calling a metric beyond its limit nothing to do."""
    if any(each.state is LimitState.BEYOND for each in comparisons_of(report)):
        return (
            "Look at the wrong predictions of this round: a metric is beyond its limit. An alert "
            "fires by itself once later rounds give enough evidence."
        )
    return "Nothing: monitoring continues with the next round."


def _proposal_cautions(report: RoundReport) -> list[str]:
    cautions = proposal_cautions(report.proposed_limits, report.proposed_unlabeled)
    return [f"{capital(caution)}." for caution in cautions]


def _broken(report: RoundReport, alert: AlertRow) -> str:
    """Describe of an open alert where its metric is now: it may be back within its limit."""
    pooled = best_row(report, alert.metric)
    row = pooled or report.shown(alert.metric, "round")
    alone = "" if pooled else " in this round alone"
    limit = f"its limit {alert.limit:g}"
    if row is None or row.point is None:
        where = f"is {NOT_ESTIMABLE}; it was beyond {limit}"
    elif keeps(alert.side, alert.limit, row.point):
        where = f"is {estimate_text(row)}{alone}, back within {limit}, which is not proven yet"
    else:
        beyond = "below" if alert.side == "at_least" else "above"
        where = f"is {estimate_text(row)}{alone}, {beyond} {limit}"
    began = (
        "the alert fired in this round"
        if alert.fired_in_round == report.round
        else f"the alert has been open since round {alert.fired_in_round}"
    )
    return f"{_texts(alert.metric)} {where}: {began}"


def _ends(firing: Sequence[AlertRow]) -> list[str]:
    if len(firing) == 1:
        return [end_alert_text(firing[0].id)]
    return [end_alert_text(one.id, f"the alert on {_texts(one.metric)}") for one in firing]


def _current(report: RoundReport) -> str:
    if report.status is Status.ATTENTION:
        return "No alert, but the round needs a look"
    if not report.evidence:
        return "Still learning: no limits are set"
    limits = " and ".join(
        f"{_texts(row.metric)} {bound_sign(row.side, row.limit)}" for row in report.evidence
    )
    if report.status is Status.LEARNING:
        return f"Still learning: no evidence on the limits {limits} yet"
    comparisons = comparisons_of(report)
    if beyond := beyond_texts(comparisons):
        return capital("; ".join(beyond))
    if any(each.state is LimitState.UNCLEAR for each in comparisons):
        return f"No alert, but unclear whether it keeps all limits: {limits}"
    return f"{'No alert' if _falls(report) else 'All well: no alert'} on {limits}"


def _falls(report: RoundReport) -> list[str]:
    """Name falls of precision and recall on which no alert is open."""
    changes = {} if report.cause is None else report.cause.changes
    alerting = {alert.metric for alert in report.firing}
    return [
        f"{metric} fell from {row.before[0]:.2f} to {row.after[0]:.2f} in this round alone"
        for metric, row in changes.items()
        if row.is_fall and metric not in alerting
    ]


def _figures(report: RoundReport) -> list[str]:
    rows = [(name, best_row(report, name)) for name in ("precision", "recall")]
    texts = [f"{name} is {estimate_text(row)}" for name, row in rows if row is not None]
    return [" and ".join(texts)] if texts else []


def _own(report: RoundReport, metric: str) -> EstimateRow | None:
    row = report.shown(metric, "round")
    return None if row is None or row.point is None else row


def unit_text(report: RoundReport, kind: str = "") -> str:
    """Name what sizes count: predictions, or units of their amounts (``source.columns.weight``)."""
    counted = f"{kind} predictions".lstrip()
    return f"units of the amount of {counted}" if AMOUNT_NOTE in report.notes else counted


def _items(row: EstimateRow, items: int) -> str:
    point, low, high = (round((share or 0.0) * items) for share in (row.point, row.low, row.high))
    return f"{point:,} ({low:,} to {high:,})"


def _texts(metric: str) -> str:
    return metric.replace("_", " ")


def holds_for_text(report: RoundReport) -> str:
    """Describe a figure with intervals: their level, the prevalence, the number of labels."""
    return f"{percent_text(CREDIBLE_LEVEL)} intervals, each for one metric; {labels_text(report)}"


def labels_text(report: RoundReport) -> str:
    """Describe for which prevalence a figure holds, and on how many labels it rests."""
    row = report.shown("prevalence", "round")
    prevalence = f"prevalence {percent_text(row.point)}; " if row and row.point is not None else ""
    return f"{prevalence}n = {report.labeled:,} labels of {report.size:,} {unit_text(report)}"


def window_text(report: RoundReport) -> str:
    """Describe of when the predictions are."""
    return f"{minute_text(report.window_start)} to {minute_text(report.window_end)} UTC"


# How the numbers came about


def method_sentences(report: RoundReport) -> list[str]:
    """Describe sampling, weights, estimates, pooling and limits; empty for an undrawn round."""
    if not report.strata:
        return []
    return [
        _sampled(report),
        _weighted(report),
        _estimated(report),
        _pooled(report),
        _watched(report),
    ]


def _sampled(report: RoundReport) -> str:
    strata = report.cells or report.strata
    drawn, labeled = (sum(getattr(row, name) for row in strata) for name in ("planned", "labeled"))
    share = f", {percent_text(report.flagged / report.size)}" if report.size else ""
    return (
        f"Of {report.size:,} {unit_text(report)} of the window {report.flagged:,} are "
        f"flagged{share}; {drawn:,} items were drawn at random from "
        f"{plural(len(strata), 'stratum')} (predicted class, cut by score), and {labeled:,} of "
        "them have a label."
    ).replace("stratums", "strata")


def _weighted(report: RoundReport) -> str:
    positive = sum(stratum.positive for stratum in report.strata)
    row = report.shown("prevalence", "round")
    weighted = "Each stratum counts by its size in the window, not by how many labels it has"
    if row is None or row.point is None or not report.labeled:
        return f"{weighted}."
    share = percent_text(positive / report.labeled, 2)
    return (
        f"{weighted}: {share} of the labels are positive, about "
        f"{percent_text(row.point, 2)} of the window is, and numbers hold for the latter."
    )


def _estimated(report: RoundReport) -> str:
    level = percent_text(CREDIBLE_LEVEL)
    point = "the point is that of the labels scaled up to the window"
    if any(row.is_worst_case for row in report.estimates):
        return (
            "Answers are missing, so intervals are worst-case bounds: each reaches from the low "
            f"end of a {level} posterior interval if the missing answers were the worst for the "
            f"metric to the high end if they were the best; {point}."
        )
    return (
        f"An interval holds the true value with probability {level} by a Bayesian posterior of the "
        f"strata's rates, for one metric at a time; {point}."
    )


def _pooled(report: RoundReport) -> str:
    rounds = len(report.timeline)
    if rounds <= 1:
        return "There is no earlier round to pool with this one."
    text = (
        "“With earlier rounds” pools the rounds of the same model and threshold, each class only "
        "as far back as it seems unchanged"
    )
    if report.pooled_coverage is None:
        return f"{text}."
    changed, quiet = (percent_text(share) for share in report.pooled_coverage)
    return (
        f"{text}; such intervals held the truth in at least {changed} of simulated rounds after a "
        f"change and {quiet} in quiet times."
    )


def _watched(report: RoundReport) -> str:
    if not report.evidence:
        return "No limit is set, so nothing can raise an alert."
    fires_at = evidence_text(report.evidence[0].log_threshold)
    return (
        f"An alert fires when the evidence against a limit (an e-value) reaches {fires_at}, not "
        f"when an interval crosses the limit; that allows at most one false alarm in "
        f"{report.false_alarm_every:g} rounds, however often one looks."
    )
