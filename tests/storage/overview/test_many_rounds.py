"""What is read of many rounds at once is what reading them one by one gives."""

from datetime import timedelta

from monitor.rounds.reporting.report import SHOWN
from monitor.rounds.status import overviews
from monitor.storage.labels import label_store, overlap_store
from monitor.storage.labels.round_labels import read_labels
from monitor.storage.overview import many_rounds
from monitor.storage.results import estimate_store, report_store
from monitor.storage.rounds import round_store
from monitor.storage.samples import frame_store
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, REFERENCE, Scene, overview, settings
from tests.statements import counted
from tests.storage.rows import say_at_random

NAMES = ("mail", "web", "cards")


@played
def scenes(database):
    """Three monitors: two closed rounds and one that waits, one closed, and none."""
    scenes = [
        Scene(database, settings(overlap=0.2, limits=LIMITS, reference=REFERENCE), name=name)
        for name in NAMES
    ]
    for scene, closed in zip(scenes, (2, 1, 0), strict=True):
        for number in range(1, closed + 1):
            scene.week(number)
            scene.run(number)
            scene.answer()
            scene.labeler.second_answers = dict(scene.truth)
            scene.run()
    scenes[0].week(3)
    scenes[0].run(3)
    return scenes


def all_rounds(database):
    with database.read() as connection:
        return round_store.find_rounds(connection)


def test_the_rounds_that_people_ask_about_are_found_without_reading_all(scenes, database):
    now = scenes[0].now

    with database.read() as connection:
        seen = many_rounds.read_monitor_rounds(connection, now)

    for name in NAMES[:2]:
        rounds = [round_ for round_ in all_rounds(database) if round_.monitor == name]
        closed = [round_ for round_ in rounds if round_.state == "closed"]
        assert seen[name].newest == rounds[-1]
        assert seen[name].closed == closed[-1]
        assert seen[name].closed_rounds == len(closed)
        assert seen[name].waiting == [round_ for round_ in rounds if round_.state == "labeling"]
    assert NAMES[2] not in seen
    with database.read() as connection:
        yesterday = now - timedelta(days=1)
        before = many_rounds.read_monitor_rounds(connection, yesterday, "mail")["mail"].newest
    assert before is not None
    assert before.number == 2  # a round that lies ahead is not the newest


def test_answers_are_counted_as_the_closing_of_a_round_counts_them(scenes, database):
    rounds = all_rounds(database)
    with database.write() as connection:
        keys = list(label_store.all_tasks(connection, [round.id for round in rounds]))
        say_at_random(connection, keys, ("ada", "bob", "cyd"), 300, scenes[0].now)

    with database.read() as connection:
        progresses = many_rounds.read_progress(connection, [round.id for round in rounds])
        wanted, answered = {}, {}
        for round_ in rounds:
            copies = overlap_store.read_copies(connection, round_.id)
            counts = read_labels(connection, round_).counts()
            planned = sum(part.planned for part in frame_store.read_strata(connection, round_.id))
            wanted[round_.id] = planned + copies.wanted
            answered[round_.id] = sum(c.labeled + c.declined for c in counts) + copies.answered

    assert {each: progress.wanted for each, progress in progresses.items()} == wanted
    assert {each: progress.answered for each, progress in progresses.items()} == answered
    assert min(answered.values()) > 0


def test_estimates_issues_and_notices_are_those_of_each_round(scenes, database):
    for scene in scenes[:2]:
        with database.write() as connection:
            round_ = round_store.find_rounds(connection, scene.name)[0]
            frame_store.write_issues(connection, round_.id, {"score NaN": (3, True)})
    closed = [this_round for this_round in all_rounds(database) if this_round.state == "closed"]
    ids = [each.id for each in closed]

    with database.read() as connection:
        shown = many_rounds.read_shown(connection, ids)
        issues = frame_store.read_all_issues(connection, ids)
        notices = report_store.read_parts(connection, ids, "notices")
        for round in closed:
            one_by_one = estimate_store.read_estimates(connection, round.id, round.version)
            told_first = [row for row in one_by_one if row.metric in {"precision", "recall"}]
            assert sorted(shown[round.id], key=str) == sorted(told_first, key=str)
            assert issues.get(round.id, {}) == frame_store.read_issues(connection, round.id)
            told = report_store.read_report(connection, round.id, round.version)
            assert notices[round.id] == {"notices": told["notices"]}
    assert any(issues.values())


def test_all_monitors_together_stand_as_each_by_itself(scenes, database):
    asked = [scene.context.settings for scene in scenes]
    now = scenes[0].now

    together = overviews(database, asked, now)

    assert together == [overview(database, each, now) for each in asked]
    uncorrected = [row for row in SHOWN if row[1] != "corrected"]  # no labels were checked
    assert [overview.closed_rounds for overview in together] == [2, 1, 0]
    assert [
        [(row.metric, row.basis, row.estimand) for row in overview.estimates]
        for overview in together
    ] == [uncorrected, uncorrected, []]


def test_as_many_queries_are_made_for_many_monitors_as_for_few(scenes, database):
    overview(
        database, scenes[0].context.settings, scenes[0].now
    )  # the connection reads from now on
    with counted(database) as for_few:
        overviews(database, [scene.context.settings for scene in scenes], scenes[0].now)
    more = Scene(database, settings(limits=LIMITS, reference=REFERENCE), name="more")
    more.play(1)

    with counted(database) as for_many:
        found = overviews(database, [s.context.settings for s in (*scenes, more)], scenes[0].now)

    assert found[-1].last_round == 1
    assert len(for_many.sent) == len(for_few.sent)
