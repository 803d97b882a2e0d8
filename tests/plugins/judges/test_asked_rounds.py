"""A round asks its judge about a sample of each score cell, and goes on whatever comes of it."""

import json
import threading
from typing import Any

import pytest

from monitor.domain.judge import OnDemandJudge
from monitor.domain.state import RoundState
from monitor.rounds.opening.due import redo_abandoned
from tests.plugins.judges.asking import asking, http_settings, is_positive
from tests.plugins.judges.endpoint import endpoint, said, verdict

CELLS = 6
ITEMS = 30


def test_strata_are_cut_by_the_verdicts_of_a_sample_and_their_sizes_add_up(database, tmp_path):
    with endpoint(lambda text, _: verdict("yes" if is_positive(scene, text) else "no")) as judge:
        scene: Any = asking(database, http_settings(tmp_path, judge.url))
        scene.run(1)
        row = scene.close()

    strata = scene.rows("select * from strata order by position")
    assert sum(one["size"] for one in strata) == 1200
    cells = {(one["flagged"], one["low"], one["high"]) for one in strata}
    assert len(cells) == CELLS // 2  # a judge cuts scores half as finely
    for cell in cells:
        of = [one for one in strata if (one["flagged"], one["low"], one["high"]) == cell]
        assert {one["verdict"] for one in of} == {"no", "yes", "missing"}
        assert sum(one["judged"] for one in of) == ITEMS
        size = sum(one["size"] for one in of)
        for one in of:
            assert abs(one["size"] - size * one["judged"] / ITEMS) < 1
            assert one["planned"] <= one["judged"]
    judged = {one["item_id"]: one["verdict"] for one in scene.judged()}
    assert len(judged) == len(judge.asked) == ITEMS * len(cells)
    drawn = scene.rows("select id, stratum from items")
    assert drawn
    assert all(f"-{judged[one['id']]}" in one["stratum"] for one in drawn)
    assert (row["first_phase"], row["calls"], row["tokens"]) == (90, 90, 4500)
    assert row["why"] is None
    assert row["alone"]["tpr"] is not None
    assert judge.keys == {"Bearer sk-secret-key"}


def garbled(text, number):
    return [
        (200, {}, '{"choices": [{"mess'),
        said("Ano, je to podvod."),
        said('{"verdict": "maybe"}'),
        said('{"verdict": "yes", "verdict": "no"}'),
        said('I think {"verdict": "yes"}'),
        said(""),
        said(None, message={"content": None, "refusal": "I cannot help with that"}),
        said(None, finish_reason="content_filter"),
        (400, {}, '{"error": {"code": "content_filter"}}'),
        (413, {}, "too long"),
        (200, {"content-length": "5000"}, '{"choices": ['),
        verdict("yes"),
        verdict("no"),
    ][number % 13]


def test_a_reply_that_is_not_exactly_a_verdict_is_none_and_the_round_closes(database, tmp_path):
    with endpoint(garbled) as judge:
        scene: Any = asking(database, http_settings(tmp_path, judge.url, timeout="1s"))
        scene.run(1)
        row = scene.close()

    faults = {one["fault"] for one in scene.judged()}
    assert faults >= {
        None,
        "malformed",
        "empty",
        "refused",
        "refused by a content filter",
        "it answered 413",
    }
    told = scene.concerns(1)["judge"]
    assert "malformed" in told
    assert "of the 90 items that it was to judge" in told
    assert "people label these as without a judge" in told
    assert row["why"] in told
    assert scene.report(1)["status"] == "attention"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((401, {}, "bad key sk-secret-key"), "it answered 401"),
        ((500, {}, "item 7 broke me"), "it answered 500"),
        ((302, {"location": "http://127.0.0.1:1/"}, ""), "it answered 302"),
        ((200, {"delay": "2"}, ""), "it did not answer in time"),
        (said("I am sorry"), "malformed"),
    ],
    ids=["key", "broken", "redirect", "hangs", "talks"],
)
def test_a_judge_that_never_gives_a_verdict_is_soon_left_alone(
    database, tmp_path, answer, reason, capfd
):
    with endpoint(lambda *_: (answer[0], dict(answer[1]), answer[2])) as judge:
        scene: Any = asking(database, http_settings(tmp_path, judge.url, timeout="1s"))
        scene.run(1)

        assert scene.round(1).state is RoundState.LABELING
        assert len(judge.asked) < 70
    told = scene.concerns(1)["judge"]
    assert "labels are spent as without one" in told
    assert reason in told
    assert {one["judged"] for one in scene.rows("select judged from strata")} == {None}
    scene.close()
    written = json.dumps([scene.reports(), scene.notices(), *scene.concerns(1).values()])
    seen = written + "".join(capfd.readouterr()) + str(scene.judging())
    for secret in ("sk-secret-key", "item 7", "Is this fraud"):
        assert secret not in seen


