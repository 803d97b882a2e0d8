"""A fifth of the labels goes to the segment that looks worst by the rounds before."""

from dataclasses import replace

from monitor.domain.model import Answer
from monitor.domain.sample_settings import Bands, Sample
from monitor.domain.state import RoundState
from monitor.presentation.round_document import SectionKind, round_sections
from monitor.rounds.estimation.segments import round_evidence
from monitor.rounds.restore import _as_planned
from monitor.rounds.sampling.round_sample import explore
from monitor.rounds.sampling.window_scan import scan_window
from monitor.storage.labels.round_labels import read_labels, read_recurring
from monitor.storage.results import estimate_store, segment_store
from monitor.storage.rounds import round_transitions
from monitor.storage.samples import frame_store
from tests.rounds.played import played
from tests.rounds.scene import THRESHOLD, segmented

SAMPLE = Sample(max_labels=300, bands=Bands(flagged=1, passed=1), segments="explore")


def drawn(scene, number, *, rare=5):
    """Predictions of a week in which most flagged items of SK are wrong, and their round."""
    scene.week(number, share=0.4)
    for place, row in enumerate(scene.source.rows):
        row["country"] = "SK" if place % rare == 0 else ("CZ", "DE", "AT", "PL")[place % 4]
        row["client"] = f"client {place // 7 % 2}"
        if row["country"] == "SK" and row["score"] >= THRESHOLD and place % 4:
            scene.truth[row["id"]] = Answer.NEGATIVE
    scene.run(number)
    return scene.round(number)


@played
def scene(database):
    scene = segmented(database, sample=SAMPLE)
    drawn(scene, 1)
    scene.label()
    drawn(scene, 2)
    return scene


def beside(scene, number):
    query = "select id from items where round_id = :id and explored order by id"
    return [row["id"] for row in scene.rows(query, id=scene.round(number).id)]


def sample_of(scene, number):
    query = "select id from items where round_id = :id and not explored order by id"
    return [row["id"] for row in scene.rows(query, id=scene.round(number).id)]


def notes(scene, number):
    issues = scene.read(frame_store.read_issues, scene.round(number).id)
    return [note for note in issues if "country SK" in note]


def country_of(scene):
    return {row["id"]: row["country"] for row in scene.source.rows}


def test_from_the_second_round_on_a_fifth_of_the_labels_is_of_the_worst_segment(scene):
    assert beside(scene, 1) == []
    assert len(scene.items(1)) == 240
    assert len(beside(scene, 2)) == 60
    assert len(scene.items(2)) == 300
    assert {country_of(scene)[item] for item in beside(scene, 2)} == {"SK"}
    explored = scene.round(2).settings.explored
    assert (explored.column, explored.value) == ("country", "SK")
    [progress] = [row for row in scene.rows("select * from waiting_rounds") if row["round"] == 2]
    assert progress["wanted"] == 300


def test_a_round_waits_for_the_explored_items_and_counts_them_for_their_segment_alone(scene):
    scene.labeler.answers |= {item: scene.truth[item] for item in sample_of(scene, 2)}
    scene.run()
    assert scene.round(2).state is RoundState.LABELING

    scene.label()

    assert scene.round(2).state is RoundState.CLOSED
    report = scene.round_report(2)
    assert sum(row.planned for row in report.strata) == 240
    assert sum(row.labeled for row in report.strata) == 240
    of_sample = set(sample_of(scene, 2))
    rows = {row.value: row for row in report.segments if row.metric == "precision"}
    for value, count in (("SK", 60), ("CZ", 0)):
        own = [item for item in of_sample if country_of(scene)[item] == value]
        assert rows[value].labeled == len(own) + count
    clients = [row.labeled for name, row in rows.items() if name.startswith("client")]
    assert sum(clients) == 240
    assert report.segment_search is not None
    assert report.segment_search.worse[0].segment == {"country": "SK"}
    [section] = [s for s in round_sections(report) if s.kind is SectionKind.SEGMENTS]
    assert [section.lines[-1], notes(scene, 2)[-1]] == [
        "60 more items are of country SK, which looks worst by the rounds before: they count for "
        "this segment alone"
    ] * 2


def test_estimates_are_those_of_the_sample_whatever_people_say_of_explored_items(scene):
    scene.label()
    before = scene.read(estimate_store.read_counts, [scene.round(2).id])

    scene.turn(*beside(scene, 2))
    scene.run()

    assert scene.read(estimate_store.read_counts, [scene.round(2).id]) == before
    assert scene.round(2).version == 2  # the row of the segment is another


