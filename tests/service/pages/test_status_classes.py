"""The status pages of a block of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from monitor.presentation.classes import block_lines
from tests.faults.few_points import few_points
from tests.rounds.test_classes import Blocks
from tests.service.pages.people import Person, Place
from tests.service.pages.test_status import words

HOSTILE = "</p><script>alert(1)</script>\u202egnp"


@pytest.fixture(autouse=True)
def _coarse():
    with few_points(2**9):
        yield


@dataclass
class AllClasses(Place):
    """The pages of a config that has all monitors of a block."""

    block: Any = None

    def settings(self):
        return [scene.context.settings for scene in self.block.monitors.values()]


def shown(block, path):
    return Person(AllClasses(block["travel"], block=block).person("ada").client).get(path)


@pytest.mark.parametrize("path", ["/", "/monitors/mail-news/rounds/1"])
def test_the_pages_say_what_status_and_show_say(database, path):
    block = Blocks(database)
    block.week()
    block.play()
    said = [words(line) for line in block_lines(block.overview)]

    text = words(shown(block, path).page.text)

    assert len(said) >= 5
    assert [line for line in said if line not in text] == []


def test_the_name_of_a_class_is_text_and_nothing_else(database):
    block = Blocks(database, classes=("travel", "finance", HOSTILE))
    block.week()
    block.play("travel", "finance")

    html = shown(block, "/").response.text

    assert "waits for 1 of 3 classes" in html
    assert "<script>alert" not in html
    assert "\u202e" not in html
