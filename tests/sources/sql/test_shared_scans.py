"""Monitors of one table count and draw together what each would have counted and drawn alone."""

import random
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import event

from monitor.domain.errors import SourceRefused
from monitor.domain.model import BandEdges
from monitor.domain.ports import PlannedScan, SharesScans
from monitor.sources import shared_query
from monitor.sources.shared_query import SharedQuery
from monitor.sources.sql_query import Scan
from tests.sources.prediction_files import TWO, WEEK
from tests.sources.sql.databases import COLUMNS, also_in_files, make_table, source_of

AT = datetime(2026, 3, 3, tzinfo=UTC)
BANDS = BandEdges(flagged=(0.7, 0.9), passed=(0.1, 0.2, 0.3)).strata()
HALVES = BandEdges(passed=(0.25,)).strata()
JUDGED = BandEdges(flagged=(0.7,), passed=(0.1,), judged=True).strata()
SCORES = ("travel", "finance", "sports")
TOPICS = ("travel", "finance", "other")


def odd_rows(seed, *, has_nan, number=600):
    """Rows of which some lack an id, a time, a score or a version, or stand there twice."""
    chance = random.Random(seed)  # noqa: S311
    odd = [None, 0.5, 0.0, 1.0, 7.5, -3.0]
    odd += [float("nan"), float("inf"), float("-inf")] if has_nan else []
    rows = [
        {
            "id": chance.choice([None, "", "same", "Žluťoučký"])
            if chance.random() < 0.02
            else name,
            "time": None if chance.random() < 0.01 else AT + timedelta(minutes=n),
            "predicted": True,
            "text": "x",
            "country": chance.choice(["CZ", "SK", "", None]),
            "version": "v1" if n < 90 else chance.choice(["v2", "v2", "v2", None]),
            "topic": chance.choice([*TOPICS, "TRAVEL", None]),
            **{
                score: chance.choice(odd) if chance.random() < 0.1 else chance.random()
                for score in SCORES
            },
            "rare": 0.99 if n % 150 == 140 else 0.01,
            "amount": float(n % 7 * (1 + n % 50)),
        }
        for n, name in enumerate(f"mail {n}" for n in range(number))
    ]
    return rows + chance.sample(rows, 20)


def table_of(seed, place):
    double, text = place.kinds["double"], place.kinds["text"]
    kinds = dict.fromkeys((*SCORES, "rare", "amount"), double) | {"version": text, "topic": text}
    make_table(place, odd_rows(seed, has_nan=place.name in {"postgresql", "spark"}), **kinds)


def by_score(score, **columns):
    return {"columns": COLUMNS | {"score": score} | columns}


def by_topic(topic, score=None):
    return {
        "threshold": None,
        "columns": COLUMNS | {"score": score, "predicted": "topic"},
        "positive": topic,
        "negative": [one for one in TOPICS if one != topic],
    }


KINDS = {
    "scores": [
        (by_score("travel"), BANDS, 25),
        (by_score("finance") | {"threshold": 0.8}, HALVES, 40),
        (by_score("sports"), TWO, 1),
        (by_score("rare"), BANDS, 9),
        (by_score("travel"), TWO, 999),
    ],
    "classes": [
        (by_topic("travel", "travel"), BANDS, 7),
        (by_topic("finance", "finance"), BandEdges(flagged=(0.5,), unscored=True).strata(), 30),
        (by_topic("other"), TWO, 12),
    ],
    "challengers": [
        (by_score("travel") | {"challenger": {"score": "finance", "threshold": 0.4}}, BANDS, 15),
        (by_score("finance"), TWO, 15),
        (by_score("sports") | {"challenger": {"predicted": "country"}, "positive": "CZ"}, TWO, 15),
        (by_score("travel") | {"challenger": {"predicted": "no such"}}, BANDS, 15),
    ],
    "judges": [
        (by_score("travel") | {"judge": {"column": "country", "positive": "CZ"}}, JUDGED, 15),
        (by_score("finance"), BANDS, 15),
        (by_score("sports") | {"judge": {"column": "rare", "threshold": 0.5}}, JUDGED, 15),
        (by_score("travel") | {"judge": {"column": "no such", "positive": 1}}, JUDGED, 15),
        (by_score("finance"), JUDGED, 15),
    ],
    "released": [
        (by_score("travel", released="predicted") | {"released_with": "finance"}, BANDS, 15),
        (by_score("finance", released="predicted") | {"released_with": 0.3}, TWO, 15),
        (by_score("sports"), BANDS, 15),
    ],
    "amounts": [
        (by_score("travel", segments=["country"], weight="amount"), BANDS, 15),
        (by_score("travel", segments=["country"]), BANDS, 15),
        (by_score("finance", segments=["country"], weight="amount"), TWO, 999),
    ],
    "versions and segments": [
        (by_score(score, model_version="version", segments=segments), BANDS, 15)
        for score in SCORES
        for segments in (["country"], ["country", "topic"])
    ],
}


def planned(place, kinds):
    return [PlannedScan(source_of(place, **kind), *asked) for kind, *asked in kinds]


