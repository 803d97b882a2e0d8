"""The first phase of a round whose judge is asked: a sample of each score cell gets verdicts.

The size of a stratum is estimated: the items of its cell times the share of its verdict among the
judged ones (double sampling for stratification; Cochran, Sampling Techniques, ch. 12). People label
among the judged items.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from monitor.domain.crashpoint import outside
from monitor.domain.errors import JudgeUnavailable, RoundMoved
from monitor.domain.judge import OnDemandJudge
from monitor.domain.judging import JudgeFailed, Opinion, VerdictService, VerdictSession
from monitor.domain.model import Candidate, Frame, Stratum, StratumFrame, Verdict
from monitor.domain.ports import as_counted
from monitor.domain.segments import scaled
from monitor.domain.settings import RoundSettings
from monitor.domain.shown import Shown
from monitor.presentation import judge as judge_texts
from monitor.rounds.claims import turn_released
from monitor.rounds.context import MonitorContext
from monitor.rounds.sampling.plausibility import Concern
from monitor.rounds.sampling.window_scan import WindowScan, scan_window
from monitor.storage.results.past_counts import PastRound
from monitor.storage.rounds import round_claims, round_store
from monitor.storage.rounds.round_claims import Claim
from monitor.storage.rounds.round_store import Round
from monitor.storage.samples import verdict_store
from monitor.storage.samples.verdict_store import Judging

if TYPE_CHECKING:
    from sqlalchemy import Connection


JUDGE = "judge"
_SHOWN = 500  # items that the source is asked for at once


class VerdictPart(NamedTuple):
    """What is known of one verdict in a cell: its share, up to a factor, and items that have it."""

    weight: int
    candidates: Sequence[Candidate] = ()


Parts = Callable[[StratumFrame], Mapping[Verdict, VerdictPart]]


def cut_frame(frame: Frame, strata: Sequence[Stratum], parts: Parts, *, estimated: bool) -> Frame:
    """Cut the score cells of a frame into strata by verdict, whose sizes add up to the cell's.

    Where they are ``estimated``, weights count the judged items.
    """
    cells = {_cell(part.stratum): part for part in frame.strata}
    cut = {key: _cut(cell, parts(cell), estimated=estimated) for key, cell in cells.items()}
    return replace(
        frame,
        strata=tuple(
            replace(
                cells[_cell(one)] if one.verdict is None else cut[_cell(one)][one.verdict],
                stratum=one,
            )
            for one in strata
        ),
    )


def _cell(stratum: Stratum) -> Stratum:
    return replace(stratum, name="", verdict=None)


def _cut(
    cell: StratumFrame, parts: Mapping[Verdict, VerdictPart], *, estimated: bool
) -> dict[Verdict, StratumFrame]:
    weights = {verdict: parts[verdict].weight if verdict in parts else 0 for verdict in Verdict}
    judged = sum(weights.values())
    if not judged:  # an empty cell, mostly
        weights[Verdict.MISSING] = 1
    sizes = scaled(weights, cell.size)
    return {
        verdict: StratumFrame(
            cell.stratum,
            size,
            tuple(parts[verdict].candidates) if verdict in parts else (),
            _segments(cell, parts.get(verdict), size),
            judged=weights[verdict] if estimated and 0 < judged < cell.size else None,
        )
        for verdict, size in sizes.items()
    }


def _segments(
    cell: StratumFrame, part: VerdictPart | None, size: int
) -> tuple[Mapping[str, int], ...]:
    """Count a part by segments, as they are among its candidates."""
    if size == cell.size:
        return cell.segments
    candidates = () if part is None else part.candidates
    return tuple(
        scaled(Counter(each.segments[column] for each in candidates), size if candidates else 0)
        for column in range(len(cell.segments))
    )


def with_resolved_judge(
    context: MonitorContext, round_: Round, claim: Claim | None = None
) -> tuple[RoundSettings, tuple[Concern, ...]]:
    """Return a round's settings with the version that an asked judge's alias names now.

    Where that cannot be known, the version of the last round, or no judge, with a concern. Raises
    `JudgeUnavailable` while a claimed round waits for it.
    """
    judge = round_.settings.judge
    if not isinstance(judge, OnDemandJudge) or context.judge is None:
        return round_.settings, ()
    try:
        with outside("judge"):
            resolved = context.judge.resolved()
    except JudgeFailed as error:
        if claim is not None and error.passes:
            _wait_for_version(context, round_, claim, judge, error)
        return _with_last_version(context, round_, judge, error)
    return _with_judge(round_, judge.model_copy(update={"resolved": resolved})), ()


def _wait_for_version(
    context: MonitorContext, round_: Round, claim: Claim, judge: OnDemandJudge, error: JudgeFailed
) -> None:
    with context.database.write() as connection:
        _hold(connection, claim)
        judging = verdict_store.begin_judging(connection, round_.id, context.clock())
    if _remaining(context, judge, judging)["seconds"] > 0:
        raise JudgeUnavailable(judge_texts.waits_for_version_sentence(judge, str(error))) from error


def _with_last_version(
    context: MonitorContext, round_: Round, judge: OnDemandJudge, error: JudgeFailed
) -> tuple[RoundSettings, tuple[Concern, ...]]:
    last = None
    if error.passes:
        with context.database.read() as connection:
            last = round_store.newest_judged(connection, round_.monitor_id, judge)
    if last is None:
        present, sentence = None, judge_texts.no_verdicts_sentence(str(error))
    else:
        present = judge.model_copy(update={"resolved": last})
        sentence = judge_texts.last_version_sentence(judge, last, str(error))
    return _with_judge(round_, present), (Concern(JUDGE, sentence, is_setting=True),)


def _with_judge(round_: Round, judge: OnDemandJudge | None) -> RoundSettings:
    return round_.settings.model_copy(update={"judge": judge})


def resolved_settings(settings: RoundSettings, *, is_changed: bool) -> dict[str, Any]:
    """Return what a drawn round has to keep of its settings that was not known when it opened.

    is_changed: Whether the round took the settings of today.
    """
    judge = settings.judge
    is_resolved = isinstance(judge, OnDemandJudge) and judge.resolved is not None
    if not (is_resolved or is_changed):
        return {}
    return {"settings": settings.model_dump(mode="json")}


def judged_scan(
    context: MonitorContext, round_: Round, claim: Claim, scan: WindowScan
) -> tuple[WindowScan, tuple[Concern, ...]]:
    """Ask a round's judge, if it has such a one, and cut the cells of its window by verdict.

    What is stored already is not asked again, unless the text of its item changed. Raises
    `RoundMoved` once another worker has the round.
    """
    judge = round_.settings.judge
    if not isinstance(judge, OnDemandJudge):
        return scan, ()
    chosen = _first_phase(scan.frame, judge.items)
    opinions = _stored(context, round_, scan.frame, chosen)
    missing = [item for item in chosen if item not in opinions]
    stopped = ""
    if missing and context.judge is not None:
        with context.database.write() as connection:
            _hold(connection, claim)
            judging = verdict_store.begin_judging(connection, round_.id, context.clock())
        shown = _shown(context, round_, scan.frame, missing)
        session = context.judge.session(**_remaining(context, judge, judging))
        with turn_released():  # asking may take half an hour, and other rounds scan meanwhile
            for answered in _query(context, context.judge, session, shown, round_, claim):
                opinions |= answered
        stopped = session.stopped
    return _cut_by(context, round_, claim, scan, opinions, stopped)


def _stored(
    context: MonitorContext, round_: Round, frame: Frame, items: Sequence[str]
) -> dict[str, Opinion]:
    """Read what the judge said of items, of those that it would see now as it saw them then."""
    with context.database.read() as connection:
        stored = verdict_store.read_opinions(connection, round_, items)
    if context.judge is None or not stored:
        return {}
    seen = {
        item: context.judge.digest(shown)
        for item, shown in _shown(context, round_, frame, list({item for item, _ in stored}))
    }
    return {item: stored[item, digest] for item, digest in seen.items() if (item, digest) in stored}


def foreseen_scan(
    context: MonitorContext, round_: Round
) -> tuple[Round, WindowScan, dict[str, int]]:
    """Scan a window to plan it, with what asking its judge would take: items and calls.

    Nothing is asked: cells are cut as earlier rounds were; without these there is no judge.
    """
    settings, _ = with_resolved_judge(context, round_)
    round_ = replace(round_, settings=settings)
    scan, judge = scan_window(context, round_), settings.judge
    if not isinstance(judge, OnDemandJudge) or context.judge is None:
        return round_, scan, {}
    items = len(_first_phase(scan.frame, judge.items))
    cost = {"items": items, "calls": context.judge.calls_of(items)}
    if earlier := scan.earlier(context, round_):
        return round_, _cut_as(scan, earlier, judge.items), cost
    round_ = replace(round_, settings=settings.model_copy(update={"judge": None}))
    return round_, scan_window(context, round_), cost


def _first_phase(frame: Frame, items: int) -> list[str]:
    """Take the first items of each cell, ranked so that any early end leaves a random part."""
    cells = [part.candidates[:items] for part in frame.strata if not part.stratum.unscored]
    return [each.id for rank in zip_longest(*cells) for each in rank if each is not None]


def _remaining(context: MonitorContext, judge: OnDemandJudge, spent: Judging) -> dict[str, Any]:
    """Return what a round has left to ask with, though a process that asked was killed."""
    elapsed = context.clock() - spent.began_at
    return {
        "calls": judge.budget.calls - spent.calls,
        "tokens": judge.budget.tokens - spent.tokens,
        "seconds": (judge.within - max(elapsed, timedelta(0))).total_seconds(),
    }


def _shown(
    context: MonitorContext, round_: Round, frame: Frame, ids: Sequence[str]
) -> Iterator[tuple[str, Shown]]:
    """Read what people would see of items; those that have left the predictions are left out."""
    source = as_counted(context.source, frame.snapshot)
    for start in range(0, len(ids), _SHOWN):
        some = ids[start : start + _SHOWN]
        with outside("show"):
            shown = source.show(some, round_.window)
        yield from ((item, shown[item]) for item in some if item in shown)


def _query(
    context: MonitorContext,
    judge: VerdictService,
    session: VerdictSession,
    items: Iterator[tuple[str, Shown]],
    round_: Round,
    claim: Claim,
) -> Iterator[dict[str, Opinion]]:
    """Ask about items group by group, each stored before the next.

    Calls are counted before they are made, so that a kill hides none from the next process.
    """
    while not session.stopped and (group := dict(islice(items, session.size))):
        before, expected = (session.calls, session.tokens), judge.calls_of(len(group))
        with context.database.write() as connection:
            _hold(connection, claim)
            verdict_store.spend(connection, round_.id, calls=expected)
        began = time.monotonic()
        replies = session.ask(list(group.values()))
        seconds = time.monotonic() - began
        opinions = {
            item: opinion
            for item, opinion in zip(group, replies, strict=True)
            if opinion is not None
        }
        with context.database.write() as connection:
            _hold(connection, claim)
            verdict_store.spend(
                connection,
                round_.id,
                calls=session.calls - before[0] - expected,
                tokens=session.tokens - before[1],
                seconds=seconds,
            )
            seen = {item: judge.digest(group[item]) for item in opinions}
            verdict_store.add_opinions(connection, round_, opinions, seen, context.clock())
        yield opinions


def _hold(connection: Connection, claim: Claim) -> None:
    if not round_claims.renew_round(connection, claim):
        message = f"round {claim.round_id} was taken over by another worker; it asks on there"
        raise RoundMoved(message)


def _cut_by(
    context: MonitorContext,
    round_: Round,
    claim: Claim,
    scan: WindowScan,
    opinions: Mapping[str, Opinion],
    stopped: str,
) -> tuple[WindowScan, tuple[Concern, ...]]:
    judge = round_.settings.judge
    assert isinstance(judge, OnDemandJudge)  # noqa: S101  asked by the caller
    chosen = _first_phase(scan.frame, judge.items)
    verdicts = {item: each.verdict for item, each in opinions.items()}
    silent = [item for item in chosen if verdicts.get(item, Verdict.MISSING) is Verdict.MISSING]
    faults = Counter(opinions[item].fault if item in opinions else None for item in silent)
    why = judge_texts.why_missing_text(faults, stopped) if silent else None
    with context.database.write() as connection:
        _hold(connection, claim)
        verdict_store.begin_judging(connection, round_.id, context.clock())
        verdict_store.end_judging(connection, round_.id, len(chosen), why)
    strata, most = scan.edges.strata(), judge.items
    if len(silent) == len(chosen):  # nothing is estimated, and all are as without a judge
        frame = cut_frame(
            scan.frame,
            strata,
            lambda cell: {Verdict.MISSING: VerdictPart(1, cell.candidates)},
            estimated=False,
        )
        return replace(scan, frame=replace(frame, judge_fault=why)), ()
    frame = cut_frame(
        scan.frame,
        strata,
        lambda cell: _by_verdict(cell.candidates[:most], verdicts),
        estimated=True,
    )
    if len(silent) <= round_.settings.bad_rows_max * len(chosen):
        return replace(scan, frame=frame), ()
    sentence = judge_texts.partly_judged_sentence(len(silent), len(chosen), why or "")
    return replace(scan, frame=frame), (Concern(JUDGE, sentence),)


def _by_verdict(
    judged: Sequence[Candidate], verdicts: Mapping[str, Verdict]
) -> dict[Verdict, VerdictPart]:
    parts = defaultdict[Verdict, list[Candidate]](list)
    for each in judged:
        parts[verdicts.get(each.id, Verdict.MISSING)].append(each)
    return {verdict: VerdictPart(len(items), items) for verdict, items in parts.items()}


def _cut_as(scan: WindowScan, earlier: Sequence[PastRound], most: int) -> WindowScan:
    """Cut a window that is not judged as earlier rounds of its history were."""
    strata = scan.edges.strata()
    sizes = np.sum([each.counts.size for each in earlier], axis=0)
    weights = defaultdict[Stratum, dict[Verdict, VerdictPart]](dict)
    for one, size in zip(strata, sizes.tolist(), strict=True):
        if one.verdict is not None:
            weights[_cell(one)][one.verdict] = VerdictPart(size)

    def parts(cell: StratumFrame) -> dict[Verdict, VerdictPart]:
        of = {verdict: part.weight for verdict, part in weights[_cell(cell.stratum)].items()}
        if not any(of.values()):
            return {}
        judged = scaled(of, min(most, cell.size))
        return {verdict: VerdictPart(items, cell.candidates) for verdict, items in judged.items()}

    frame = cut_frame(scan.frame, strata, parts, estimated=True)
    return replace(scan, frame=frame)
