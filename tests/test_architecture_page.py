"""The page architecture.md names files that are there."""

import re
from pathlib import Path

from tests.pages import path_of

ROOT = Path(__file__).parents[1]
PAGE = path_of("architecture")


def test_every_file_and_folder_that_the_page_names_exists():
    text = PAGE.read_text()
    named = set(re.findall(r"`((?:[a-z_0-9]+/)+(?:[a-z_0-9]+\.py)?)", text))
    places = (ROOT / "monitor", ROOT)

    missing = {name for name in named if not any((place / name).exists() for place in places)}

    assert len(named) > 30
    assert not missing


def test_every_room_stands_in_the_picture():
    picture = PAGE.read_text().split("```")[1]
    rooms = [path.name for path in (ROOT / "monitor").iterdir() if (path / "__init__.py").exists()]

    missing = [room for room in rooms if f"{room}/" not in picture and room != "testing"]

    assert len(rooms) > 10
    assert not missing
