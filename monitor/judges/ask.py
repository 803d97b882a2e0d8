"""Asking a judge about many items: several calls at once, repeats, a budget, and an end in time."""

from __future__ import annotations

import hashlib
import json
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread

from monitor.domain.crashpoint import outside
from monitor.domain.judge import OnDemandSettings
from monitor.domain.judging import JudgeFailed, JudgeModel, Opinion, Reply
from monitor.domain.model import Verdict
from monitor.domain.shown import Shown, plain_texts

_ROUNDS = 4  # calls of each thread in a group, so that one slow call holds up few others
_PAUSE = 0.5  # seconds before the first repeat; twice as long each time
_LONGEST_PAUSE = 30.0
_SILENT, _FAILED, _ENOUGH = 1, 10, 50
"""A call that failed weighs as much as ten replies that are no verdict; at this sum, with no
verdict in between, no more is asked."""

_FEWEST_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class JudgeClient:
    """Asks a judge as its settings say."""

    settings: OnDemandSettings
    model: JudgeModel

    def resolved(self) -> str | None:
        """Find the version that the name of its model stands for now; None if that is fixed."""
        try:
            return self.model.resolved()
        except JudgeFailed:
            raise
        except Exception as error:
            raise _bug(error) from error

    def calls_of(self, items: int) -> int:
        """Count the calls that so many items take if none is repeated."""
        return -(-items // self.model.batch)

    def digest(self, item: Shown) -> str:
        """Return a digest of all that it sees of an item: the columns that its prompt names."""
        texts = plain_texts(item)
        seen = {name: texts.get(name) for name in self.settings.placeholders or sorted(texts)}
        return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:32]

    def session(self, *, calls: int, tokens: int, seconds: float) -> JudgeSession:
        """Begin to ask, with so many calls, tokens and seconds left."""
        return JudgeSession(self, calls, tokens, time.monotonic() + seconds)


_JudgeCall = tuple[Sequence[Shown], Future[Sequence[Opinion | None]]]


class JudgeSession:
    """The asking of one round."""

    def __init__(self, client: JudgeClient, most_calls: int, most_tokens: int, end: float) -> None:
        self._settings, self._model = client.settings, client.model
        self._most_calls, self._most_tokens, self._end = most_calls, most_tokens, end
        self._lock = threading.Lock()
        self._score = 0
        self._stopped = ""
        self.calls = self.tokens = 0
        self.size = self._settings.concurrency * _ROUNDS * self._model.batch

    @property
    def stopped(self) -> str:
        """Why no more items are asked about; empty while they are."""
        with self._lock:
            if not self._stopped:
                self._stopped = self._limit()
            return self._stopped

    def ask(self, items: Sequence[Shown]) -> Sequence[Opinion | None]:
        """Return the opinion on each item, in their order; None where it was not asked about."""
        batch = self._model.batch
        waiting = SimpleQueue[_JudgeCall]()
        answers = []
        for start in range(0, len(items), batch):
            answers.append(Future[Sequence[Opinion | None]]())
            waiting.put((items[start : start + batch], answers[-1]))
        # No pool of the standard library: Python would wait for its threads after Ctrl-C.
        for _ in range(min(self._settings.concurrency, len(answers))):
            Thread(target=self._work, args=(waiting,), name="judge", daemon=True).start()
        try:
            return [opinion for answer in answers for opinion in answer.result()]
        except BaseException:  # such as Ctrl-C: nothing is asked or repeated any more
            with self._lock:
                self._stopped = self._stopped or "it was interrupted"
            raise

    def _work(self, waiting: SimpleQueue[_JudgeCall]) -> None:
        with suppress(Empty):
            while True:
                items, answer = waiting.get_nowait()
                try:
                    answer.set_result(self._ask(items))
                except BaseException as error:  # noqa: BLE001  it is raised where it is waited for
                    answer.set_exception(error)

    def _ask(self, items: Sequence[Shown]) -> Sequence[Opinion | None]:
        fault, is_reply = "", False
        for attempt in range(self._settings.retries + 1):
            if not self._take_call():
                break
            try:
                opinions = self._opinions(items)
            except JudgeFailed as error:
                fault, is_reply = str(error), not (error.passes or error.lasting)
                if error.lasting or not error.passes or attempt == self._settings.retries:
                    self._note_failure(fault, lasting=error.lasting)
                    break
                pause = min(_PAUSE * 2**attempt, _LONGEST_PAUSE) * random.uniform(0.5, 1)  # noqa: S311  spreads repeats
                if error.retry_after is not None:
                    pause = max(pause, error.retry_after.total_seconds())
                if not self._wait(pause):
                    self._note_failure(fault, lasting=False)
                    break
            else:
                self._note(opinions)
                return opinions
        failed = Opinion(Verdict.MISSING, fault, is_reply=is_reply) if fault else None
        return [failed] * len(items)

    def _opinions(self, items: Sequence[Shown]) -> Sequence[Opinion]:
        seconds = min(self._settings.timeout.total_seconds(), self._end - time.monotonic())
        try:
            with outside("judge"):
                replies = self._model.ask(items, max(seconds, _FEWEST_SECONDS))
            if len(replies) == len(items):
                return [self._opinion(reply) for reply in replies]
        except JudgeFailed:
            raise
        except Exception as error:
            raise _bug(error) from error
        message = "malformed"
        raise JudgeFailed(message)

    def _opinion(self, reply: Reply) -> Opinion:
        tokens = int(reply.tokens)
        if reply.fault:
            return Opinion(Verdict.MISSING, str(reply.fault), tokens)
        verdict = self._settings.verdict_of(reply.value)
        if verdict is None:
            return Opinion(Verdict.MISSING, "malformed", tokens)
        return Opinion(verdict, "", tokens)

    def _take_call(self) -> bool:
        with self._lock:
            self._stopped = self._stopped or self._limit()
            self.calls += not self._stopped
            return not self._stopped

    def _limit(self) -> str:
        if self.calls >= self._most_calls:
            return "its budget of calls is spent"
        if self.tokens >= self._most_tokens:
            return "its budget of tokens is spent"
        return "its time was over" if time.monotonic() >= self._end else ""

    def _wait(self, seconds: float) -> bool:
        """Wait before a repeat; false if the time, or another call, ends the asking before."""
        if time.monotonic() + seconds >= self._end:
            return False
        time.sleep(seconds)
        return not self.stopped

    def _note(self, opinions: Sequence[Opinion]) -> None:
        with self._lock:
            self.tokens += sum(one.tokens for one in opinions)
            silent = all(one.verdict is Verdict.MISSING for one in opinions)
            self._weigh(_SILENT * len(opinions) if silent else -self._score, opinions[-1].fault)

    def _note_failure(self, fault: str, *, lasting: bool) -> None:
        with self._lock:
            self._weigh(_ENOUGH if lasting else _FAILED, fault)

    def _weigh(self, weight: int, fault: str) -> None:
        self._score += weight
        if self._score >= _ENOUGH and not self._stopped:
            self._stopped = f"it gave no verdict any more ({fault})"


def _bug(error: Exception) -> JudgeFailed:
    """Turn a bug of a judge into a failed call: a round never fails for its judge."""
    return JudgeFailed(f"it failed with {type(error).__name__}", passes=True)
