"""What a judge may do to a round: reply oddly, change, or lose its verdicts. It never fails one."""

import json
import os
from datetime import timedelta
from typing import Any

import pytest

from monitor.domain.errors import TryLater
from monitor.domain.judging import JudgeFailed, Reply
from monitor.domain.sample_settings import Cells, Sample
from monitor.domain.state import RoundState
from monitor.judges.ask import JudgeClient
from monitor.plugins.judges.command import CommandJudge, CommandJudgeSettings
from tests.plugins.judges.asking import Model, asking, asking_within, http_settings, is_positive
from tests.plugins.judges.endpoint import endpoint, said


def right(scene, text):
    return Reply("yes" if is_positive(scene, text) else "no")


def reply_of(content, tokens: Any):
    body = {"choices": [{"message": {"content": content}}], "usage": {"total_tokens": tokens}}
    return 200, {}, json.dumps(body)


@pytest.mark.parametrize(
    "reply",
    [
        said('{"verdict": 1' + "0" * 400 + "}"),
        reply_of('{"verdict": 5}', 10**30),
        reply_of('{"verdict": 5}', -1000),
        reply_of('{"verdict": 5}', 1e999),
    ],
    ids=["verdict of 400 digits", "10^30 tokens", "negative tokens", "infinite tokens"],
)
def test_a_number_out_of_all_range_stops_no_round_and_gives_no_budget_back(
    database, tmp_path, reply
):
    with endpoint(lambda *_: reply) as judge:
        scene: Any = asking(
            database, http_settings(tmp_path, judge.url, threshold=4.0, positive=None)
        )
        scene.run(1)
        spent = scene.judging()["tokens"]
        row = scene.close()

    assert len(judge.asked) == 180 // 2
    assert 0 < spent < 100_000
    assert row["alone"]["yes"] == row["alone"]["size"]


def test_a_judge_with_a_fault_of_its_own_gives_no_verdict_and_its_failures_are_not_kept(
    database, tmp_path
):
    def fails(_, text):
        message = f"of {text}"
        raise ZeroDivisionError(message)

    scene = asking_within(database, tmp_path, fails)
    scene.run(1)

    assert scene.round(1).state is RoundState.LABELING
    assert "it failed with ZeroDivisionError" in scene.judging()["why"]
    assert "item" not in scene.judging()["why"]
    assert scene.judged() == []  # a later round asks again


def test_a_class_that_is_labeled_whole_beside_one_that_is_judged_in_part_closes(database, tmp_path):
    sample = Sample(max_labels=400, cells=Cells(flagged=2, passed=4))
    scene = asking_within(database, tmp_path, right, items=60, sample=sample, count=1000)
    scene.run(1)

    assert scene.finish(1).state is RoundState.CLOSED
    rows = scene.rows("select stratum, size, labeled, judged from strata join counts using"
                      " (round_id, stratum) where size > 0")  # fmt: skip
    assert any(row["labeled"] == row["judged"] for row in rows)


def test_a_round_done_again_whose_judge_is_silent_now_is_planned_anew(database, tmp_path):
    scene = asking_within(database, tmp_path, right)
    scene.run(1)
    rows = scene.rows("select stratum, planned from strata")
    planned = {row["stratum"]: row["planned"] for row in rows}

    def silent(*_):
        message = "the connection failed"
        raise JudgeFailed(message)

    again = asking_within(database, tmp_path, silent, planned=planned)
    again.name = "again"
    again.run(1)

    drawn = again.rows(
        "select sum(planned) as n from strata where round_id = :id", id=again.round(1).id
    )
    assert drawn[0]["n"] == 200  # as without a judge, and not the few that still have a verdict
    assert "the connection failed" in again.concerns(1)["judge"]


def test_a_judge_that_is_asked_and_changes_is_noticed_by_what_it_judged(database, tmp_path):
    changed: list[bool] = []

    def reply(scene, text):
        return Reply("yes") if changed else right(scene, text)

    scene = asking_within(database, tmp_path, reply, items=100, count=3000)
    scene.run(1)
    scene.finish(1)
    for number in (2, 3):
        if number == 3:
            changed.append(True)
        scene.play(number, count=3000, share=0.15)

    assert [row for row in scene.report(2)["notices"] if row["kind"] == "judge"] == []
    [notice] = [row for row in scene.report(3)["notices"] if row["kind"] == "judge"]
    assert "of the items that it judged" in notice["sentence"]


class Versioned(Model):
    """A judge behind an alias of a registry, which answers while it is ``there``."""

    there = True

    def resolved(self):
        if not self.there:
            message = "MLflow does not tell"
            raise JudgeFailed(message, passes=True)
        return "3"


