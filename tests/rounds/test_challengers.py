"""A challenger on the sample of each round: compared, kept apart, and no matter for labelers."""

import numpy as np
import pytest

from monitor.domain.challenger import Challenger, ChallengerRow
from monitor.domain.model import Answer
from monitor.domain.sample_settings import Cells, Sample
from monitor.domain.state import RoundState
from monitor.presentation.parts.challenger import challenger_lines
from monitor.testing import MemorySource
from tests.rounds.scene import THRESHOLD, Scene, settings

V8 = Challenger(name="v8", predicted="v8")
CELLS = Sample(max_labels=200, cells=Cells(flagged=5, passed=8))


def challenged(database, *, challenger=V8, column="v8", **changes):
    source = MemorySource([], threshold=THRESHOLD, show=["text"], challenger=column)
    return Scene(database, settings(challenger=challenger, **changes), source)


def decide(scene, decision, column="v8"):
    """Let the challenger decide on every row that is there."""
    rng = np.random.default_rng(5)
    for row in scene.source.rows:
        if column not in row:
            row[column] = decision(row, scene.truth[row["id"]] is Answer.POSITIVE, rng)


def better(row, is_positive, rng):
    """Flags nine of ten positives and one in a hundred others."""
    return bool(rng.random() < (0.9 if is_positive else 0.01))


def play(scene, number, decision=better, **changes):
    scene.week(number, **changes)
    decide(scene, decision)
    scene.run(number)
    scene.finish(number)
    assert scene.round(number).state is RoundState.CLOSED
    return row_of(scene, number)


def row_of(scene, number):
    payload = scene.report(number)["challenger"]
    return None if payload is None else ChallengerRow.model_validate(payload)


def test_a_round_compares_on_its_own_labels(database):
    scene = challenged(database, sample=CELLS)

    row = play(scene, 1, count=4000)

    week = scene.source.rows
    assert row.name == "v8"
    assert row.pooled is None
    assert row.alone.flagged == sum(each["v8"] for each in week)
    recall = row.alone.metric("recall")
    true = {
        of: np.mean([flags(r) for r in week if scene.truth[r["id"]] is Answer.POSITIVE])
        for of, flags in (("own", lambda r: r["score"] >= THRESHOLD), ("v8", lambda r: r["v8"]))
    }
    assert recall.difference[1] <= true["v8"] - true["own"] <= recall.difference[2]
    assert recall.difference[0] == pytest.approx(
        recall.challenger[0] - recall.champion[0], abs=1e-5
    )
    assert recall.difference[2] - recall.difference[1] < 0.5
    assert recall.higher > 0.99


def test_rounds_of_one_challenger_count_together_and_neither_labelers_nor_hooks_are_told(database):
    scene = challenged(database, sample=CELLS)
    first = play(scene, 1)
    scene.settings = settings(sample=CELLS, challenger=Challenger(name="v9", predicted="v8"))
    other = play(scene, 2)
    scene.settings = settings(sample=CELLS, challenger=V8)
    last = play(scene, 3)

    assert first.pooled is None
    assert (other.name, other.pooled) == ("v9", None)
    assert last.pooled.rounds == 2
    assert last.pooled.size == 4000
    assert last.pooled.labeled == 2 * last.alone.labeled == 400
    widths = [
        row.metric("recall").difference[2] - row.metric("recall").difference[1]
        for row in (last.alone, last.pooled)
    ]
    assert widths[1] < 0.9 * widths[0]
    assert scene.tasks
    assert all(set(task.shown) == {"text"} for task in scene.tasks)
    shown = scene.rows("select shown from payloads")
    assert not any("v8" in str(row["shown"]) for row in shown)
    report = scene.report(3)
    assert (report["notices"], report["status"]) == ([], "learning")
    assert scene.rows("select * from concerns") == []


def test_missing_answers_are_told_with_the_comparison(database):
    scene = challenged(database)

    def unsure(row, is_positive, rng):
        if rng.random() < 0.1:
            scene.truth[row["id"]] = Answer.CANNOT_TELL
        return better(row, is_positive, rng)

    first, second = (play(scene, number, unsure) for number in (1, 2))

    assert 0 < first.alone.unlabeled == 200 - first.alone.labeled
    assert second.pooled.unlabeled == first.alone.unlabeled + second.alone.unlabeled
    said = f"{second.pooled.unlabeled} answers of 2 rounds are missing: these intervals assume"
    assert any(line.startswith(said) for line in challenger_lines(second))


