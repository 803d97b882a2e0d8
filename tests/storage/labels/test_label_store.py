"""Label events are only ever added, and say the same in whatever order they came."""

from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import Connection, func, insert, select

from monitor.domain.errors import RoundMoved
from monitor.domain.model import Answer, LabelEvent, LabelKind
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.labels import label_notes, label_store
from monitor.storage.labels.label_notes import read_endpoint
from monitor.storage.rounds import round_store
from monitor.storage.tables import label_events, tasks
from tests.storage.rows import add_round, draw, read, write

NOON = datetime(2025, 3, 10, 12, tzinfo=UTC)
YES, NO, CANNOT_TELL = Answer.POSITIVE, Answer.NEGATIVE, Answer.CANNOT_TELL


@pytest.fixture
def round_id(database):
    return drawn(database)


def drawn(database, number=1, wanted=(5, 5)):
    found = add_round(database, number)
    draw(database, found, expected=wanted)
    return found


def key_of(database, item="flagged-0", round_id=None):
    query = select(tasks.c.key).where(tasks.c.item_id == item, tasks.c.slot == 1)
    if round_id is not None:
        query = query.where(tasks.c.round_id == round_id)
    return read(database, Connection.scalar, query)


def add(database, *events, now=NOON, labeler="files", complete=()):
    return write(database, label_store.add_events, labeler, events, now, complete=complete).total()


def labels(database, round_id):
    return read(database, label_store.current_labels, round_id)


def revision(database, round_id):
    return read(database, round_store.read_round, round_id).label_revision


def column(database, of):
    """Values of a column of the events, in the order of acceptance."""
    query = select(label_events.c[of]).order_by(label_events.c.id)
    with database.read() as connection:
        return list(connection.scalars(query))


def event(key, answer, *, minute=None, by="ada"):
    at = None if minute is None else NOON + timedelta(minutes=minute)
    kind = LabelKind.WITHDRAWN if answer is None else LabelKind.GIVEN
    return LabelEvent(key, by, answer, at, kind)


def test_what_is_said_becomes_the_label_and_all_that_was_said_is_kept(database, round_id):
    key = key_of(database)
    said = event(key, YES, minute=0)

    taken_back = add(database, event(key, None))  # before anything was said
    added = [add(database, said), add(database, said, said, now=NOON + timedelta(days=1))]
    first = labels(database, round_id), revision(database, round_id)
    added += [add(database, event(key, NO, minute=1)), add(database, event(key, None, minute=2))]
    without = labels(database, round_id)
    added += [add(database, event(key, YES, minute=3)), add(database, said, labeler="page")]

    assert (taken_back, added) == (0, [1, 0, 1, 1, 1, 1])
    assert first == ({"flagged-0": YES}, 1)
    assert without == {}
    assert labels(database, round_id) == {"flagged-0": YES}
    assert column(database, "answer") == ["1", "0", None, "1", "1"]


def test_an_event_without_a_time_counts_only_if_it_changes_the_answer(database, round_id):
    key, later = key_of(database), count(1)

    def read(answer):
        return add(database, event(key, answer), now=NOON + timedelta(minutes=next(later)))

    assert [read(answer) for answer in (YES, YES, NO, NO, YES, None, None, YES)] == [
        *(1, 0, 1, 0, 1, 1, 0, 1)
    ]
    assert labels(database, round_id) == {"flagged-0": YES}
    assert revision(database, round_id) == 5


def test_what_is_missing_where_all_that_stands_is_told_was_taken_back(database, round_id):
    key, other = key_of(database), key_of(database, "flagged-1")
    add(database, event(key, YES, minute=0), event(other, YES, minute=0))
    add(database, event(key, NO, minute=0, by="bob"), labeler="page")

    added = [add(database, complete={key}) for _ in range(2)]
    without = labels(database, round_id)
    added += [add(database, event(key, YES, minute=1), complete={key})]

    assert added == [1, 0, 1]
    assert without == {"flagged-0": NO, "flagged-1": YES}


def test_what_others_say_is_not_undone_by_a_labeler_that_tells_all_that_stands(database, round_id):
    key = key_of(database)
    said = event(key, YES, minute=0)
    add(database, said, labeler="page", complete={key})
    add(database, event(key, None, minute=5), event(key, NO, minute=5, by="bob"))

    added = add(database, said, labeler="page", complete={key})

    assert added == 0
    assert labels(database, round_id) == {"flagged-0": NO}


def test_an_older_answer_that_stands_again_counts_from_then_on(database, round_id):
    key = key_of(database)
    older, newer = event(key, YES, minute=1), event(key, NO, minute=5)

    added = [add(database, one, complete={key}) for one in (newer, older, older, newer)]

    assert added == [1, 1, 0, 1]
    assert labels(database, round_id) == {"flagged-0": NO}
    assert column(database, "at") == [newer.at + n * timedelta(microseconds=1) for n in range(3)]


def test_what_was_said_before_counts_after_what_changes_it_in_one_file(database, round_id):
    key = key_of(database)
    add(database, event(key, YES))

    added = add(database, *(event(key, answer) for answer in (YES, NO, YES, YES, None, YES)))

    assert added == 4  # no, yes, none, yes
    assert labels(database, round_id) == {"flagged-0": YES}


