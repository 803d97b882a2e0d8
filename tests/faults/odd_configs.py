"""Config files as nobody should write them, for tests that read very many."""

import json

import yaml
from hypothesis import strategies as st

from tests.config_texts import TEXT

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(
        ["", "${", "${OPS_HOOK}", "$${", "0s", "UTC", "a/../b", "\x00", "1e400", "9" * 5000]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)
TREE = yaml.safe_load(TEXT)
LEAVES = (
    *("!!python/object/apply:os.system [id]", "!!python/object:monitor.config.model.Config {}"),
    *("!!binary aGk=", "!!set {a, b}", "!!omap [a: 1]", "!!timestamp 2026-01-02", "!own {a: 1}"),
    *("&a [*a]", "*nowhere", "{<<: {a: 1}, b: 2}", "{a: 1, a: 2}", "{? [1] : 2, ? {b: 1} : 3}"),
    *("|\n  text", ">-\n\ttext", "2026-13-45T99:99:99", "12:30:45", "0o9", "0x", "1__0"),
    *("-.inf", ".nan", "= 1", "~", "'", '"\\xZZ"', '"\\ud800"', "\x85", "\u2028", "\ufeff"),
)
PIECES = ("- ", "? ", "%YAML 1.1\n", "%TAG ! x\n", "---\n", "...\n", "<<: ", "\t", "\r", "\x0c")


def places_in(tree, way=()):
    items = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    for key, value in items:
        yield (*way, key)
        yield from places_in(value, (*way, key))


@st.composite
def mutated_trees(draw):
    tree = json.loads(json.dumps(TREE))
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(list(places_in(tree))))
        inner = tree
        for part in way:
            inner = inner[part]
        if isinstance(inner, dict) and draw(st.booleans()):
            inner[draw(st.text(max_size=8))] = inner.pop(last)
        else:
            inner[last] = draw(VALUES)
        if not list(places_in(tree)):
            break
    return json.dumps(tree, indent=1, ensure_ascii=draw(st.booleans()))


@st.composite
def mutated_texts(draw):
    text = TEXT
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.sampled_from([0, 1, 2, 10, 80]))
        extra = draw(
            st.text(max_size=4)
            | st.sampled_from("{}[]:,#&*!|>%@`'\"\n\t-")
            | st.sampled_from(PIECES + LEAVES)
        )
        text = text[:start] + extra + text[end:]
    return text


@st.composite
def odd_values(draw):
    """A good config in which one value is something that YAML has and configs have not."""
    tree = json.loads(json.dumps(TREE))
    *way, last = draw(st.sampled_from(list(places_in(tree))))
    inner = tree
    for part in way:
        inner = inner[part]
    inner[last] = "odd value"
    return json.dumps(tree).replace('"odd value"', f"\n {draw(st.sampled_from(LEAVES))}\n ")


texts = mutated_trees() | mutated_texts() | odd_values() | st.text()
odd_configs = st.one_of(
    texts.map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from(["utf-16", "utf-8-sig", "latin-1", "utf-32"]).map(TEXT.encode),
    st.binary(max_size=200),
    st.binary(max_size=8).map(lambda junk: TEXT.encode() + junk),
)
