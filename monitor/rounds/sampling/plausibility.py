"""Plausibility checks of a counted window, for `check` and for the draw.

Problems that the classifier, a challenger or a judge may cause are only reported.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from monitor.domain.errors import SourceRefused
from monitor.domain.implausible_scores import implausible_scores
from monitor.domain.model import BadRow, Decisions, Frame, UsualRate, Verdict
from monitor.domain.settings import RoundSettings
from monitor.domain.shown import Shown, problem_of
from monitor.domain.values import listed
from monitor.domain.verdict_values import doubtful_verdicts
from monitor.presentation import windows
from monitor.presentation.parts import challenger
from monitor.presentation.parts import judge as judge_texts
from monitor.presentation.windows import broken_pictures_sentence

FACTOR = 5
"""Least factor by which an implausible flagged rate is off: classifiers drift by less."""

LEVEL = 0.999  # Probability that a rate which has not changed is not reported

RELEASE_LEVEL = 1e-6
"""p-value below which releases are not by chance: the mark or the probability is wrong."""

FEWEST_RELEASED = 30
"""Fewest items let through for a useful interval of precision: within about 18 points."""

_MOST_WITHOUT_GROUP = 0.05  # of the items

RELEASED, FEW_RELEASED, AMOUNT = "released", "few_released", "amount"
FLAGGED, THRESHOLD, SCORES, LATE = "flagged", "threshold", "scores", "late_rows"


@dataclass(frozen=True, slots=True)
class Concern:
    """A problem that needs attention; ``is_setting`` if no classifier could cause it."""

    kind: str
    sentence: str
    is_setting: bool = False


def refuse_unknown(frame: Frame, settings: RoundSettings) -> None:
    """Raise `SourceRefused` if the share of unknown predicted values is over ``bad_rows_max``."""
    unknown = frame.bad_rows.get(BadRow.UNKNOWN_CLASS, 0)
    if unknown <= settings.bad_rows_max * frame.checked_rows:
        return
    has_classes = settings.block is not None and settings.block.kind == "classes"
    positive = "classes.values" if has_classes else "source.positive"
    message = (
        f"columns.predicted holds {listed(frame.unknown)}, which the config does not name; list "
        f"each value under {positive} or source.negative"
    )
    raise SourceRefused(message)


def flag_concerns(frame: Frame, usual: UsualRate | None, threshold: float | None) -> list[Concern]:
    """Return what is implausible about the flagged share of a window."""
    flagged, size = frame.flagged_size, frame.size
    if 0 < flagged < size:
        fault = None if threshold is None else implausible_scores(_scores(frame), threshold)
        concerns = [] if fault is None else [Concern(SCORES, fault)]
        if usual is not None and _is_far(flagged, size, usual):
            concerns.append(Concern(FLAGGED, windows.flagged_sentence(flagged, size, usual)))
        return concerns
    if not size:
        return []
    if threshold is None:
        return [Concern(FLAGGED, windows.one_class_sentence(flagged, size, usual))]
    return [_outside(frame, usual, threshold)]


def _outside(frame: Frame, usual: UsualRate | None, threshold: float) -> Concern:
    """Report that the threshold lies outside the scores that were read."""
    scores = _scores(frame)
    low, high = min(scores, default=math.nan), max(scores, default=math.nan)
    sentence = windows.threshold_sentence(
        frame.flagged_size, frame.size, usual, threshold=threshold, scores=(low, high)
    )
    return Concern(THRESHOLD, sentence, is_setting=_is_another_scale(threshold, low, high))


def _scores(frame: Frame) -> list[float]:
    return [c.score for part in frame.strata for c in part.candidates if c.score is not None]


def _is_another_scale(threshold: float, low: float, high: float) -> bool:
    """Whether a threshold is further from the scores than their range is wide.

    Never if all are in [0, 1]: a classifier that detects nothing may have such scores.
    """
    if all(0 <= each <= 1 for each in (threshold, low, high)):
        return False
    span = high - low
    return threshold > high + span or threshold < low - span


def _is_far(flagged: int, size: int, usual: UsualRate) -> bool:
    from monitor.stats.drift.rare_events import rates_differ  # noqa: PLC0415  scipy takes half a second

    rate = flagged / size
    if rate <= FACTOR * usual.rate and rate * FACTOR >= usual.rate:
        return False
    return rates_differ(flagged, size, usual.flagged, usual.size, level=LEVEL)


def release_concerns(frame: Frame) -> list[Concern]:
    """Return what is implausible about the flagged items that were let through."""
    flagged = [part for part in frame.strata if part.release is not None and part.size]
    releases = [part.release for part in flagged if part.release is not None]
    if not releases:
        return []
    from scipy import stats  # noqa: PLC0415  it takes half a second

    released = sum(each.released for each in releases)
    size, expected = frame.flagged_size, sum(each.expected for each in releases)
    concerns = []
    # If probabilities differ, the tails are lighter than the Binomial's (Hoeffding 1956).
    test = stats.binomtest(min(released, size), size, min(expected / size, 1.0))
    if test.pvalue < RELEASE_LEVEL:
        sentence = windows.released_sentence(released, size, expected)
        concerns.append(Concern(RELEASED, sentence))
    usable = sum(len(part.candidates) for part in flagged)
    if usable < min(FEWEST_RELEASED, size):
        concerns.append(
            Concern(FEW_RELEASED, windows.few_released_sentence(usable, released, size))
        )
    return concerns


def missing_groups(frame: Frame) -> list[str]:
    """Report that many items have no value in the column of groups."""
    groups = [candidate.group for part in frame.strata for candidate in part.candidates]
    missing = groups.count(None)
    if frame.group_column is None or missing <= _MOST_WITHOUT_GROUP * len(groups):
        return []
    return [windows.missing_groups_sentence(frame.group_column, missing, len(groups))]


def amount_concerns(frame: Frame, usual: Sequence[float]) -> list[Concern]:
    """Report an average amount that is far from the median of the last windows."""
    if not (frame.is_amount and usual):
        return []
    amount, before = frame.size / frame.rows, median(usual)
    if before / FACTOR <= amount <= before * FACTOR:
        return []
    return [Concern(AMOUNT, windows.amount_sentence(amount, before, len(usual)))]


_CHALLENGER, _JUDGE = "challenger", "judge"
_JUDGE_POSITIVES, _JUDGE_VALUES = "judge_positives", "judge_values"


class Oddities(NamedTuple):
    """Concerns about a window, and findings that are only worth a note."""

    concerns: tuple[Concern, ...] = ()
    notes: tuple[str, ...] = ()


def verdict_sizes(frame: Frame) -> Counter[Verdict | None]:
    """Count the items of each verdict; all under None if no judge cuts the strata."""
    sizes = Counter[Verdict | None]()
    for part in frame.strata:
        sizes[part.stratum.verdict] += part.size
    return sizes


def check_judge(frame: Frame, settings: RoundSettings) -> Oddities:
    """Check a window's verdicts; if they are missing, labels are spent as without a judge."""
    if settings.judge is None or not frame.size:
        return Oddities()
    if frame.judge_fault is not None:
        concern = Concern(
            _JUDGE, judge_texts.no_verdicts_sentence(frame.judge_fault), is_setting=True
        )
        return Oddities((concern,))
    sizes = verdict_sizes(frame)
    missing, yes, no = (sizes[each] for each in (Verdict.MISSING, Verdict.YES, Verdict.NO))
    size = missing + yes + no  # without the items that have no score
    doubts = _value_concerns(frame, settings)
    if missing > settings.bad_rows_max * size:
        sentence = judge_texts.unjudged_sentence(missing, size)
        return Oddities((Concern(_JUDGE, sentence, is_setting=missing == size), *doubts))
    if min(yes, no) == 0 < max(yes, no):
        return Oddities(doubts, (judge_texts.one_verdict_sentence(settings.judge, yes, no),))
    if yes > no and 2 * frame.flagged_size < frame.size:
        sentence = judge_texts.majority_sentence(settings.judge, yes, no, frame.flagged_size)
        return Oddities(doubts, (sentence,))
    return Oddities(doubts)


