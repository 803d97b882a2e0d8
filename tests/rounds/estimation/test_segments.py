"""Segments through whole rounds: counted in the one scan, kept with the items, estimated."""

import pytest

from monitor.domain.model import Answer
from monitor.domain.sample_settings import Bands, Margin, Sample
from monitor.domain.segments import NO_VALUE
from monitor.presentation.parts.segments import SEGMENTS
from monitor.rounds.parts.segments import segment_cells
from monitor.stats.core.counts import Counts
from monitor.stats.estimation.posterior import estimates
from monitor.stats.estimation.segment_labels import more_labels
from monitor.stats.estimation.segments import SEGMENT_POINTS, segment_estimates
from tests.rounds.played import played
from tests.rounds.scene import WEEK, segmented

COUNTRIES = ("CZ", "CZ", "CZ", "SK", "SK", None)


@played
def scene(database):
    scene = segmented(database)
    closed(scene)
    return scene


def with_countries(scene, number):
    """A week in which the country and the client follow from the place of the row."""
    scene.week(number)
    for place, row in enumerate(scene.source.rows):
        row |= {"country": COUNTRIES[place % 6], "client": f"client {place % 2}"}


def closed(scene, number=1):
    with_countries(scene, number)
    scene.run(number)
    scene.label()
    return scene.round(number)


def cells_of(scene, found):
    drawn = scene.part(found.number, "segments", version=0)
    strata = scene.labels(found.number).strata
    return segment_cells(scene.part(found.number, "segments", found.version), drawn, strata)


def rows_of(scene, found):
    return SEGMENTS.of(scene.round_report(found.number))


def counts_of(cells):
    return Counts.of_arrays(
        **{
            name: [getattr(cell, name) for cell in cells]
            for name in ("size", "labeled", "positive")
        },
        is_flagged=[cell.flagged for cell in cells],
    )


def test_labels_count_for_the_value_of_their_item_and_add_up_to_those_of_the_stratum(scene):
    found = scene.round(1)

    cells = cells_of(scene, found)
    for segment in ("country", "client"):
        for part in scene.tally(1).strata:
            mine = [c for c in cells if (c.segment, c.stratum) == (segment, part.stratum.name)]
            for name in ("size", "labeled", "positive"):
                assert sum(getattr(c, name) for c in mine) == getattr(part, name)
    assert {c.value for c in cells if c.segment == "country"} == {"CZ", "SK", NO_VALUE}
    of = {row["id"]: row["country"] or NO_VALUE for row in scene.source.rows}
    drawn = scene.rows("select id, stratum from items where round_id = :id", id=found.id)
    for cell in cells:
        if cell.segment == "country":
            ids = [
                i["id"] for i in drawn if (i["stratum"], of[i["id"]]) == (cell.stratum, cell.value)
            ]
            assert cell.labeled == len(ids)
            assert cell.positive == sum(scene.truth[i] is Answer.POSITIVE for i in ids)


def test_a_version_says_of_each_segment_what_the_statistics_say(scene):
    found = scene.round(1)

    cells = [cell for cell in cells_of(scene, found) if cell.segment == "client"]
    part = counts_of([cell for cell in cells if cell.value == "client 1"])
    whole = scene.tally(1).counts
    wanted = segment_estimates(part, whole, seed=found.sobol_seed)
    rows = [row for row in rows_of(scene, found) if row.value == "client 1"]
    assert [(r.metric, r.point, r.low, r.high) for r in rows] == [
        (e.metric, pytest.approx(e.point), pytest.approx(e.low), pytest.approx(e.high))
        for e in wanted
    ]
    alone = estimates(part, estimands=("window",), seed=found.sobol_seed, points=SEGMENT_POINTS)
    assert [(r.alone_point, r.alone_low, r.alone_high) for r in rows] == [
        (pytest.approx(e.point), pytest.approx(e.low), pytest.approx(e.high)) for e in alone
    ]
    assert all(row.alone != (row.point, row.low, row.high) for row in rows)
    for row in rows:
        more = more_labels(part, whole, row.metric, 0.1)
        assert (row.margin, row.more_round, row.more_segment) == (
            0.1,
            more.of_round,
            more.of_segment,
        )
        assert row.size == part.size.sum()
        assert (row.flagged, row.labeled) == (part.size[0], part.labeled.sum())
    segments = SEGMENTS.of(scene.round_report(1))
    assert segments == rows_of(scene, found)
    assert len(segments) == 2 * (3 + 2)