def scanned(scans):
    return [scan.source.scan(WEEK, scan.strata, scan.at_most, "s33d") for scan in scans]


@contextmanager
def statements(*scans):
    """The statements that read the table of some sources."""
    found = []
    for scan in scans:
        event.listen(
            scan.source.database.engine,
            "before_cursor_execute",
            lambda *given: found.append(given[2]) if " scored" in given[2].lower() else None,
        )
    yield found


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.soak) for n in range(1, 9))]
)
@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
@also_in_files
def test_each_monitor_gets_the_frame_of_its_own_scan(place, kinds, seed):
    table_of(seed, place)
    alone, together = planned(place, kinds), planned(place, kinds)
    expected = scanned(alone)

    together[0].source.read_for(together, WEEK, "s33d")

    kept = [scan.source.cached is not None for scan in together]
    assert kept == [True] * len(together)
    assert scanned(together) == expected
    assert all(frame.size for frame in expected)


def test_thirty_monitors_pass_over_the_table_twice(place):
    table_of(1, place)
    scans = planned(place, [(by_score(SCORES[n % 3]), BANDS, 9) for n in range(30)])
    expected = scanned(planned(place, [(by_score(score), BANDS, 9) for score in SCORES]))

    with statements(*scans) as found:
        scans[0].source.read_for(scans, WEEK, "s33d")
        frames = scanned(scans)

    assert [sum(word in one for one in found) for word in ("CROSS JOIN", "md5")] == [1, 1]
    assert len(found) <= 5  # with three looks at rows without a time, as there are some
    assert frames == expected * 10


def test_a_frame_serves_the_scan_that_was_planned_and_no_other(place):
    table_of(1, place)
    kinds = [(by_score(score), BANDS, 9) for score in SCORES]
    first, second, third = planned(place, kinds)
    first.source.read_for([first, second, third], WEEK, "s33d")
    place.run("delete from scored")

    third.source.release()
    other_strata = second.source.scan(WEEK, TWO, 9, "s33d")
    other_seed = second.source.scan(WEEK, BANDS, 9, "other")
    once, again = (first.source.scan(WEEK, BANDS, 9, "s33d") for _ in range(2))

    assert once.size > 0
    assert {frame.rows for frame in (other_strata, other_seed, again)} == {0}
    assert third.source.scan(WEEK, BANDS, 9, "s33d").rows == 0


def test_monitors_with_a_fault_are_left_to_scans_of_their_own(sqlite_place):
    table_of(1, sqlite_place)
    sqlite_place.run("update scored set travel = 'many'")
    kinds = [(by_score(score), BANDS, 9) for score in ("travel", "travle", "finance", "sports")]
    scans = planned(sqlite_place, kinds)

    scans[2].source.read_for(scans, WEEK, "s33d")

    assert [scan.source.cached is None for scan in scans] == [True, True, False, False]
    with pytest.raises(SourceRefused, match="the first is 'many'"):
        scans[0].source.scan(WEEK, BANDS, 9, "s33d")


@pytest.mark.parametrize(
    ("blocks", "most"), [(50, None), (2, 3 * 9 * len(TWO))], ids=["statement", "memory"]
)
def test_a_block_that_a_statement_or_memory_does_not_take_is_read_in_parts(
    sqlite_place, monkeypatch, blocks, most
):
    table_of(1, sqlite_place)
    kinds = [(by_score(score), TWO, 9) for score in SCORES]
    scans = planned(sqlite_place, kinds * blocks)
    monkeypatch.setattr(shared_query, "MOST_CANDIDATES", most or shared_query.MOST_CANDIDATES)

    with statements(*scans) as found:
        scans[0].source.read_for(scans, WEEK, "s33d")

    assert sum("CROSS JOIN" in one for one in found) == 2
    assert scanned(scans) == scanned(planned(sqlite_place, kinds)) * blocks


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_no_statement_binds_more_values_than_it_was_taken_to(sqlite_place, kinds):
    table_of(1, sqlite_place)
    with planned(sqlite_place, kinds)[0].source.opened() as reading:
        scans = []
        for scan in planned(sqlite_place, kinds):
            query = scan.source.query(scan.source.describe_table(reading))
            scans.append(Scan(scan.source, query, scan.strata, scan.at_most))
    statement = SharedQuery(scans).draw(WEEK, "s33d", [{0: "0a", 1: "0b"}] * len(scans), "v2")

    bound = statement.compile(compile_kwargs={"render_postcompile": True}).params

    assert len(bound) <= sum(scan.values for scan in scans)


def test_tables_are_told_apart_by_what_is_read_of_them(sqlite_place):
    usual = source_of(sqlite_place).table

    assert source_of(sqlite_place, **by_topic("travel", "finance")).table == usual
    others = [
        {"table": "other"},
        {"where": {"country": "CZ"}},
        {"time_zone": "Europe/Prague"},
        by_score("score", id="text"),
        by_score("score", model_version="version"),
    ]
    assert usual not in {source_of(sqlite_place, **one).table for one in others}
    assert isinstance(source_of(sqlite_place), SharesScans)
