"""What people see in MLflow of an item: its texts as they are, and nothing else."""

import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from monitor.domain.model import Task
from monitor.domain.shown import text_batches
from monitor.domain.visible import visible_lines
from monitor.plugins.mlflow_review import traces
from monitor.plugins.mlflow_review.traces import as_markdown, message_of, trace, trace_id

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
HARMLESS = {"p", "br"}


class Shown(HTMLParser):
    """Tags and texts of what Markdown made."""

    def __init__(self, markdown):
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(MarkdownIt("gfm-like", {"linkify": False}).render(markdown))

    def handle_starttag(self, tag, _):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text += data


def words(text):
    return re.sub(r"\s+", " ", text).strip()


HOSTILE = [
    "![track](http://127.0.0.1:9/seen.png)",
    "[click](http://evil.example)",
    "<img src=x onerror=alert(1)> <script>alert(1)</script> <!-- -->",
    "# heading\n## two",
    "heading?\n===\nother?\n---",
    "    indented\n\tcode",
    "```\nfence\n```\n~~~\nx\n~~~",
    "1. one\n2) two\n- three\n+ four\n* five",
    "> quoted",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "**bold** _it_ ~~gone~~ `code` $x^2$",
    "[ref]: http://evil.example\n[ref]",
    "&lt;b&gt; &#33;",
    "ends with a backslash \\",
    "two  \nlines\r\nand\rthree",
    "***\n---\n___",
    "\u202egnp.exe \x1b[31m",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_is_shown_as_it_stands_and_formats_nothing(text):
    shown = Shown(as_markdown(text))

    assert shown.tags <= HARMLESS
    assert words(shown.text) == words(visible_lines(text))


@settings(max_examples=50)
@given(st.lists(st.sampled_from([*"\\`*_{}[]()<>#+-.!|~&$=:1a \n\t\r", "http://a.b", "    ", "é"])))
def test_any_text_is_shown_as_it_stands(parts):
    text = "".join(parts)

    shown = Shown(as_markdown(text))

    assert shown.tags <= HARMLESS
    assert words(shown.text) == words(visible_lines(text))


def test_several_columns_have_their_names_above_them_and_one_has_none():
    one = message_of(Task("k", "i", {"body": "hello"}))
    two = message_of(Task("k", "i", {"sub_ject": "hi", "body": "hello"}))

    assert one == "hello"
    assert two == "**sub\\_ject**\n\nhi\n\n**body**\n\nhello"


def test_an_empty_text_and_the_end_of_a_long_one_are_named():
    empty = message_of(Task("k", "i", {"body": " \n"}))
    long = message_of(Task("k", "i", {"body": "a" * (traces.LONGEST + 1234)}))

    assert empty == "*(nothing to show)*"
    assert long.endswith("*(cut here; 1,234 more characters)*")
    assert len(long) < traces.LONGEST + 100


def test_no_request_is_larger_than_what_a_server_takes():
    most = traces.BATCH, traces.BATCH_TEXT
    many = {f"t{n}": "x" for n in range(2 * traces.BATCH + 1)}
    large = {f"t{n}": "x" * (traces.BATCH_TEXT // 2) for n in range(3)}

    assert [len(batch) for batch in text_batches(many, *most)] == [traces.BATCH, traces.BATCH, 1]
    assert [len(batch) for batch in text_batches(large, *most)] == [2, 1]
    assert list(text_batches({}, *most)) == []


def test_a_trace_says_when_it_was_posted_and_nothing_of_the_order_of_tasks():
    ids = [trace_id("store", "experiment", f"t{n:03}") for n in range(100)]

    times = [int(trace(id_, "text", {}, NOW)["startTimeUnixNano"]) for id_ in ids]

    second = int(NOW.timestamp()) * 10**9
    assert all(second <= time < second + 10**9 for time in times)
    assert sorted(range(100), key=times.__getitem__) != list(range(100))
    assert sorted(ids, key=lambda id_: times[ids.index(id_)]) != ids
