"""Label files as spreadsheets, scripts and strangers make them."""

import csv
import io
import json

from hypothesis import strategies as st
from openpyxl import Workbook
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

KEYS = ("aa", "bb", "00123", "NA", "1e5")
"""Task keys, some of them such as spreadsheets like to change."""

ODD_TEXTS = st.one_of(
    st.sampled_from(
        [
            *KEYS,
            *("1", "0", "cannot tell", " Cannot  Tell ", "yes", "1.0", "01", "true", "", " "),
            *("123", "100000", "=1+1", "'=1+1", "+1", "-1", "@aa", "\taa", "\x00", "a\x00a"),
            *("2026-03-02T06:00:00+00:00", "2026-03-02", "0001-01-01T00:00:00+14:00"),
            *("9999-12-31T23:59:59-14:00", "\u202ebob", "\ud800", "x" * 300, '"', '""', '"a'),
        ]
    ),
    st.text(max_size=6),
)
COLUMNS = ("task", "label", "annotator", "labeled_at", "note", "text", "Task", "", "label ")
ENDS = ("\r\n", "\n", "\r", "\n\r\n", "\u2028", "\x85")


def quoted(text, always):
    return '"' + text.replace('"', '""') + '"' if always else text


@st.composite
def csv_texts(draw):
    """Mostly a table; quoted by the rules or not, with any ends of lines."""
    names = draw(
        st.sampled_from([["task", "label"], ["task", "label", "annotator", "labeled_at"]])
        | st.lists(st.sampled_from(COLUMNS), max_size=6)
    )
    separator = draw(st.sampled_from(",;\t|"))
    good = st.tuples(st.sampled_from(KEYS), st.sampled_from(["1", "0", "cannot tell", ""]))
    rows = draw(st.lists(good | st.lists(ODD_TEXTS, max_size=6), max_size=6))
    always = draw(st.booleans())
    lines = [separator.join(quoted(cell, always) for cell in row) for row in [names, *rows]]
    return "".join(line + draw(st.sampled_from(ENDS[:2]) | st.sampled_from(ENDS)) for line in lines)


@st.composite
def written_tables(draw):
    """What a careful program writes."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(["task", "label", "annotator", "note"])
    writer.writerows(draw(st.lists(st.tuples(*[ODD_TEXTS] * 4), max_size=5)))
    return stream.getvalue()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ODD_TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(ODD_TEXTS, inner, max_size=2),
    max_leaves=4,
)
json_rows = st.one_of(
    st.fixed_dictionaries(
        {"task": st.sampled_from(KEYS) | JSON, "label": st.sampled_from(["1", 0]) | JSON},
        optional={"annotator": JSON, "labeled_at": JSON},
    ).map(json.dumps),
    JSON.map(json.dumps),
    st.sampled_from(['{"task"', "[" * 3000, "nul", '{"task": "aa", "label": 1} x', "1" * 5000]),
)
prodigy_rows = st.fixed_dictionaries(
    {
        "meta": st.sampled_from(KEYS).map(lambda key: {"task": key}) | JSON,
        "answer": st.sampled_from(["accept", "reject", "ignore"]) | JSON,
    },
    optional={"_annotator_id": ODD_TEXTS, "_timestamp": st.integers(0, 2**31) | JSON},
)
doccano_rows = st.fixed_dictionaries(
    {
        "task": st.sampled_from(KEYS),
        "label": st.sampled_from(["yes", "no"]).map(lambda label: [label]) | JSON,
    }
)
argilla_rows = st.fixed_dictionaries(
    {
        "id": st.sampled_from(KEYS),
        "label.responses": st.just(["yes"]) | JSON,
        "label.responses.users": st.just(["u1"]) | JSON,
        "label.responses.status": st.just(["submitted"]) | JSON,
    },
)
tool_rows = st.one_of(prodigy_rows, doccano_rows, argilla_rows).map(json.dumps)
jsonl_texts = st.lists(json_rows | tool_rows, max_size=5).map("\n".join)


def in_a_cell(text):
    """The text without what no cell can hold."""
    return ILLEGAL_CHARACTERS_RE.sub("", text).encode(errors="replace").decode()


@st.composite
def workbooks(draw):
    """Mostly what a spreadsheet saves; with bytes put into it now and then."""
    header = draw(st.sampled_from([["task", "label"], ["task", "label: Is it?", "annotator"]]))
    good = st.tuples(st.sampled_from(KEYS), st.sampled_from([1, 0, "yes", "cannot tell", True]))
    odd = ODD_TEXTS.map(in_a_cell) | st.integers(-9, 10**9) | st.none()
    rows = draw(st.lists(good | st.lists(odd, max_size=4), max_size=5))
    book = Workbook()
    for row in [header, *rows]:
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    content = stream.getvalue()
    # By place among many: the time of saving is in it, so that two differ in length.
    at = draw(st.integers(0, 9999)) * len(content) // 9999
    return content[:at] + draw(st.sampled_from([b""] * 6 + [b"\0", b"PK"])) + content[at:]


def coded(texts):
    """Put texts into bytes, mostly as UTF-8."""
    encodings = st.sampled_from(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "latin-1", "cp1250"])
    return st.tuples(texts, encodings).map(lambda both: both[0].encode(both[1], "replace"))


junk = st.binary(max_size=80) | st.binary(max_size=40).map(lambda end: b"task,label\naa,1\n" + end)
odd_files = st.one_of(
    st.tuples(st.just("odd.csv"), coded(csv_texts() | written_tables()) | junk),
    st.tuples(st.just("odd.jsonl"), coded(jsonl_texts) | junk),
    st.tuples(st.just("odd.xlsx"), workbooks()),
)
