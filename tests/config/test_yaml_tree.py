"""A file is read as it was written, each value with its line, by either parser of PyYAML."""

import json

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.config import yaml_tree
from monitor.config.yaml_tree import Tree, read_yaml

PARSERS = [yaml.CBaseLoader, yaml.BaseLoader]
# YAML 1.2.2, section 10.3.2, and digits in groups besides.
NULLS = ["", "~", "null", "Null", "NULL"]
BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
INTS = {"0": 0, "-19": -19, "+1": 1, "017": 17, "0o17": 15, "0x1F": 31, "0b11": 3, "1_000": 1000}
FLOATS = {"0.": 0.0, "-.5": -0.5, ".5e3": 500.0, "1e3": 1e3, "-2E+05": -2e5, "1_0.5": 10.5}
FLOATS |= {".inf": float("inf"), "-.Inf": -float("inf"), "+.INF": float("inf")}
TEXTS = "yes no on off y N tRue nULL 12:30 2026-01-02 1.2.3 6h 0x 0o8 -_ . 1e inf nan << = a:b a#b"
READ = {**dict.fromkeys(NULLS), **BOOLS, **INTS, **FLOATS}
READ |= {text: text for text in [*TEXTS.split(), "9" * 5000]}

texts = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=8)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers() | floats | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


def read(folder, text, parser):
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(yaml_tree, "_PARSER", parser)
        return read_yaml(path)


def parts_of(value):
    if isinstance(value, dict):
        return [(f"{json.dumps(key, ensure_ascii=False)}:", key, of) for key, of in value.items()]
    return [("-", place, of) for place, of in enumerate(value)] if isinstance(value, list) else []


class Writer:
    """Writes values as people do, in blocks or on one line, and remembers the line of each."""

    def __init__(self, draw):
        self.draw = draw
        self.text, self.lines = [], {}

    def write(self, value, way=(), indent=""):
        """Write a value in a block; returns its first line."""
        first = None
        for head, key, part in parts_of(value):
            self.text += self.draw(st.sampled_from([[], [], [""], [f"{indent}# a: [*b"]]))
            self.text.append(indent + head)
            here, line = (*way, key), len(self.text)
            if parts_of(part) and self.draw(st.booleans()):
                begins = self.write(part, here, f"{indent}  ")
            else:
                self.text[-1] += f" {json.dumps(part, ensure_ascii=False)}"
                begins = line
                self.note(part, here)
            self.lines[here] = begins if head == "-" else line  # an item is where its value begins
            first = first or line
        return first

    def note(self, part, way):
        self.lines[way] = len(self.text)
        for _, key, of in parts_of(part):
            self.note(of, (*way, key))


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.dictionaries(texts, values, min_size=1, max_size=4))
def test_what_is_written_is_read_with_its_lines(tmp_path, data, written):
    writer = Writer(data.draw)
    first = writer.write(written)

    for parser in PARSERS:
        tree = read(tmp_path, "\n".join(writer.text), parser)

        assert repr(tree.values) == repr(written)  # 1 is not True
        assert tree.lines == {(): first, **writer.lines}
        assert tree.problems == {}


@pytest.mark.parametrize("parser", PARSERS)
def test_words_without_quotes_are_read_as_yaml_1_2_says_and_with_quotes_as_text(tmp_path, parser):
    plain = "".join(f"- {word}\n" for word in READ)
    quoted = "".join(f"- '{word}'\n" for word in READ)

    assert repr(read(tmp_path, plain, parser).values) == repr([*READ.values()])
    assert read(tmp_path, quoted, parser).values == [*READ]
    assert repr(read(tmp_path, "- .nan\n", parser).values) == "[nan]"


@pytest.mark.parametrize("parser", PARSERS)
def test_an_alias_is_read_as_what_it_stands_for_with_the_lines_of_that(tmp_path, parser):
    text = "a: &x 1\nb: &y\n  c: [*x]\nd: &z 2\ne:\n- *y\n- *z\n*z : 3\n"

    assert read(tmp_path, text, parser) == Tree(
        {"a": 1, "b": {"c": [1]}, "d": 2, "e": [{"c": [1]}, 2], "2": 3},
        {
            (): 1, ("a",): 1, ("b",): 2, ("b", "c"): 3, ("b", "c", 0): 1, ("d",): 4, ("e",): 5,
            ("e", 0): 2, ("e", 0, "c"): 3, ("e", 0, "c", 0): 1, ("e", 1): 4, ("2",): 4,
        },
    )  # fmt: skip
