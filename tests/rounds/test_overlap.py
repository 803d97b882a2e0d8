"""Second copies of items: who gets them, what they wait for, and what they say."""

import math
from datetime import timedelta

import pytest

from monitor.domain.model import Answer, Collected, LabelEvent
from monitor.presentation.parts.agreement import AgreementRow, agreement_sentence
from monitor.rounds.labels.endpoints import without_same_person
from monitor.rounds.parts.agreement import agreement_row, disagreement_notices
from monitor.storage.labels import overlap_store
from monitor.storage.labels.round_labels import SeveralAnswers
from monitor.storage.samples.frame_store import StratumTally
from tests.rounds.played import played
from tests.rounds.scene import Scene, settings
from tests.storage.rows import STRATA

YES, NO = Answer.POSITIVE, Answer.NEGATIVE


@played
def scene(database):
    """A round that is out."""
    scene = Scene(database, settings(overlap=0.25, adjudicator="eve"))
    scene.draw(1)
    return scene


def tasks_of(scene, slot):
    return sorted((t for t in scene.tasks if t.slot == slot), key=lambda task: task.key)


def answer_second(scene, *, wrong=0):
    """Let another person answer all second copies, the first ``wrong`` of them differently."""
    for place, task in enumerate(tasks_of(scene, 2)):
        truth = scene.truth[task.item_id]
        other = NO if truth is YES else YES
        scene.labeler.second_answers[task.item_id] = other if place < wrong else truth


def agreement_of(scene, found):
    return AgreementRow.model_validate(scene.report(found.number, found.version)["agreement"])


def copies_of(scene, found):
    return scene.read(overlap_store.read_copies, found.id)


def test_the_first_quarter_of_each_stratum_by_draw_goes_to_a_second_person_blind_to_the_first(
    scene,
):
    found = scene.round(1)

    rows = scene.rows(
        'select i.stratum, i."order", max(t.slot) as copies from items i join tasks t '
        "on t.round_id = i.round_id and t.item_id = i.id where i.round_id = :id "
        'group by i.stratum, i."order"',
        id=found.id,
    )
    for stratum in ("flagged", "passed"):
        mine = {row["order"]: row["copies"] for row in rows if row["stratum"] == stratum}
        twice = sorted(order for order, copies in mine.items() if copies == 2)
        assert twice == list(range(math.ceil(len(mine) / 4)))
    first, second = tasks_of(scene, 1), tasks_of(scene, 2)
    assert not {task.key for task in first} & {task.key for task in second}
    assert {task.item_id for task in second} < {task.item_id for task in first}
    shown = {task.item_id: task.shown for task in first}
    assert all(task.shown == shown[task.item_id] for task in second)


def test_at_the_deadline_it_closes_without_them_says_so_and_one_that_comes_late_makes_a_version(
    scene,
):
    scene.answer()
    answer_second(scene)
    [late, *_] = tasks_of(scene, 2)
    said = scene.labeler.second_answers.pop(late.item_id)
    scene.run(later=timedelta(days=5))

    wanted = len(tasks_of(scene, 2))
    assert scene.reasons(1)[-1] == (
        f"the deadline passed with 200 of 200 answers and {wanted - 1} of {wanted} second copies"
    )
    first = scene.round(1)
    assert not first.partial

    scene.labeler.second_answers[late.item_id] = said
    scene.run()

    again = scene.round(1)
    assert again.version == 2
    assert agreement_of(scene, again).items == agreement_of(scene, first).items + 1


def test_of_one_batch_only_a_persons_answer_to_the_second_copy_is_refused(scene):
    first, second = tasks_of(scene, 1), tasks_of(scene, 2)
    mate = next(task for task in first if task.item_id == second[0].item_id)
    events = (
        LabelEvent(second[0].key, "ada", YES),
        LabelEvent(mate.key, "ada", YES),
        LabelEvent(mate.key, "bob", YES),
    )

    collected = without_same_person(scene.context, Collected(events=events, cursor="c"))

    assert collected.events == events[1:]
    assert [refusal.where for refusal in collected.refused] == [f"task {second[0].key}"]
    assert collected.cursor == "c"


def several(pairs):
    names = ("ada", "bob", "eve")
    return [
        SeveralAnswers(
            f"i{place}", stratum, dict(zip(names, map(Answer, map(str, answers)), strict=False))
        )
        for place, (stratum, answers) in enumerate(pairs)
    ]


PLANNED = [StratumTally(s, size, 9) for s, size in zip(STRATA, (100, 900), strict=True)]


def row_of(answers):
    return agreement_row(answers, PLANNED, seed=1)


def test_three_people_are_compared_by_fleiss_and_weighed_by_stratum():
    pairs = [
        ("flagged", (1, 1)),
        ("flagged", (1, 0)),
        ("passed", (0, 0, 0)),
        ("passed", (0, 0)),
    ] * 5

    found = row_of(several(pairs))

    assert (found.items, found.disagreed, found.annotators) == (20, 5, 3)
    assert found.kappa == pytest.approx(1 - 0.25 / (1 - (15**2 + 25**2) / 40**2))
    assert found.disagreement == pytest.approx(0.1 * 5 / 10 + 0.9 * 0 / 10, abs=0.03)


def test_few_items_or_good_agreement_are_no_notice():
    differ, alike = ("flagged", (1, 0)), [("flagged", (1, 1)), ("passed", (0, 0))]
    few = row_of(several([differ] * 9))
    many = row_of(several([differ] * 10))
    good = row_of(several(alike * 10))
    same = row_of(several([("passed", (0, 0))] * 12))

    assert [len(disagreement_notices(each)) for each in (few, many, good, same, None)] == [
        0, 1, 0, 0, 0,
    ]  # fmt: skip
    assert agreement_sentence(same).endswith("no kappa or alpha, since all answers are the same")
    assert agreement_sentence(good).startswith(
        "2 people, 20 items with two answers, 0 of them contradicting; "
    )
