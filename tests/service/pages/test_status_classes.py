"""The status pages of a block of classes."""

from dataclasses import dataclass
from typing import Any

from monitor.domain.visible import clean
from monitor.presentation.classes import block_lines
from tests.rounds.test_classes import Blocks
from tests.service.pages.people import Person, Place
from tests.service.pages.test_status import words

HOSTILE = "</p><script>alert(1)</script>\u202egnp"


@dataclass
class AllClasses(Place):
    """The pages of a config that has all monitors of a block."""

    block: Any = None

    def settings(self):
        return [scene.context.settings for scene in self.block.monitors.values()]


def shown(block, path):
    return Person(AllClasses(block["travel"], block=block).person("ada").client).get(path)


def test_the_pages_say_what_status_and_show_say_and_the_name_of_a_class_is_text(database):
    block = Blocks(database, classes=("travel", "finance", HOSTILE))
    block.week()
    block.play()
    said = [words(clean(line)) for line in block_lines(block.overview)]

    for path in ("/", "/monitors/mail-travel/rounds/1"):
        page = shown(block, path)
        text = words(page.page.text)

        assert len(said) >= 5
        assert [line for line in said if line not in text] == []
        assert "<script>alert" not in page.response.text
        assert "\u202e" not in page.response.text
