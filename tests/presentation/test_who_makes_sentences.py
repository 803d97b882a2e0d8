"""Rounds hand on codes and numbers; what people read is made in monitor.presentation alone."""

import ast
from pathlib import Path

import pytest

import monitor.rounds

ROUNDS = Path(monitor.rounds.__file__).parent
ROOMS = sorted(path for path in ROUNDS.iterdir() if path.name != "__pycache__")
WORDS = 3


def sentences(code):
    """Texts of some words in a module that are no docstring, error message or line of the log."""
    tree = ast.parse(code)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and len(node.value.split()) >= WORDS
        and not any(is_exempt(above) for above in ancestors(node, parents))
    ]


def ancestors(node, parents):
    while node in parents:
        node = parents[node]
        yield node


def is_exempt(node):
    match node:
        case ast.Expr(value=ast.Constant()):  # a docstring
            return True
        case ast.Assign(targets=[ast.Name(id="message")]):  # of an error that is raised right here
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="log"))):
            return True
    return False


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("reason = f'{n} answers came in time'", [" answers came in time"]),
        ("reason = 'all labels are in'", ["all labels are in"]),
        ("'''What a module does.'''", []),
        ("message = 'the source is down'\nraise TryLater(message)", []),
        ("log.info('another worker has this round')", []),
        ("status = 'waiting'", []),
    ],
)
def test_a_sentence_is_known_by_its_words_and_its_place(code, found):
    assert sentences(code) == found


def test_no_step_of_a_round_words_what_people_read():
    files = [file for room in ROOMS for file in (room.rglob("*.py") if room.is_dir() else [room])]

    found = {str(file.relative_to(ROUNDS)): sentences(file.read_text()) for file in files}

    assert len(files) > len(ROOMS)
    assert {file: texts for file, texts in found.items() if texts} == {}
