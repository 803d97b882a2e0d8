"""Names and docstrings keep to the field's words: what remains of others may only become less."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

from tests.pages import generator

MONITOR = Path(__file__).parents[1] / "monitor"

AVOIDED = {
    *("found", "place", "places", "asked", "asker", "said", "say", "told", "tell", "wanted"),
    *("look", "looks", "looked", "known", "kept", "left", "stand", "standing", "ahead", "beside"),
    *("mine", "desk", "visit", "entrance", "door", "patience", "pulse", "lanes", "words", "handed"),
    *("given", "nobody", "mark", "tries", "news", "odd", "alike", "gone", "again"),
}
"""Parts of names that say little: name what was found, the index, the request, the answer."""

UNCLEAR = re.compile(
    r"^(Say|Tell|Look|Hand|Put)\b|\b(whatever|whoever|whichever)\b|\b(that|those) of\b"
    r"|\b(none|nothing) (where|there|of)\b|\bof (theirs|ours|its own|their own)\b|\bis none\b",
    re.MULTILINE,
)
"""Phrases of docstrings that a reader has to read twice."""

UNIDIOMATIC = re.compile(
    r"\b(so many|anew|by now|says nothing|as ever|in vain|no end is to be)\b(?! that)"
    r"|\b(leave|leaves) (it|them) out\b|\bwhat (was|is) (wrong|odd|asked) stands\b"
    r"|\b(was|were) to be (expected|had|seen|found)\b|\bwritten (alike|otherwise)\b"
    r"|\b(others|other) than before\b|\bthose there (are|were)\b|\btells nothing\b"
)
"""Phrases of messages that a native engineer would not say to a colleague."""

MOST_NAMES, MOST_CLASSES, MOST_DOCSTRINGS = 49, 0, 11
"""What remains today. Lower these numbers when you rename or reword; never raise them."""


@cache
def trees():
    return [ast.parse(path.read_text()) for path in sorted(MONITOR.rglob("*.py"))]


@cache
def parts(name):
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def names(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_no_more_names_avoid_the_words_of_the_field():
    avoiding = [name for tree in trees() for name in names(tree) if parts(name) & AVOIDED]

    assert len(avoiding) <= MOST_NAMES, Counter(avoiding).most_common(40)


def test_a_class_name_has_one_meaning():
    classes = Counter(
        node.name.lstrip("_")
        for tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )

    assert [name for name, count in classes.items() if count > 1][MOST_CLASSES:] == []


def test_no_more_docstrings_are_hard_to_read():
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [
        ast.get_docstring(node) or ""
        for tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, documented)
    ]

    unclear = [text.splitlines()[0] for text in texts if UNCLEAR.search(text)]

    assert len(unclear) <= MOST_DOCSTRINGS, unclear[:40]


def test_no_message_has_a_phrase_that_nobody_says():
    messages = generator("generate_notices")["messages"]()

    unidiomatic = {
        where: text
        for where, text in messages.items()
        if UNIDIOMATIC.search(text) and not text.startswith("<!--")  # a mark in stored texts
    }

    assert len(messages) > 1000
    assert unidiomatic == {}