def test_late_labels_compare_again_also_in_the_rounds_after(database):
    """Also where two answers change places, and only the challenger decided otherwise on them."""
    scene = challenged(database)
    play(scene, 1)
    second = play(scene, 2)
    answers = scene.labeler.answers
    of_first = {row["id"] for row in scene.rows("select id from items where round_id = 1")}
    rows = {
        row["id"]: row
        for row in scene.source.rows
        if row["score"] < THRESHOLD and row["id"] in of_first
    }
    one, two = (
        next(i for i, row in rows.items() if row["v8"] is flags and answers[i] is answer)
        for flags, answer in ((True, Answer.POSITIVE), (False, Answer.NEGATIVE))
    )
    answers[one], answers[two] = answers[two], answers[one]

    scene.run()
    scene.run()

    assert scene.round(1).version == 2
    assert scene.round(2).version == 2
    corrected = row_of(scene, 2)
    assert corrected.alone == second.alone
    assert corrected.pooled != second.pooled
    assert corrected.pooled.positive == second.pooled.positive
    old = "select count(*) n from round_parts where name = 'challenger' and version = 1"
    assert scene.rows(old)[0]["n"] > 0


def test_a_missing_decision_counts_as_not_flagged_and_is_told(database):
    scene = challenged(database)

    row = play(scene, 1, lambda r, up, rng: None if rng.random() < 0.005 else better(r, up, rng))

    missing = sum(each["v8"] is None for each in scene.source.rows)
    assert row.undecided == missing > 0
    assert row.alone.flagged == sum(bool(each["v8"]) for each in scene.source.rows)
    [note] = scene.rows("select reason from round_issues where reason like 'challenger%'")
    assert f"made no decision on {missing} items" in note["reason"]


def test_too_many_missing_decisions_are_no_comparison_and_the_round_goes_on(database):
    scene = challenged(database)

    row = play(scene, 1, lambda r, up, rng: None if rng.random() < 0.05 else better(r, up, rng))

    assert row.comparisons == ()
    assert "it made no decision on" in row.reason
    assert scene.report(1)["estimates"]
    [concern] = scene.rows("select kind, sentence from concerns")
    assert concern["kind"] == "challenger"
    assert concern["sentence"].startswith("challenger v8 is not compared")


def test_a_source_without_decisions_is_told_and_the_round_goes_on(database):
    scene = challenged(database, column=None)

    row = play(scene, 1)

    assert row.reason == "its decisions could not be read when the round was drawn"
    [concern] = scene.rows("select sentence from concerns")
    assert "its source has no decisions of challengers" in concern["sentence"]


def test_a_challenger_that_decides_alike_has_a_difference_of_exactly_0_and_is_told(database):
    scene = challenged(database)

    row = play(scene, 1, lambda row, *_: row["score"] >= THRESHOLD)

    assert row.alone.metric("recall").difference == (0, 0, 0)
    assert row.alone.metric("precision").difference == (0, 0, 0)
    [note] = scene.rows("select reason from round_issues where reason like 'challenger%'")
    assert "flags the same items as the classifier, all 2,000 alike" in note["reason"]


@pytest.mark.parametrize("flags", [False, True], ids=["nothing", "everything"])
def test_a_challenger_that_flags_nothing_or_everything_is_told(database, flags):
    scene = challenged(database)

    row = play(scene, 1, lambda *_: flags)

    what = "everything" if flags else "nothing"
    [note] = scene.rows("select reason from round_issues where reason like 'challenger%'")
    assert f"flags {what} of 2,000 items" in note["reason"]
    precision, recall, _ = row.alone.metrics
    assert recall.challenger == ((1, 1, 1) if flags else (0, 0, 0))
    if not flags:
        assert precision.difference is None
        assert precision.reason == "nothing was predicted positive (TP + FP = 0)"