def versioned_scene(database, folder):
    scene = asking_within(database, folder, right)
    scene.judge = JudgeClient(scene.judge.settings, Versioned(scene.judge.model.reply))
    return scene


def second_round_without_registry(scene):
    scene.run(1)
    scene.finish(1)
    scene.week(2, count=1200, share=0.15)
    scene.judge.model.there = False
    with pytest.raises(
        TryLater, match=r"version is not known \(small-model\): MLflow does not tell"
    ):
        scene.run(2)
    assert scene.round(2).state is RoundState.OPEN


def test_a_registry_that_is_away_for_a_minute_holds_up_a_round_and_changes_nothing_else(
    database, tmp_path
):
    scene = versioned_scene(database, tmp_path)
    second_round_without_registry(scene)

    scene.judge.model.there = True
    scene.now += timedelta(minutes=1)
    scene.run()
    scene.finish(2)

    assert scene.round(1).history_id == scene.round(2).history_id
    assert scene.report(2)["judge"]["first_phase"] == 90
    assert "judge" not in scene.concerns(2)


def test_a_registry_that_stays_away_leaves_a_round_with_the_last_version_in_its_history(
    database, tmp_path
):
    scene = versioned_scene(database, tmp_path)
    second_round_without_registry(scene)

    scene.now += timedelta(minutes=31)
    scene.run()

    second = scene.round(2)
    assert second.state is RoundState.LABELING
    assert second.history_id == scene.round(1).history_id
    assert second.settings.judge.resolved == "3"
    told = scene.concerns(2)["judge"]
    assert "MLflow does not tell; it is taken for version 3, as in the last round" in told


@pytest.mark.parametrize("reply", [None, "yes", Reply("yes", "", None)])  # type: ignore[arg-type]
def test_what_is_no_reply_at_all_stops_no_round(database, tmp_path, reply):
    scene = asking_within(database, tmp_path, lambda *_: reply)
    scene.run(1)

    assert scene.round(1).state is RoundState.LABELING
    assert "it failed with" in scene.concerns(1)["judge"]


@pytest.mark.parametrize(
    ("key", "why"),
    [("NO_SUCH_VERSION", "it failed with KeyError"), (None, "MLflow does not tell")],
)
def test_a_first_round_whose_judge_has_no_known_version_goes_on_without_it(
    database, tmp_path, monkeypatch, key, why
):
    scene = versioned_scene(database, tmp_path)
    scene.judge.model.there = False
    if key is not None:
        monkeypatch.setattr(Versioned, "resolved", lambda _: os.environ[key])
    with pytest.raises(TryLater, match=why):
        scene.run(1)
    scene.now += timedelta(minutes=31)
    scene.run()

    assert scene.round(1).state is RoundState.LABELING
    assert f"labels are spent as without one: {why}" in scene.concerns(1)["judge"]


def test_how_much_is_asked_at_once_makes_no_other_judge_and_what_it_sees_does():
    asked = {"command": ["./judge"], "positive": "yes"}
    one, other, third = (
        CommandJudgeSettings.model_validate(asked | more)
        for more in ({}, {"batch": 7, "environment": ["HOME"]}, {"negative": "never"})
    )

    assert one.frozen(["text"]).digest == other.frozen(["text"]).digest
    assert third.frozen(["text"]).digest != one.frozen(["text"]).digest
    assert one.frozen(["text", "sender"]).digest != one.frozen(["text"]).digest


def test_a_program_that_takes_too_long_may_be_faster_the_next_time(tmp_path):
    asked = {"command": ["sleep", "60"], "positive": "yes"}
    judge = CommandJudge(CommandJudgeSettings.model_validate(asked), tmp_path)

    with pytest.raises(JudgeFailed, match="it did not end in time") as failure:
        judge.ask([{"text": "an item"}], 0.1)

    assert (failure.value.passes, failure.value.lasting) == (True, False)


def test_a_line_of_a_program_ends_at_a_line_feed_alone(tmp_path):
    line = json.dumps({"verdict": "yes", "why": "one\u2028two"}, ensure_ascii=False)
    (tmp_path / "answer.txt").write_text(f'{line}\n{{"verdict": "yes"}}\n')
    asked = {"command": ["cat", "answer.txt"], "positive": "yes"}
    judge = CommandJudge(CommandJudgeSettings.model_validate(asked), tmp_path)

    replies = judge.ask([{"text": "an item"}, {"text": "another"}], 60)

    assert [(reply.value, reply.fault) for reply in replies] == [(None, "malformed"), ("yes", "")]
