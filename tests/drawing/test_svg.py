"""Shapes as text: well-formed whatever the words, and small."""

import pytest

from monitor.drawing.svg import path, picture, text_at
from tests.drawing import looking


@pytest.mark.parametrize("words", ["a < b & c", 'say "hi"', "]]>", "<script>x</script>"])
def test_words_that_look_like_markup_stay_words(words):
    seen = looking.at(picture((100, 50), words, words, [text_at((0, 10), words, 9)]))

    assert (seen.title, seen.description, seen.texts) == (words, words, [words])


def test_characters_that_xml_forbids_are_replaced():
    seen = looking.at(picture((100, 50), "a\x00b\x1bc", "", []))

    assert seen.title == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"


def test_a_picture_brings_its_own_white_ground_and_a_name_for_who_cannot_see_it():
    root = looking.at(picture((100, 50), "Mail", "It falls.", [])).root

    assert root.attrib["role"] == "img"
    assert [child.tag.removeprefix(looking.SVG) for child in root] == ["title", "desc", "rect"]
    assert root[2].attrib == {"width": "100", "height": "50", "fill": "white"}


def test_places_that_look_alike_are_written_once():
    drawn = path([(1, 1), (1.001, 1.002), (2, 1), (2, 1)], "black", 1)

    assert 'points="1,1 2,1"' in drawn


def test_words_that_need_more_room_than_there_is_become_smaller():
    short, long = (text_at((0, 0), "x" * count, 13, room=100) for count in (5, 50))

    assert 'font-size="13"' in short
    assert float(long.split('font-size="')[1].split('"')[0]) < 6
