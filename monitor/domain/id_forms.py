"""Alternative spellings of ids, to find labels whose id is not written as in the predictions."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal
from typing import NamedTuple

SHORTEST = 4  # Characters of the shortest id that is sought within another
CUT = 12  # Characters from which on the beginning of an id tells it from others
_OFTEN = 2  # ids that are written alike before it counts as a style
_LONGEST = 80  # characters of an id within which others are sought
_EXACT = 2**53  # up to it a float holds every whole number
_LARGEST = 10**40  # no id is as large; a float has an end
_SPREADSHEET = 15  # digits of a number that a spreadsheet keeps
_SCIENTIFIC = re.compile(r"(\d)(?:[.](\d+))?([eE][+]?0?)\d+")


class NearMiss(NamedTuple):
    """An item whose id is spelled differently in the truth."""

    item: str
    form: str
    difference: str


class IdStyles(NamedTuple):
    """How a table spells its ids.

    ``zeros``, ``blanks`` and ``cuts`` are the lengths of ids with leading zeros, with trailing
    blanks, and cut short. ``around`` are prefixes and suffixes added to the ids of predictions.
    ``exponents`` are the number of decimals of ids such as 1.23E+11, and the text before the
    exponent's digits. ``doubles`` pair an item's id rounded to a float with the table's exact id.
    """

    zeros: frozenset[int] = frozenset()
    blanks: frozenset[int] = frozenset()
    around: frozenset[tuple[str, str]] = frozenset()
    cuts: frozenset[int] = frozenset()
    exponents: frozenset[tuple[int, str]] = frozenset()
    doubles: frozenset[tuple[str, str]] = frozenset()


def id_styles(examples: Iterable[str], items: Collection[str]) -> IdStyles:
    """Infer how a table spells its ids, from examples and the ids of predictions.

    >>> items = ["m00017", "m00018", "m00019"]
    >>> id_styles(["mail:m00017", "mail:m00019", "m00018"], items).around
    frozenset({('mail:', '')})
    """
    ids = set(items)
    folded = {item.casefold() for item in ids}
    beginnings = {item[:width] for item in ids for width in range(CUT, len(item))}
    written = list(examples)
    exponents = set[tuple[int, str]]()
    frames, cuts = Counter[tuple[str, str]](), Counter[int]()
    for example in written:
        if match := _SCIENTIFIC.fullmatch(example):
            exponents.add((len(match[2] or ""), match[3]))
        if example in ids:
            continue
        if example in beginnings:
            cuts[len(example)] += 1
        elif (affixes := _affixes(example, folded)) is not None:
            frames[affixes] += 1
    return IdStyles(
        frozenset(len(each) for each in written if each.isdigit() and each.startswith("0")),
        frozenset(len(each) for each in written if each != each.rstrip()),
        frozenset(each for each, count in frames.items() if count >= _OFTEN),
        frozenset(each for each, count in cuts.items() if count >= _OFTEN),
        frozenset(exponents),
        frozenset(
            (rounded, example)
            for example in written
            if example not in ids
            for rounded in _as_float(example)
            if rounded in ids
        ),
    )


def _affixes(example: str, folded: Collection[str]) -> tuple[str, str] | None:
    """Return the text around the longest id in an example, splitting no word or number."""
    text = example.casefold()
    if len(text) != len(example) or len(text) > _LONGEST:
        return None
    ends = [end for end in range(len(text) + 1) if end in (0, len(text)) or _is_edge(text, end)]
    spans = [
        (start, end)
        for start in ends
        for end in ends
        if end - start >= SHORTEST and text[start:end] in folded
    ]
    if not spans:
        return None
    start, end = max(spans, key=lambda span: span[1] - span[0])
    affixes = example[:start], example[end:]
    return affixes if any(affixes) else None


def _is_edge(text: str, at: int) -> bool:
    return _kind(text[at - 1]) != _kind(text[at])


def _kind(character: str) -> str:
    if character.isdecimal():
        return "digit"
    return "letter" if character.isalpha() else "other"


def other_forms(item: str, styles: IdStyles) -> Iterator[tuple[str, str]]:
    """Generate the spellings of an id by other tools, each with the kind of difference.

    >>> list(other_forms("7", IdStyles(zeros=frozenset([3]))))
    [('a decimal point', '7.0'), ('leading zeros', '007')]
    >>> [form for _, form in other_forms("00a7", IdStyles())]
    ['00A7']
    """
    cases = item.lower(), item.upper(), item.capitalize(), item.title()
    forms = [("upper and lower case", form) for form in cases]
    if item.isdigit():
        forms += [("a decimal point", f"{item}.0"), ("leading zeros", item.lstrip("0") or "0")]
        forms += [("leading zeros", item.zfill(width)) for width in styles.zeros]
        forms += [("an exponent", form) for form in _scientific(item, styles.exponents)]
        forms += [("digits lost in a float", form) for form in _as_float(item)]
        forms += [
            ("digits lost in a float", form) for rounded, form in styles.doubles if rounded == item
        ]
    forms += [("a decimal point", item.removesuffix(".0")), ("hyphens", item.replace("-", ""))]
    forms += [("blanks", item.ljust(width)) for width in styles.blanks]
    if not item.isascii():
        composed = (unicodedata.normalize(how, item) for how in ("NFC", "NFD", "NFKC"))
        forms += [("the composition of its letters", form) for form in composed]
    for prefix, suffix in styles.around:
        forms += [("what is around it", f"{prefix}{form}{suffix}") for form in {item, *cases[:2]}]
    forms += [("its end", item[:width]) for width in styles.cuts]
    seen = {item}
    for what, form in forms:
        if form not in seen:
            seen.add(form)
            yield what, form


def _scientific(item: str, exponents: Iterable[tuple[int, str]]) -> Iterator[str]:
    for decimals, sign in exponents:
        mantissa, _, exponent = f"{Decimal(item):.{decimals}E}".partition("E+")
        for text in {mantissa, mantissa.rstrip("0").rstrip(".")}:
            yield f"{text}{sign}{exponent}"


def _as_float(text: str) -> Iterator[str]:
    """Generate the spellings of a large whole number after rounding to a float or by a spreadsheet.

    >>> [*_as_float("1234567890123456789")][:2]
    ['1234567890123456768', '1234567890123456800']
    """
    if not (text.isascii() and text.isdigit()) or not _EXACT < int(text) < _LARGEST:
        return
    number = float(text)
    shortest = repr(number)
    wholes = {str(int(number)): None, str(int(Decimal(shortest))): None}
    wholes[text[:_SPREADSHEET] + "0" * (len(text) - _SPREADSHEET)] = None
    yield from wholes
    yield from (f"{whole}.0" for whole in wholes)
    yield shortest