def test_the_margin_is_the_configs_own_where_it_names_one(database):
    asked = Sample(max_labels=200, margin=Margin(precision=0.2), bands=Bands(flagged=1, passed=1))
    scene = segmented(database, columns=["country"], sample=asked)

    found = closed(scene)

    margins = {(row.metric, row.margin) for row in rows_of(scene, found)}
    assert margins == {("precision", 0.2), ("recall", 0.1)}


def test_a_segment_without_a_label_has_no_number_but_the_labels_it_needs(database):
    scene = segmented(database)
    with_countries(scene, 1)
    for place, row in enumerate(scene.source.rows):
        row["country"] = "LI" if place == 0 else "CZ"
    scene.source.rows[0]["score"] = 0.9
    scene.run(1)
    flagged = [row["id"] for row in scene.source.rows if row["country"] == "LI"]
    scene.answer()
    scene.labeler.answers.pop(flagged[0], None)
    scene.now += WEEK - (WEEK / 100)
    scene.run()

    found = scene.round(1)

    [precision, recall] = [row for row in rows_of(scene, found) if row.value == "LI"]
    assert (precision.point, precision.low, precision.high) == (None, None, None)
    assert precision.reason == "none of the 1 flagged items is labeled"
    assert precision.more_segment == 1
    assert recall.reason == "none of the 1 flagged items is labeled"
    assert (recall.margin, recall.more_round, recall.more_segment) == (None, None, None)


def test_late_labels_that_only_move_between_segments_make_a_version(scene):
    found = scene.round(1)
    of = {row["id"]: row["country"] or NO_VALUE for row in scene.source.rows}
    passed = [
        row["id"]
        for row in scene.rows("select id, stratum from items where round_id = :id", id=found.id)
        if row["stratum"] == "passed"
    ]
    up = next(i for i in passed if scene.truth[i] is Answer.POSITIVE)
    down = next(i for i in passed if scene.truth[i] is Answer.NEGATIVE and of[i] != of[up])
    scene.labeler.answers |= {up: Answer.NEGATIVE, down: Answer.POSITIVE}

    scene.run()

    again = scene.round(1)
    assert (found.version, again.version) == (1, 2)
    assert cells_of(scene, found) != cells_of(scene, again)


def test_a_correction_of_an_earlier_round_leaves_the_segments_of_later_ones(scene):
    first = scene.round(1)
    second = closed(scene, 2)
    before = rows_of(scene, second)
    answered = next(i for i, a in scene.labeler.answers.items() if i in scene.items(1))
    scene.labeler.answers[answered] = Answer.CANNOT_TELL

    scene.run()

    again = scene.round(2)
    assert again.version == second.version + 1
    assert rows_of(scene, again) == before
    assert scene.round(1).version == first.version + 1


def test_a_window_in_which_nothing_is_flagged_still_shows_its_segments(database):
    scene = segmented(database)
    with_countries(scene, 1)
    for row in scene.source.rows:
        row["score"] = 0.1
    scene.run(1)
    scene.labeler.answers |= dict.fromkeys(scene.items(1), Answer.NEGATIVE)
    scene.run()

    rows = rows_of(scene, scene.round(1))

    assert {row.flagged for row in rows} == {0}
    assert {row.reason for row in rows if row.metric == "precision"} == {
        "nothing was predicted positive (TP + FP = 0)"
    }
    assert {row.more_segment for row in rows} == {None}
