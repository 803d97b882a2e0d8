"""What is odd about a window's challenger, or its judge. The round goes on all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.model import Verdict
from monitor.presentation.challenger import (
    NO_DECISIONS,
    extreme_sentence,
    fault_sentence,
    same_sentence,
    scale_sentence,
    undecided_reason,
    undecided_sentence,
)
from monitor.presentation.judge import (
    changed_judge_sentence,
    no_verdicts_sentence,
    one_verdict_sentence,
    unjudged_sentence,
)
from monitor.rounds.sampling.plausibility import Concern

if TYPE_CHECKING:
    from monitor.domain.model import Decisions, Frame
    from monitor.domain.settings import RoundSettings
    from monitor.rounds.context import MonitorContext
    from monitor.storage.rounds.round_store import Round

_CHALLENGER, _JUDGE = "challenger", "judge"


class OpinionCheck(NamedTuple):
    """Why another opinion is of no use, and what is merely worth a note."""

    concerns: tuple[Concern, ...] = ()
    notes: tuple[str, ...] = ()


def verdict_sizes(frame: Frame) -> Counter[Verdict | None]:
    """Count the items of each verdict; all under None where no judge cuts the strata."""
    sizes = Counter[Verdict | None]()
    for part in frame.strata:
        sizes[part.stratum.verdict] += part.size
    return sizes


def of_present_judge(context: MonitorContext, round_: Round) -> tuple[Round, tuple[Concern, ...]]:
    """Return a round as it can be drawn now, and a concern if its judge is no longer the config's.

    The source reads the verdicts of the config's judge, and these must not pass for another's.
    """
    judge, present = round_.settings.judge, context.settings.round.judge
    if judge is None or (present is not None and judge.title == present.title):
        return round_, ()
    settings = round_.settings.model_copy(update={"judge": None})
    concern = Concern(_JUDGE, changed_judge_sentence(judge), is_setting=True)
    return replace(round_, settings=settings), (concern,)


def check_judge(frame: Frame, settings: RoundSettings) -> OpinionCheck:
    """Check a window's verdicts: where they lack, labels are spent as without a judge."""
    if settings.judge is None or not frame.size:
        return OpinionCheck()
    if frame.judge_fault is not None:
        concern = Concern(_JUDGE, no_verdicts_sentence(frame.judge_fault), is_setting=True)
        return OpinionCheck((concern,))
    is_estimated = any(part.judged is not None for part in frame.strata)
    sizes = verdict_sizes(frame)
    missing, yes, no = (sizes[each] for each in (Verdict.MISSING, Verdict.YES, Verdict.NO))
    size = missing + yes + no  # without the items that have no score
    # Why verdicts are missing of which a judge was asked, its first phase says.
    if missing > settings.bad_rows_max * size and not is_estimated:
        sentence = unjudged_sentence(missing, size)
        return OpinionCheck((Concern(_JUDGE, sentence, is_setting=missing == size),))
    if min(yes, no) == 0 < max(yes, no):
        return OpinionCheck(notes=(one_verdict_sentence(settings.judge, yes, no),))
    return OpinionCheck()


def check_challenger(frame: Frame, settings: RoundSettings) -> OpinionCheck:
    """Check a window's challenger. The round goes on even if something is wrong with it."""
    if settings.challenger is None or not frame.size:
        return OpinionCheck()
    title, decided = settings.challenger.title, frame.challenged
    if decided is None:
        fault = frame.challenger_fault or NO_DECISIONS
        concern = Concern(_CHALLENGER, fault_sentence(title, fault), is_setting=True)
        return OpinionCheck((concern,))
    if decided.undecided > settings.bad_rows_max * frame.size:
        why = undecided_reason(decided.undecided, frame.size, settings.bad_rows_max)
        is_setting = decided.undecided == frame.size
        concern = Concern(_CHALLENGER, fault_sentence(title, why), is_setting=is_setting)
        return OpinionCheck((concern,))
    return OpinionCheck(notes=tuple(_notes(title, frame, decided)))


def _notes(title: str, frame: Frame, decided: Decisions) -> Iterator[str]:
    if decided.undecided:
        yield undecided_sentence(title, decided, frame.size)
    if _is_same(frame):
        yield same_sentence(title, frame.size)
    elif decided.flagged in {0, frame.size}:
        yield extreme_sentence(title, decided, frame.size)
    if _is_another_scale(frame, decided):
        yield scale_sentence(title, decided)


def _is_same(frame: Frame) -> bool:
    """Whether it flags just the flagged items."""
    return all(
        part.challenged is not None
        and part.challenged.flagged == (part.size if part.stratum.flagged else 0)
        for part in frame.strata
    )


def _is_another_scale(frame: Frame, decided: Decisions) -> bool:
    """Whether its scores leave [0, 1], where all of the classifier's are."""
    if decided.low is None or decided.high is None or (decided.low >= 0 and decided.high <= 1):
        return False
    scores = [c.score for part in frame.strata for c in part.candidates if c.score is not None]
    return bool(scores) and min(scores) >= 0 and max(scores) <= 1
