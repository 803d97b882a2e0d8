"""Items that come back: evidence counts each once, estimates count them all."""

from datetime import timedelta

import pytest

from monitor.domain.model import Answer
from monitor.presentation.round_document import page_sections
from monitor.rounds.round_page import read_page
from monitor.stats.core.counts import Counts
from monitor.stats.detection.alternatives import guess
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.random_shares import log_e_path_of_shares
from monitor.storage.labels.round_labels import read_recurring
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, MONDAY, WEEK, Scene, settings, week_of_rows

PRECISION = Limit("precision", 0.7, "at_least")


@played
def scene(database):
    """Two closed rounds, half of whose items are in both."""
    scene = Scene(database, settings(limits=LIMITS, labels=300))
    play(scene, 1, first=0)
    play(scene, 2, first=200)
    return scene


def week(scene, number, *, first, count=400, **changes):
    """Add a week of items with the numbers from `first` on, whose truth never changes."""
    rows, truth = week_of_rows(MONDAY, count=count, share=0.3, seed=7, **changes)
    for i, row in enumerate(rows):
        start = MONDAY + (number - 2) * WEEK
        scene.source.rows.append(row | {"id": f"i{first + i:05}", "time": start + i * WEEK / count})
    scene.truth |= {f"i{first + i:05}": truth[row["id"]] for i, row in enumerate(rows)}


def play(scene, number, **of_week):
    week(scene, number, **of_week)
    scene.run(number)
    scene.finish(number)
    assert scene.round(number).state == "closed"


def recurring(scene, *numbers):
    rounds = [scene.round(number) for number in numbers]
    found = scene.read(read_recurring, rounds)
    return [found[round_.id] for round_ in rounds]


def items(scene, number):
    return scene.labels(number).items


def counted(scene, number, left_out):
    """What people said about the items of a round but those left out, stratum by stratum."""
    labels = scene.labels(number)
    rows = [
        (part.size, [i.id for i in labels.items if i.stratum == part.stratum.name])
        for part in labels.strata
    ]
    fresh = [[each for each in ids if each not in left_out] for _, ids in rows]
    return Counts.of_arrays(
        size=[size for size, _ in rows],
        labeled=[len(ids) for ids in fresh],
        positive=[sum(labels.current[i] is Answer.POSITIVE for i in ids) for ids in fresh],
        is_flagged=[part.stratum.flagged for part in labels.strata],
    )


def log_e(scene, number):
    """Log e of the newest version of a round against the limit on precision."""
    [*_, row] = scene.rows(
        "select log_e from evidence where round_id = :id and metric = 'precision' order by version",
        id=scene.round(number).id,
    )
    return row["log_e"]


def test_evidence_leaves_out_the_items_that_a_closed_round_asked_about_also_when_corrected(scene):
    asked = {item.id for item in items(scene, 1)}
    both = asked & {item.id for item in items(scene, 2)}
    expected = fresh_evidence(scene, both)
    before = log_e(scene, 2)
    assert recurring(scene, 1, 2) == [frozenset(), both]
    assert both
    assert expected.any()
    assert before == pytest.approx(expected.tolist())
    [labeled] = scene.rows(
        "select sum(labeled) as n from counts where round_id = :id", id=scene.round(2).id
    )
    assert labeled["n"] == len(items(scene, 2))  # the estimate has them all

    for item in items(scene, 2):
        scene.truth[item.id] = Answer.NEGATIVE
    scene.now += timedelta(days=1)
    scene.label()

    assert scene.round(2).version > 1
    assert log_e(scene, 2) == pytest.approx(fresh_evidence(scene, both).tolist()) != before


def fresh_evidence(scene, left_out):
    fresh = counted(scene, 2, left_out)
    earlier = [counted(scene, 1, left_out=())]
    return log_e_path_of_shares(PRECISION, [fresh], guess(earlier), None, earlier)[-1]


def test_of_two_open_rounds_the_one_that_closes_first_counts_an_item(database):
    asked = settings(limits=LIMITS, labels=300, deadline=timedelta(days=30))
    scene = Scene(database, asked)
    for number, first in ((1, 0), (2, 200)):
        week(scene, number, first=first)
        scene.run(number)
    of_second = {item.id for item in items(scene, 2)}
    both = {item.id for item in items(scene, 1)} & of_second
    assert both
    assert recurring(scene, 1, 2) == [frozenset(), frozenset()]

    while scene.round(2).state == "labeling":  # round 1 has answers to what both ask
        answered = {item.id for item in items(scene, 2)}
        scene.labeler.answers |= {item: scene.truth[item] for item in answered}
        scene.run()

    assert scene.round(1).state == "labeling"
    assert recurring(scene, 1)[0] >= both
    scene.now += timedelta(minutes=1)
    while scene.round(1).state == "labeling":
        scene.label()
    assert recurring(scene, 2) == [frozenset()]
    assert recurring(scene, 1)[0] >= both


def test_where_all_items_come_back_nothing_fires_and_people_are_told_why(database):
    """Also where another version of the model flags them."""
    scene = Scene(database, settings(limits=LIMITS, labels=400))
    play(scene, 1, first=0, count=300, precision=0.85, version="1")
    for number in (2, 3, 4):
        week(scene, number, first=0, count=300, version="2")
        scene.truth = dict.fromkeys(scene.truth, Answer.NEGATIVE)  # precision falls to .1
        scene.truth |= {f"i{i:05}": Answer.POSITIVE for i in range(0, 300, 9)}
        scene.run(number)
        scene.label()

    drawn = len(items(scene, 4))
    assert scene.round(1).history_id != scene.round(2).history_id
    page = scene.read(read_page, scene.name, 4, None)
    [evidence] = [one for one in page_sections(page) if one.title == "Evidence"]
    assert [len(each) for each in recurring(scene, 2, 3, 4)] == [drawn] * 3
    assert [log_e(scene, number) for number in (2, 3, 4)] == [[0.0] * 3] * 3
    assert scene.rows("select id from alerts") == []
    assert evidence.lines[-1] == (
        f"evidence counts an item once: earlier rounds asked about {drawn} of the {drawn} items, "
        "and 0 count"
    )


def test_another_monitor_or_an_abandoned_round_takes_no_item_away(database):
    mail, chat = (Scene(database, settings(limits=LIMITS), name=name) for name in ("mail", "chat"))
    play(mail, 1, first=0)
    week(chat, 1, first=0)
    chat.run(1)
    chat.run(later=timedelta(days=6))
    assert chat.round(1).state == "abandoned"

    play(chat, 2, first=0)

    assert recurring(chat, 2) == [frozenset()]