def test_other_names_are_compared_by_the_sample_alone(scene):
    scene.label()
    round_ = scene.round(2)
    labels = scene.read(read_labels, round_)
    assert labels.explored is not None
    ours = round_evidence(round_, labels)
    alone = round_evidence(round_, replace(labels, explored=None))

    assert ours.keys() == alone.keys()
    for name in alone:
        if ("country", "SK") in name:
            assert sum(of[0] for of in ours[name].sums) > sum(of[0] for of in alone[name].sums)
        else:
            assert ours[name] == alone[name]
    of_value = [item for item in scene.items(2) if country_of(scene)[item] == "SK"]
    assert sum(of[0] for of in ours[("country", "SK"),].sums) == len(of_value)
    [stored] = scene.read(segment_store.read_evidence, [round_.id]).values()
    assert {name: of.sums for name, of in stored.items()} == {
        name: of.sums for name, of in ours.items()
    }


def test_a_round_that_is_done_again_by_its_report_explores_the_same_items(scene):
    before, explored = (scene.items(2), beside(scene, 2)), scene.round(2).settings.explored
    scene.now += scene.settings.deadline
    scene.run()
    assert scene.round(2).state is RoundState.ABANDONED
    report = scene.reports()[-1]
    assert report["round"] == 2
    wrong = [item for item in scene.items(1) if country_of(scene)[item] == "SK"]
    scene.labeler.answers |= dict.fromkeys(wrong, Answer.POSITIVE)  # now DE may look worst

    scene.write(
        round_transitions.reopen_abandoned,
        scene.round(2),
        settings=_as_planned(scene.settings, report),
        now=scene.now,
        reason="restored",
    )
    scene.run()

    assert scene.round(2).state is RoundState.LABELING
    assert scene.round(2).settings.explored == explored
    assert (scene.items(2), beside(scene, 2)) == before


def test_a_round_that_explored_nothing_explores_nothing_when_it_is_done_again(scene):
    scene.label()
    planned = _as_planned(scene.settings, scene.report(1))

    assert (planned.explored, sum((planned.planned or {}).values())) == (None, 240)


def test_score_cells_explore_too_once_the_two_waves_of_the_first_round_are_over(database):
    scene = segmented(database, sample=Sample(max_labels=300, segments="explore"))
    drawn(scene, 1)
    assert scene.finish(1).state is RoundState.CLOSED
    drawn(scene, 2)

    assert (len(scene.items(1)), len(scene.items(2))) == (240, 300)
    assert (len(beside(scene, 1)), len(beside(scene, 2))) == (0, 60)
    explored = scene.round(2).settings.explored
    assert scene.finish(2).state is RoundState.CLOSED
    assert sum(row["planned"] for row in scene.report(2)["cells"]) == 240
    assert sum(explored.items.values()) == 60


def test_strata_without_a_sample_as_of_counted_classes_are_not_explored(scene):
    round_ = scene.round(2)
    scan = scan_window(scene.context, round_)

    sizes = [0 if not part.stratum.flagged else 100 for part in scan.frame.strata]
    explored, items = explore(scene.context, round_, scan, sizes, is_repeated=False)

    assert explored.explored is not None
    assert explored.explored.items == {"flagged": 25}
    assert {item.stratum for item in items} == {"flagged"}


def test_a_rare_value_is_explored_as_far_as_it_goes_and_the_round_says_so(database):
    scene = segmented(database, sample=SAMPLE)
    drawn(scene, 1)
    scene.label()
    drawn(scene, 2, rare=50)

    found = len(beside(scene, 2))

    assert 0 < found < 60
    note = notes(scene, 2)[-1]
    assert note.startswith(f"{found} more items of the 60 planned are of")
    assert note.endswith("; no more of it were in line to be drawn")


def test_explored_items_that_come_back_count_once_for_segments_and_as_any_other_for_limits(scene):
    scene.label()
    back = beside(scene, 2)
    start = scene.now
    by_id = {row["id"]: row for row in scene.source.rows}
    scene.source.rows += [by_id[item] | {"time": start} for item in back]
    drawn(scene, 3)
    round_ = scene.round(3)
    returned = {*scene.items(3)} & {*back}

    of_sample, explored = (
        scene.read(read_recurring, [round_], explored=explored)[round_.id]
        for explored in (False, True)
    )

    assert returned
    assert (of_sample & returned, explored & returned) == (set(), returned)
    scene.label()
    [stored] = scene.read(segment_store.read_evidence, [round_.id]).values()
    new = [item for item in scene.items(3) if item not in explored]
    of_value = [item for item in new if country_of(scene)[item] == "SK"]
    assert sum(of[0] for of in stored[("country", "SK"),].sums) == len(of_value)
