"""What is implausible about a challenger's decisions on a counted window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from monitor.presentation.challenger import (
    extreme_sentence,
    fault_sentence,
    no_decisions_reason,
    same_sentence,
    scale_sentence,
    undecided_reason,
    undecided_sentence,
)
from monitor.rounds.sampling.plausibility import Concern

if TYPE_CHECKING:
    from monitor.domain.model import Decisions, Frame
    from monitor.domain.settings import RoundSettings

CHALLENGER = "challenger"


class ChallengerCheck(NamedTuple):
    """Why there is no comparison, and what is merely worth a note."""

    concerns: tuple[Concern, ...] = ()
    notes: tuple[str, ...] = ()


def check_challenger(frame: Frame, settings: RoundSettings) -> ChallengerCheck:
    """Check a window's challenger. The round goes on even if something is wrong with it."""
    if settings.challenger is None or not frame.size:
        return ChallengerCheck()
    title, decided = settings.challenger.title, frame.challenged
    if decided is None:
        fault = frame.challenger_fault or no_decisions_reason()
        concern = Concern(CHALLENGER, fault_sentence(title, fault), is_setting=True)
        return ChallengerCheck((concern,))
    if decided.undecided > settings.bad_rows_max * frame.size:
        why = undecided_reason(decided.undecided, frame.size, settings.bad_rows_max)
        is_setting = decided.undecided == frame.size
        concern = Concern(CHALLENGER, fault_sentence(title, why), is_setting=is_setting)
        return ChallengerCheck((concern,))
    return ChallengerCheck(notes=tuple(_notes(title, frame, decided)))


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
