"""Remarks on estimates: why one is missing, and which few labels decide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from monitor.domain.report import (
    MISSING_MAX,
    AnswersRow,
    DecidingRow,
    EstimateRow,
    ProvisionalRow,
    ReportedEstimate,
)
from monitor.presentation.numbers import (
    NOT_ESTIMABLE,
    interval_text,
    minute_text,
    number_text,
    percent_text,
    plural,
    range_text,
)

if TYPE_CHECKING:
    from monitor.stats.estimation.small_counts import DecidingClass

BASES = {
    "round": "this round alone",
    "pooled": "with earlier rounds",
    "corrected": "errors corrected",
}
"""What an estimate rests on, as tables head it."""


WHATEVER = "whatever the missing answers are"  # What worst-case bounds hold for

POOLED_INTERVALS = "intervals with earlier rounds are of calibrated pooling"


def pooled_intervals_text(coverage: tuple[float, float] | None) -> str:
    """Report what pooled intervals are, and how often they held the truth where that was measured.

    >>> pooled_intervals_text(None)
    'intervals with earlier rounds are of calibrated pooling'
    >>> pooled_intervals_text((0.9, 0.98)).split(", and ")[1]
    'in at least 98 % in quiet times'
    """
    if coverage is None:
        return POOLED_INTERVALS
    changed, quiet = coverage
    return (
        f"{POOLED_INTERVALS}: they held the truth in at least {percent_text(changed)} of simulated "
        "rounds after changes of 3 to 15 points either way, and in at least "
        f"{percent_text(quiet)} in quiet times"
    )


def estimate_text(row: EstimateRow | None) -> str:
    """Format a point and its interval for a sentence, with the name of the interval.

    >>> from monitor.domain.report import EstimateRow
    >>> row = dict(metric="recall", estimand="rate", basis="round", level=0.95, method="")
    >>> estimate_text(EstimateRow(point=0.86, low=0.8, high=0.91, **row))
    '0.86 (0.80 to 0.91)'
    >>> ends = dict(low=0.6, high=0.93, bound_low=0.6, bound_high=0.93)
    >>> estimate_text(EstimateRow(point=0.86, **ends, **row))
    '0.86 (0.60 to 0.93, whatever the missing answers are)'
    """
    text = number_text(row)
    if row is None or not row.is_worst_case:
        return text
    return f"{text.removesuffix(')')}, {WHATEVER})"


def missing_text(row: AnswersRow) -> str:
    """Return how many answers are missing.

    >>> from monitor.domain.report import AnswersRow
    >>> missing_text(AnswersRow(wanted=400, labeled=356, declined=4))
    '44 of 400 answers are missing (11 %)'
    """
    share = percent_text(row.missing / row.wanted)
    return f"{row.missing} of {row.wanted} answers are missing ({share})"


def answered_at_random_text(missing: int, rounds: int = 1, what: str = "these intervals") -> str:
    """State that numbers from some rounds take no account of their missing answers.

    >>> answered_at_random_text(1).split(": ")[0], answered_at_random_text(9, 3).split(": ")[0]
    ('1 answer of the round is missing', '9 answers of 3 rounds are missing')
    """
    which = "the round" if rounds == 1 else f"{rounds} rounds"
    answers = f"1 answer of {which} is" if missing == 1 else f"{missing:,} answers of {which} are"
    return f"{answers} missing: {what} assume that the answered items are a random part of all"


def worst_case_text(rows: Iterable[EstimateRow], answers: AnswersRow | None) -> str | None:
    """State that intervals are worst-case bounds, and why; None if no interval is."""
    if not any(row.is_worst_case for row in rows):
        return None
    if answers is None or not answers.missing:
        return (
            "answers to earlier rounds are missing: intervals with earlier rounds are worst-case "
            f"bounds, which hold {WHATEVER}"
        )
    return f"{missing_text(answers)}: intervals are worst-case bounds, which hold {WHATEVER}"


def too_few_text(row: AnswersRow) -> str:
    """State that a round is partial, and what that means for its estimates and its evidence."""
    return (
        f"partial: {missing_text(row)}, more than {percent_text(MISSING_MAX)}. Its intervals are "
        f"worst-case bounds, which hold {WHATEVER}, and its points may be far off; evidence counts "
        "the missing answers in favor of the limits"
    )


def answered_text(row: ReportedEstimate) -> str | None:
    """Give the interval from the answered items alone; None if no answer is missing."""
    if row.answered_low is None or row.answered_high is None:
        return None
    return f"{range_text(row.answered_low, row.answered_high)} if they were like the others"


def reason_text(reason: str | None) -> str:
    """Describe why there is no number."""
    return f"{NOT_ESTIMABLE}: {reason or 'no reason was kept'}"


def caution_text(classes: Sequence[DecidingRow | DecidingClass]) -> str | None:
    """Return the sentence that few labels decide a metric, and which; None if none do.

    >>> from monitor.domain.report import DecidingRow
    >>> caution_text([DecidingRow(predicted="passed", answer="positive", worth=2.1)])
    'few labels decide this, about 2 positive among the passed'
    >>> caution_text([DecidingRow(predicted="passed", answer="positive", worth=3, moves=0.031)])
    'few labels decide this, 3 positive in one band of the passed: each moves it by 3.1 points'
    >>> caution_text([DecidingRow(predicted="passed", answer="positive", worth=0, moves=0.1)])
    'few labels decide this, no positive in a part of the passed: one would move it by 10 points'
    """
    if not classes:
        return None
    return f"few labels decide this, {' and '.join(_named(one) for one in classes)}"


def _named(deciding: DecidingRow | DecidingClass) -> str:
    if deciding.moves is not None and deciding.worth == 0:
        return (
            f"no {deciding.answer} in a part of the {deciding.predicted}: one would move it by "
            f"{100 * deciding.moves:.2g} points"
        )
    if deciding.moves is None:
        return f"about {deciding.worth:.0f} {deciding.answer} among the {deciding.predicted}"
    return (
        f"{deciding.worth:.0f} {deciding.answer} in one band of the {deciding.predicted}: each "
        f"moves it by {100 * deciding.moves:.2g} points"
    )


def caution_lines(cautions: Iterable[tuple[str, str | None]]) -> list[str]:
    """Describe of which metrics a caution holds, one caution at a time.

    >>> caution_lines([("recall", "few labels decide this"), ("f1", "few labels decide this")])
    ['recall, f1: few labels decide this']
    """
    result: dict[str, dict[str, None]] = {}
    for metric, caution in cautions:
        if caution is not None:
            result.setdefault(caution, {})[metric] = None
    return [f"{', '.join(metrics)}: {caution}" for caution, metrics in result.items()]


# A round whose labels still come

LATER_NEGATIVE = "an item without a row is not negative (labeling.missing_means)"
"""Why a column's early labels give no number: both answers may come late, and not alike."""

