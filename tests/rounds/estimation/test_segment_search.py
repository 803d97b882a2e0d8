"""The search for worse segments through whole rounds."""

from datetime import timedelta

from monitor.domain.model import Answer
from monitor.domain.segments import MOST_VALUES, OTHER
from monitor.presentation.parts.segments import SEGMENT_SEARCH, SEGMENTS
from monitor.presentation.round_document import round_sections
from monitor.rounds.parts.segments import evidence_by_name
from tests.rounds.played import played
from tests.rounds.restatements import restate_precision
from tests.rounds.scene import THRESHOLD, segmented

COUNTRIES = ("CZ", "SK", "DE", "AT", "PL")
SINGLES = [("country", name) for name in COUNTRIES if name != "SK"]


def closed(scene, number, *, wrong=None, countries=COUNTRIES):
    """A round in which the flagged items of one country are mostly wrong."""
    scene.week(number, share=0.2)
    for place, row in enumerate(scene.source.rows):
        row["country"] = countries[place % len(countries)]
        row["client"] = f"client {place // 7 % 2}"
        if row["country"] == wrong and row["score"] >= THRESHOLD and place % 4:
            scene.truth[row["id"]] = Answer.NEGATIVE
    scene.run(number)
    scene.label()
    return scene.round(number)


@played
def scene(database):
    scene = segmented(database, labels=300)
    for number in (1, 2):
        closed(scene, number, wrong="SK")
    return scene


def search_of(scene, number):
    search = SEGMENT_SEARCH.of(scene.round_report(number))
    assert search is not None
    return search


def test_the_segment_with_more_errors_is_named_with_its_counts_and_noted_without_an_alert(scene):
    report = scene.round_report(2)

    search = SEGMENT_SEARCH.of(report)
    assert search is not None
    worst = search.worse[0]
    assert (search.searched, search.rounds) == (5 + 2 + 10, 2)
    assert (worst.segment, worst.metric) == ({"country": "SK"}, "precision")
    assert worst.flagged.wrong > 2 * worst.flagged.expected
    assert 1 < worst.low < worst.odds
    assert all(one.segment["country"] == "SK" for one in search.worse)
    [notice] = [row for row in report.notices if row.kind == "segment"]
    assert notice.sentence.startswith("in country SK precision is lower than in the rest")
    assert f"{worst.flagged.wrong} of its {worst.flagged.labeled} labeled" in notice.sentence
    assert (report.alerts, report.status) == ([], "learning")
    [section] = [s for s in round_sections(report) if s.kind == SEGMENTS.name]
    assert section.tables[0].rows[0][0] == "country SK"
    assert section.lines[-1].startswith("17 segments and pairs searched over 2 rounds: at most")


def test_labels_of_the_rounds_are_pooled_so_that_evidence_grows(scene):
    first, second = (search_of(scene, number).worse for number in (1, 2))

    assert second[0].log_evidence > first[0].log_evidence
    counted = [evidence_by_name(scene.part(number, "segment_search")) for number in (1, 2)]
    labeled = sum(of_round[("country", "SK"),].sums[0][0] for of_round in counted)
    assert second[0].rounds == 2
    assert second[0].flagged.labeled == labeled


def test_without_a_worse_segment_the_page_says_that_none_is_named(database):
    scene = segmented(database, labels=300)
    closed(scene, 1)

    report = scene.round_report(1)

    assert search_of(scene, 1).worse == []
    assert "segment" not in {row.kind for row in report.notices}
    [section] = [s for s in round_sections(report) if s.kind == SEGMENTS.name]
    assert section.lines[-1] == (
        "17 segments and pairs searched over 1 round: none is named as worse than the rest"
    )


def test_late_labels_of_an_earlier_round_search_again_in_all_later_ones(scene):
    before = search_of(scene, 2).worse[0].flagged
    of = {row["id"]: row["country"] for row in scene.source.rows}
    changed = [
        item
        for item in scene.items(1)
        if of[item] == "SK" and item in scene.flagged() and scene.truth[item] is Answer.NEGATIVE
    ][:5]

    scene.turn(*changed)
    scene.run()

    after = search_of(scene, 2).worse[0].flagged
    assert (after.labeled, after.wrong) == (before.labeled, before.wrong - len(changed))


def test_what_a_person_restates_is_no_evidence(database):
    scene = segmented(database, labels=300, late_labels=timedelta(days=1))
    for number in (1, 2):
        closed(scene, number, wrong="SK")
    before = search_of(scene, 2)

    restate_precision(scene, 1, to=Answer.POSITIVE)

    assert scene.report(2)["version"] == scene.report(1)["version"] == 2
    assert search_of(scene, 2) == before


def test_items_that_nobody_can_tell_count_neither_for_their_segment_nor_for_the_rest(database):
    scene = segmented(database, labels=300)
    scene.week(1, share=0.2)
    for place, row in enumerate(scene.source.rows):
        row |= {"country": COUNTRIES[place % 5], "client": None}
    scene.run(1)
    scene.answer()
    of = {row["id"]: row["country"] for row in scene.source.rows}
    gone = [item for item in scene.items(1) if of[item] == "SK"]
    scene.labeler.answers |= dict.fromkeys(gone, Answer.CANNOT_TELL)
    scene.run()

    evidence = evidence_by_name(scene.part(1, "segment_search"))

    assert not any(("country", "SK") in name for name in evidence)
    labeled = sum(sum(of_class[0] for of_class in evidence[c,].sums) for c in SINGLES)
    assert labeled == len(scene.items(1)) - len(gone)


def test_values_that_are_too_small_to_be_told_apart_are_no_segment(database):
    scene = segmented(database, labels=300)
    many = tuple(f"c{place:02}" for place in range(MOST_VALUES + 5))
    closed(scene, 1, countries=many)

    evidence = evidence_by_name(scene.part(1, "segment_search"))

    named = {value for name in evidence for column, value in name if column == "country"}
    assert OTHER not in named
    assert len(named) == MOST_VALUES
