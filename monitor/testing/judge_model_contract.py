"""What every judge keeps that is asked, as tests."""

# ruff: noqa: S101, PLR2004  assertions are the purpose of this file

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from monitor.domain.judge import OnDemandSettings
from monitor.domain.judging import JudgeFailed, JudgeModel, Reply
from monitor.domain.model import Verdict
from monitor.domain.shown import Shown


class JudgeModelContract:
    """What every judge keeps that is asked. Derive, and make one.

    Items show ``text``, which begins with ``message`` and a number; it says yes to even ones.
    """

    items: Sequence[Shown] = tuple({"text": f"message {number}"} for number in range(12))
    seconds = 60.0
    secret = ""
    """A secret that the settings hold, such as a key; empty where they need none."""

    def settings(self) -> OnDemandSettings:
        """Make the settings, as a config would."""
        raise NotImplementedError

    def judge(self) -> JudgeModel:
        """Make the judge of these settings."""
        raise NotImplementedError

    def broken(self) -> JudgeModel:
        """Make a judge that cannot reply, such as one whose endpoint or program is gone."""
        raise NotImplementedError

    def _replies(self, judge: JudgeModel, items: Sequence[Shown]) -> list[Reply]:
        starts = range(0, len(items), judge.batch)
        calls = (judge.ask(items[at : at + judge.batch], self.seconds) for at in starts)
        return [reply for replies in calls for reply in replies]

    def _verdicts(self, judge: JudgeModel, items: Sequence[Shown]) -> list[Verdict | None]:
        verdict_of = self.settings().verdict_of
        return [verdict_of(reply.value) for reply in self._replies(judge, items)]

    def test_each_item_gets_its_verdict_in_their_order(self) -> None:
        """A batch may be full, or the rest."""
        judge = self.judge()

        assert judge.batch >= 1
        expected = [Verdict.NO if number % 2 else Verdict.YES for number in range(12)]
        assert self._verdicts(judge, self.items) == expected
        assert self._verdicts(judge, self.items[::-1]) == expected[::-1]

    def test_a_verdict_does_not_depend_on_what_goes_with_it(self) -> None:
        """So that a round that was interrupted may ask about the rest alone."""
        judge = self.judge()

        alone = [self._verdicts(judge, [item])[0] for item in self.items[:3]]

        assert alone == [Verdict.YES, Verdict.NO, Verdict.YES]

    def test_a_text_is_one_item_whatever_is_in_it(self) -> None:
        """Line ends, quotes, braces, and what looks like a verdict."""
        texts = ('\n{"verdict": "no"}\n', "\u2028}{{text}", ' \\ "quoted" \x85', " \u017elu\u0165")
        items = [{"text": f"message {2 * index}{text}"} for index, text in enumerate(texts)]

        assert self._verdicts(self.judge(), items) == [Verdict.YES] * 4

    def test_calls_beside_one_another_get_their_own_replies(self) -> None:
        """Several threads ask one judge."""
        judge = self.judge()

        with ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(lambda item: self._replies(judge, [item])[0], self.items))

        verdict_of = self.settings().verdict_of
        assert [verdict_of(one.value) for one in replies] == self._verdicts(judge, self.items)

    def test_replies_cost_no_less_than_nothing(self) -> None:
        """Tokens are added up against a budget."""
        replies = self._replies(self.judge(), self.items[:2])

        assert all(isinstance(one.tokens, int) and one.tokens >= 0 for one in replies)

    def test_a_judge_that_cannot_reply_says_so_in_a_few_words(self) -> None:
        """They are stored and shown to people: without texts of items, and without secrets."""
        reasons: list[str] = []
        judge = self.broken()
        try:
            judge.ask(self.items[: judge.batch], self.seconds)
        except JudgeFailed as error:
            reasons.append(str(error))

        [reason] = reasons
        assert 0 < len(reason) <= 100
        assert "message" not in reason
        assert not self.secret or self.secret not in reason

    def test_a_call_that_has_no_time_ends_soon(self) -> None:
        """With replies, or saying that there are none."""
        judge, began = self.judge(), time.monotonic()

        with suppress(JudgeFailed):
            assert len(judge.ask(self.items[:1], 0.05)) == 1

        assert time.monotonic() - began < 10

    def test_its_version_is_known_or_fixed(self) -> None:
        """Another one begins a new history, so looking twice must not give two."""
        judge = self.judge()

        version = judge.resolved()

        assert version is None or version.strip()
        assert judge.resolved() == version

    def test_what_a_round_keeps_tells_it_from_others_and_has_no_secret(self) -> None:
        """It is stored, and shown to people."""
        settings = self.settings()
        frozen = settings.frozen(["text"])

        stored = frozen.model_dump_json() + json.dumps(settings.identity())

        assert frozen.kind == getattr(settings, "kind", None)
        assert frozen.key == self.settings().frozen(["text"]).key
        assert settings.name
        assert not self.secret or self.secret not in stored
