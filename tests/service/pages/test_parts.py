"""What is made of each kind of payload before a page shows it."""

import json

import pytest

from monitor.domain.shown import no_picture
from monitor.service.pages.labeling.shown import (
    AT_FIRST,
    MOST_HTML,
    MOST_ROWS,
    Part,
    framed,
    parts_of,
    rows_of,
)


def part_of(kind, value):
    [part] = parts_of({"it": {"kind": kind, "value": value}}, "t1")
    return part


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('{"a": {"b": 1}, "c": [1, 2]}', [("a.b", "1"), ("c", "1\n2")]),
        ('[{"a": 1}, {"a": null}, true]', [("[0].a", "1"), ("[1].a", "null"), ("[2]", "true")]),
        (
            '{"a": {}, "b": [], "c": "", "d": [[]]}',
            [("a", "{}"), ("b", "[]"), ("c", ""), ("d[0]", "[]")],
        ),
        ('{"a": 1, "a": 2}', [("a", "1"), ("a", "2")]),
        ('{"a": 1.10, "b": 1e400, "c": NaN}', [("a", "1.10"), ("b", "1e400"), ("c", "NaN")]),
        (f'{{"a": {"9" * 5000}}}', [("a", "9" * 5000)]),
        ('{"kind": "image", "__proto__": "x"}', [("kind", "image"), ("__proto__", "x")]),
    ],
)
def test_json_is_a_table_of_what_is_written_in_it(text, rows):
    assert rows_of(text) == rows


@pytest.mark.parametrize("text", ["no json", "{", '"a text"', "12", "[" * 100_000, "{'a': 1}"])
def test_what_is_no_json_for_a_table_is_shown_as_text_and_said(text):
    part = part_of("json", text)

    assert part.kind == "text"
    assert part.text == text[:AT_FIRST]
    assert part.note == "This JSON does not fit in a table, so here is its text."


def test_characters_that_steer_are_seen_where_json_names_them_by_number():
    part = part_of("json", json.dumps({"\u202e": "\u202egnp.exe\x00\ud800"}))

    assert part.rows == [("\\u202e", "\\u202egnp.exe\\x00\\ud800")]


def test_a_long_table_ends_and_says_so():
    part = part_of("json", json.dumps({f"k{number}": number for number in range(1000)}))

    assert len(part.rows) == MOST_ROWS
    assert part.note == "The first 200 of 1,000 rows."


def test_a_long_cell_ends_and_says_so():
    [(name, text)] = part_of("table", [["n" * 300, "x" * 9000]]).rows

    assert name == "n" * 200 + " ... (cut here, of 300 characters)"
    assert text == "x" * AT_FIRST + " ... (cut here, of 9,000 characters)"


def test_a_link_is_text_on_one_line():
    part = part_of("link", "https://example.org/\u202e\n<a>")

    assert (part.kind, part.text) == ("link", "https://example.org/\\u202e\\x0a<a>")


@pytest.mark.parametrize("kind", ["json", "html", "link"])
def test_an_empty_value_says_so(kind):
    assert part_of(kind, "") == Part("it", note="Empty.")


def test_an_empty_text_and_a_broken_picture_say_so():
    assert parts_of({"a": "", "b": no_picture("no such file", "\u202eb.png")}, "t1") == [
        Part("a", note="Empty."),
        Part("b", note="This picture cannot be shown: \\u202eb.png: no such file."),
    ]


def test_a_text_is_cut_between_words():
    [part] = parts_of({"a": "word " * 2000}, "t1")

    assert part.text.endswith("word ")
    assert part.more == "Show all 10,000 characters"
    assert part.text + part.rest == "word " * 2000


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<a href=x>y</a>", "<x-a href=x>y</x-a>"),
        ("<A\nHREF=x>", "<x-A\nHREF=x>"),
        ("<svg><a/href=x>", "<svg><x-a/href=x>"),
        ("<link rel=preconnect href=x>", "<x-link rel=preconnect href=x>"),
        ("<meta http-equiv=refresh>", "<x-meta http-equiv=refresh>"),
        ("<base href=x><area>", "<x-base href=x><x-area>"),
        ("<article><abbr>", "<article><abbr>"),
        ("\u202e&#x202e;&#8238;&#x0000202E", "\\u202e" * 4),
        ("&#151;&#65;&#x1F600;", "&#151;&#65;&#x1F600;"),
    ],
)
def test_html_keeps_nothing_that_leads_elsewhere_or_steers(html, shown):
    assert framed(html).endswith(f"</style>\n{shown}")


def test_long_html_ends_and_says_so():
    page = framed("x" * (MOST_HTML + 1))

    assert page.endswith("(cut here: the first 1,000,000 of 1,000,001 characters)</em></p>")