def test_a_thread_asks_over_one_connection_and_opens_another_where_that_was_closed(
    database, tmp_path
):
    def closes(_, number):
        status, headers, body = verdict("no")
        return status, headers | ({"connection": "close"} if number % 45 == 0 else {}), body

    with endpoint(closes, "HTTP/1.1") as judge:
        scene: Any = asking(database, http_settings(tmp_path, judge.url))
        scene.run(1)

    assert len(judge.asked) == 90
    assert {one["fault"] for one in scene.judged()} == {None}
    assert len(judge.peers) <= 6 * 4 + 2  # of six groups with four threads each
    assert all(thread.name != "judge" for thread in threading.enumerate())


def test_a_judge_that_is_busy_is_asked_again_when_it_said(database, tmp_path):
    def busy(text, number):
        if number <= 4:
            return 429, {"retry-after": "1"}, ""
        return verdict("no")

    with endpoint(busy) as judge:
        scene: Any = asking(database, http_settings(tmp_path, judge.url))
        scene.run(1)

    assert {one["fault"] for one in scene.judged()} == {None}
    assert scene.judging()["calls"] == len(judge.asked) == 94
    assert scene.judging()["seconds"] >= 1


@pytest.mark.parametrize(
    ("budget", "calls", "reason"),
    [
        ({"calls": 40}, 40, "its budget of calls is spent"),
        ({"tokens": 1000}, 24, "its budget of tokens is spent"),
    ],
    ids=["calls", "tokens"],
)
def test_a_spent_budget_leaves_the_rest_to_people_in_all_cells_alike(
    database, tmp_path, budget, calls, reason
):
    with endpoint(lambda *_: verdict("no")) as judge:
        scene: Any = asking(database, http_settings(tmp_path, judge.url, budget=budget))
        scene.run(1)
        row = scene.close()

    assert len(judge.asked) <= calls
    assert f"not asked about; {reason}" in row["why"]
    assert reason in scene.concerns(1)["judge"]
    missing = scene.rows("select judged from strata where verdict = 'missing'")
    counts = [one["judged"] for one in missing]
    assert max(counts) - min(counts) <= 1


def test_a_slow_judge_is_waited_for_no_longer_than_the_config_says(database, tmp_path):
    def slow(*_):
        status, headers, body = verdict("no")
        return status, headers | {"delay": "0.4"}, body

    with endpoint(slow) as judge:
        scene: Any = asking(database, http_settings(tmp_path, judge.url, within="2s"))
        scene.run(1)

    assert 4 <= len(judge.asked) <= 28
    assert scene.judging()["seconds"] < 4
    assert "its time was over" in scene.concerns(1)["judge"]


def do_again(scene):
    scene.execute("update rounds set state = 'abandoned'")
    redo_abandoned(scene.context, scene.round(1).slot, scene.settings, "again")
    scene.run()


def test_what_is_stored_is_not_asked_again_when_the_round_is_done_again(database, tmp_path):
    with endpoint(lambda *_: verdict("no")) as judge:
        scene: Any = asking(database, http_settings(tmp_path, judge.url))
        scene.run(1)
        asked = len(judge.asked)
        do_again(scene)

    assert asked == len(judge.asked) == 90
    assert scene.round(1).state is RoundState.LABELING
    assert scene.rows("select count(*) as n from strata where judged > 0")[0]["n"] > 0


def test_an_item_is_judged_anew_where_its_text_was_corrected(database, tmp_path):
    with endpoint(lambda text, _: verdict("yes" if "corrected" in text else "no")) as judge:
        scene: Any = asking(database, http_settings(tmp_path, judge.url))
        scene.run(1)
        judged = {one["item_id"] for one in scene.judged()}
        changed = set(sorted(judged)[:20])
        for row in scene.source.rows:
            row["text"] += " corrected" * (row["id"] in changed)
            row["sender"] = "not shown"
        do_again(scene)

    assert len(judge.asked) == 90 + 20
    assert all("corrected" in text for text in judge.asked[90:])
    strata = scene.rows("select verdict, judged from strata")
    assert sum(one["judged"] for one in strata if one["verdict"] == "yes") == 20
    kept = [one for one in scene.judged() if one["verdict"] == "no"]
    assert {one["item_id"] for one in kept} == judged  # what was said before, of the text then


def test_another_prompt_is_another_judge(tmp_path):
    asked = [
        http_settings(tmp_path, "http://127.0.0.1:1/v1", **changes).frozen()
        for changes in ({}, {"model": "large-model"}, {"threshold": 4.0, "positive": None})
    ]
    other = http_settings(tmp_path, "http://127.0.0.1:1/v1", "Is it spam? {text}").frozen()
    same = http_settings(tmp_path, "https://elsewhere.example/v1", retries=5, items=7).frozen()

    assert len({one.key for one in (*asked, other)}) == 4
    assert same.key == asked[0].key
    assert isinstance(same, OnDemandJudge)
    assert "sk-secret" not in same.model_dump_json()
