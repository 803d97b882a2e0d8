"""How a round's numbers came about, in five sentences that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.presentation.numbers import evidence_text, percent_text, plural

if TYPE_CHECKING:
    from monitor.domain.report import RoundReport


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
        f"Of {report.size:,} predictions of the window {report.flagged:,} are flagged{share}; "
        f"{drawn:,} items were drawn at random from {plural(len(strata), 'stratum')} (predicted "
        f"class, cut by score), and {labeled:,} of them have a label."
    ).replace("stratums", "strata")


def _weighted(report: RoundReport) -> str:
    labeled = sum(stratum.labeled for stratum in report.strata)
    positive = sum(stratum.positive for stratum in report.strata)
    row = report.estimate("prevalence", basis="round", estimand="window")
    weighted = "Each stratum counts by its size in the window, not by how many labels it has"
    if row is None or row.point is None or not labeled:
        return f"{weighted}."
    return (
        f"{weighted}: {percent_text(positive / labeled, 2)} of the labels are positive, about "
        f"{percent_text(row.point, 2)} of the window is, and numbers hold for the latter."
    )


def _estimated(report: RoundReport) -> str:
    return (
        f"An interval holds the true value with probability {percent_text(report.level)} by a "
        "Bayesian posterior of the strata's rates, for one metric at a time; the point is that of "
        "the labels scaled up to the window."
    )


def _pooled(report: RoundReport) -> str:
    rounds = len(report.timeline)
    if rounds <= 1:
        return "No earlier round is there to be pooled with this one."
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