OTHER_PACE = "labels arrive differently than in earlier rounds"
FASTER = "more labels have come than earlier rounds had at this age"


def too_few_followed_reason(followed: int, needed: int) -> str:
    """State how many labels were followed until they matured, of how many that are needed."""
    return (
        f"{followed} of {plural(needed, 'positive label')} of earlier rounds were followed until "
        "they matured"
    )


def too_young_reason(matured: float) -> str:
    """State that hardly any label has come."""
    return f"{percent_text(matured, 2)} matured"


def taken_back_reason(fall: int, before: int) -> str:
    """State that labels went, as they do where a file was cut off."""
    return (
        f"{fall:,} of {plural(before, 'positive label')} were taken back (are all rows of the "
        "labels still there?)"
    )


def provisional_line(row: ProvisionalRow) -> str:
    """Write what a round shows before its labels have matured, with what that assumes.

    >>> from datetime import UTC, datetime
    >>> from monitor.domain.report import ProvisionalMetric, ProvisionalRow
    >>> recall = ProvisionalMetric(metric="recall", point=0.6, low=0.5, high=0.7)
    >>> at = datetime(2025, 3, 3, tzinfo=UTC)
    >>> provisional_line(ProvisionalRow(at=at, matured=0.6, metrics=[recall])).split(", if")[0]
    'provisional, 60 % matured on 2025-03-03 00:00 UTC: recall 0.600 [0.500, 0.700]'
    >>> print(provisional_line(ProvisionalRow(at=at, reason=too_young_reason(0.02))))
    provisional: not estimable, 2 % matured
    """
    if row.matured is None or not row.metrics:
        return f"provisional: not estimable, {row.reason}"
    numbers = ", ".join(f"{each.metric} {interval_text(each)}" for each in row.metrics)
    when = f"{percent_text(row.matured, 2)} matured on {minute_text(row.at)} UTC"
    pace = "by score" if row.by_score else "at one pace for all scores of a class"
    return f"provisional, {when}: {numbers}, if labels come as in earlier rounds, {pace}"


def still_provisional_sentence(share: float) -> str:
    """State that some labels of a closed round are still to come, and what allows for them.

    >>> still_provisional_sentence(0.96).split(": ")[0]
    'provisional, 96 % of the positive labels are known'
    """
    return (
        f"provisional, {percent_text(share, 2)} of the positive labels are known: by labeling.time "
        "of earlier windows the others come later. The numbers of this round alone allow for them, "
        "if labels come as they did"
    )
