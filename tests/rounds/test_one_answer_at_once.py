"""Rounds that share the page, while several processes send, let go and take answers at once."""

import pytest

from monitor.storage.pages import page_store
from tests.rounds.class_block import CLASSES
from tests.rounds.class_page import ClassPage
from tests.service.pages.test_at_once import at_once


@pytest.fixture
def block(database, tmp_path):
    found = ClassPage(database, tmp_path)
    found.week()
    return found


def everything(block):
    tables = {"page_rounds": "name", "page_tasks": "key", "page_shares": "task_key"}
    return {
        table: block.rows(f"select * from {table} order by {by}") for table, by in tables.items()
    }


def test_tasks_that_are_sent_at_once_are_on_the_page_once(block, database):
    block.run(number=1)
    whole = everything(block)
    with database.write() as connection:  # as after a kill between sending and noting it
        for table in reversed(whole):
            connection.exec_driver_sql(f"delete from {table}")
        connection.exec_driver_sql("update tasks set sent_at = null")

    at_once(*(lambda value=value: block.run(value) for value in [*CLASSES, *CLASSES]))

    assert everything(block) == whole


def test_of_rounds_that_let_go_at_once_the_last_deletes_what_was_shown(block, database):
    block.run(number=1)

    def let_go(value):
        with database.write() as connection:
            page_store.empty_tasks(connection, block[value].round(1).name)

    at_once(*(lambda value=value: let_go(value) for value in CLASSES))

    assert block.rows("select * from page_tasks where shown is not null") == []
    assert block.rows("select * from page_tasks") != []


def test_no_answer_is_lost_that_is_given_while_another_round_comes(block):
    block.run("travel", number=1)

    at_once(block.answer, lambda: block.run("finance"), lambda: block.run("news"))
    block.answer()
    block.run()

    for value in CLASSES:
        assert block.labels(value) == block.wanted(value)
    assert block.states() == dict.fromkeys(CLASSES, "closed")