def _value_concerns(frame: Frame, settings: RoundSettings) -> tuple[Concern, ...]:
    """Return concerns about values of a judge's column that are probably misread."""
    judge = settings.judge
    assert judge is not None  # noqa: S101  checked by the caller
    least = settings.bad_rows_max * sum(part.size for part in frame.strata)
    doubtful = doubtful_verdicts(judge, frame.other_verdicts, least)
    concerns = []
    if values := doubtful.positive_in_form:
        sentence = judge_texts.positive_in_form_sentence(judge, values)
        concerns.append(Concern(_JUDGE_POSITIVES, sentence))
    if values := doubtful.unlisted:
        sentence = judge_texts.unlisted_verdicts_sentence(judge, values)
        concerns.append(Concern(_JUDGE_VALUES, sentence))
    return tuple(concerns)


def check_challenger(frame: Frame, settings: RoundSettings) -> Oddities:
    """Check a window's challenger. The round goes on even if something is wrong with it."""
    if settings.challenger is None or not frame.size:
        return Oddities()
    title, decided = settings.challenger.title, frame.challenged
    if decided is None:
        fault = frame.challenger_fault or challenger.NO_DECISIONS
        concern = Concern(_CHALLENGER, challenger.fault_sentence(title, fault), is_setting=True)
        return Oddities((concern,))
    if decided.undecided > settings.bad_rows_max * frame.size:
        why = challenger.undecided_reason(decided.undecided, frame.size, settings.bad_rows_max)
        is_setting = decided.undecided == frame.size
        concern = Concern(_CHALLENGER, challenger.fault_sentence(title, why), is_setting=is_setting)
        return Oddities((concern,))
    return Oddities(notes=tuple(_notes(title, frame, decided)))


def _notes(title: str, frame: Frame, decided: Decisions) -> Iterator[str]:
    if decided.undecided:
        yield challenger.undecided_sentence(title, decided, frame.size)
    if _is_same(frame):
        yield challenger.same_sentence(title, frame.size)
    elif decided.flagged in {0, frame.size}:
        yield challenger.extreme_sentence(title, decided, frame.size)
    if _leaves_scale(frame, decided):
        yield challenger.scale_sentence(title, decided)


def _is_same(frame: Frame) -> bool:
    return all(
        part.challenged is not None
        and part.challenged.flagged == (part.size if part.stratum.flagged else 0)
        for part in frame.strata
    )


def _leaves_scale(frame: Frame, decided: Decisions) -> bool:
    if decided.low is None or decided.high is None or (decided.low >= 0 and decided.high <= 1):
        return False
    scores = _scores(frame)
    return bool(scores) and min(scores) >= 0 and max(scores) <= 1


def broken_pictures(shown: Collection[Shown], settings: RoundSettings) -> tuple[str, ...]:
    """Report items whose picture cannot be shown; raises `SourceRefused` if they are too many."""
    problems = [problem for one in shown if (problem := problem_of(one)) is not None]
    if not problems:
        return ()
    sentence = broken_pictures_sentence(Counter(problems), len(shown))
    if len(problems) > settings.bad_rows_max * len(shown):
        message = f"{sentence}, more than bad_rows_max = {settings.bad_rows_max:g} allows"
        raise SourceRefused(message, is_public=True)
    return (sentence,)