@pytest.mark.parametrize("minute", [None, 1])
def test_what_was_said_before_of_one_copy_counts_after_what_was_said_of_the_other(
    minute, database, round_id
):
    first, second = copies_of(database, round_id)
    add(database, event(first, YES))

    added = add(database, event(second, NO, minute=minute), event(first, YES))

    assert added == 2
    assert labels(database, round_id) == {"flagged-0": YES}


def copies_of(database, round_id, item="flagged-0"):
    columns = {"key": "second", "round_id": round_id, "item_id": item, "slot": 2}
    write(database, Connection.execute, insert(tasks).values(**columns))
    return key_of(database, item), "second"


@pytest.mark.parametrize("minute", [None, 60 * 24 * 365], ids=["set back", "ahead"])
def test_an_event_without_a_time_counts_also_when_a_clock_was_set_back_or_is_ahead(
    database, round_id, minute
):
    key = key_of(database)
    add(database, event(key, YES, minute=minute))

    back = NOON - timedelta(minutes=60 if minute is None else 0)
    added = [add(database, event(key, NO), now=back) for _ in range(3)]

    assert added == [1, 0, 0]
    assert labels(database, round_id) == {"flagged-0": NO}


def test_an_answer_from_the_future_is_as_old_as_its_arrival_and_later_ones_count(
    database, round_id
):
    key = key_of(database)
    of_a_tool = event(key, YES, minute=60 * 24 * 365)

    added = [add(database, of_a_tool, now=NOON + timedelta(hours=n)) for n in range(2)]
    add(database, event(key, NO, minute=61), now=NOON + timedelta(hours=2))

    assert added == [1, 0]
    assert labels(database, round_id) == {"flagged-0": NO}


def test_only_rounds_that_got_something_new_get_a_new_revision(database, round_id):
    second = drawn(database, 2)
    first_key, second_key = (key_of(database, round_id=each) for each in (round_id, second))
    add(database, event(first_key, YES, minute=0))

    add(database, event(first_key, YES, minute=0), event(second_key, NO, minute=0))

    assert (revision(database, round_id), revision(database, second)) == (1, 1)
    assert labels(database, round_id) == {"flagged-0": YES}
    assert labels(database, second) == {"flagged-0": NO}


def test_more_tasks_than_one_statement_takes_are_all_answered(database):
    big = drawn(database, wanted=(700, 601))
    with database.write() as connection:
        everything = label_store.all_tasks(connection, [big])
        label_store.set_sent(connection, list(everything), NOON)
        _, unsent = label_store.tasks_to_send(connection, big)
    said = [event(key, YES, minute=0) for key in everything]

    first, again = add(database, *said), add(database, *said)

    assert (first, again, unsent) == (1301, 0, [])
    assert len(labels(database, big)) == 1301
    assert revision(database, big) == 1


def test_a_cursor_is_kept_per_monitor_and_labeler(database):
    with database.write() as connection:
        mail, spam = (round_store.ensure_monitor(connection, n, NOON) for n in ("mail", "spam"))
        label_notes.write_cursor(connection, mail, "files", "a")
        label_notes.write_cursor(connection, mail, "files", "b")
        label_notes.write_cursor(connection, mail, "page", "c")

        found = [
            read_endpoint(connection, monitor, labeler).cursor
            for monitor, labeler in ((mail, "files"), (mail, "page"), (spam, "files"))
        ]

    assert found == ["b", "c", None]


@pytest.fixture(scope="module")
def one_store(tmp_path_factory):
    """A store for many examples, each with a round of its own."""
    database = Database(f"sqlite:///{tmp_path_factory.mktemp('labels')}/monitor.db")
    schema.ready(database)
    yield database, count(1)
    database.close()


histories_of_events = st.lists(
    st.tuples(
        st.sampled_from(["flagged-0", "flagged-1"]),
        st.sampled_from(["ada", "bo", "cy"]),
        st.integers(0, 4),  # so that one person often says several things at one moment
        st.sampled_from([YES, NO, CANNOT_TELL, None]),
    ),
    max_size=10,
)


@hypothesis_settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(histories_of_events, st.randoms(use_true_random=False), st.integers(1, 4))
def test_events_with_times_of_their_own_give_the_same_labels_in_any_order_of_arrival(
    one_store, said, random, batches
):
    database, numbers = one_store
    shuffled = [*said, *random.sample(said, len(said) // 2)]  # some come twice
    random.shuffle(shuffled)

    found = []
    for order in ([said], [shuffled[i::batches] for i in range(batches)]):
        round_id = drawn(database, next(numbers))
        for part in order:
            events = [
                event(key_of(database, item, round_id), answer, minute=minute, by=by)
                for item, by, minute, answer in part
            ]
            add(database, *events)
        found.append((labels(database, round_id), stored_of(database, round_id)))

    assert found[0] == found[1]
    assert found[0][1] == len(set(said))


def stored_of(database, round_id):
    query = select(func.count()).where(label_events.c.round_id == round_id)
    return read(database, Connection.scalar, query)


def test_an_answer_to_a_task_that_was_taken_back_meanwhile_has_all_read_again(database, round_id):
    gone = LabelEvent("t0000000000000000", "ada", YES, at=NOON)
    known = LabelEvent(key_of(database), "ada", YES, at=NOON)

    with pytest.raises(RoundMoved, match="1 of 2 tasks, such as t0000000000000000, were taken"):
        add(database, gone, known)

    assert labels(database, round_id) == {}
