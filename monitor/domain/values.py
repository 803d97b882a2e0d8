"""Values of a column: blanks, words for missing values, synonyms and lists for messages."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Mapping


def rounded_below(threshold: float | None) -> float | None:
    """Return the threshold rounded to a 32-bit float if that is less; else None.

    A model with 32-bit scores compares them with the rounded threshold.

    >>> rounded_below(0.7), rounded_below(0.1), rounded_below(0.5)
    (0.699999988079071, None, None)
    """
    if threshold is None:
        return None
    try:
        [rounded] = struct.unpack("f", struct.pack("f", threshold))
    except OverflowError:  # no 32-bit number is as large
        return None
    return float(rounded) if rounded < threshold else None


BLANKS = " \t\n\v\f\r\u00a0\u2007\u202f\u3000\ufeff"
"""Insignificant characters around an id or a label, added by exports and spreadsheets."""

MISSING_MARKERS = frozenset(
    (
        *("<NA>", "NA", "N/A", "n/a", "#N/A", "#NA", "NaN", "nan", "NAN", "-nan", "-NaN"),
        *("1.#QNAN", "-1.#IND", "NaT", "None", "NULL", "Null", "null", "\\N"),
    )
)
"""Words that a cast to text writes for a missing value (those of ``pandas.read_csv``, and of
databases)."""

DOUBTFUL = frozenset(
    (
        *("none", "nil", "undefined", "missing", "unknown", "pending", "open", "tbd", "todo"),
        *("skip", "skipped", "unlabeled", "unlabelled", "unsure", "undecided", "error"),
        *("-", "--", "?", "(null)", "(none)"),
        *("#value!", "#ref!", "#div/0!", "#name?", "#null!", "#num!"),
    )
)
"""Lower-case words that may mean either a missing label or a negative one."""

_PUNCTUATION = BLANKS + ".,;:!?|/&*#`'\"()[]{}"
_JOINTS = re.compile(r"(?<=\w)[\s_-]+(?=\w)")
_DENIALS = ("no", "not", "non", "never", "without")
_WORD_BEGINS = r"(?<![\w<>=≤≥~%$-])(?<!\d[.])" + "".join(rf"(?<!\b{no}\s)" for no in _DENIALS)
_WORD_ENDS = r"(?![\w<>=≤≥~%$-]|[+](?!\w)|[.]\d)"

_SAME = (("true", "t", "yes", "y", "1", "1.0"), ("false", "f", "no", "n", "0", "0.0"))
_LETTERS = frozenset("tyfn")
_SHOWN = 4
_LONGEST = 40  # characters of one value


def synonyms(text: str) -> tuple[str, ...]:
    """Return the lower-case synonyms of a value; one letter is never a synonym of another.

    >>> synonyms(" Prod"), synonyms("True")
    (('prod',), ('true', 't', 'yes', 'y', '1', '1.0'))
    >>> synonyms("t")
    ('true', 't', 'yes', '1', '1.0')
    """
    folded = text.strip().lower()
    group = next((each for each in _SAME if folded in each), (folded,))
    excluded = _LETTERS - {folded} if folded in _LETTERS else ()
    return tuple(word for word in group if word not in excluded)


_FENCE = re.compile(r"^`{3,}\s*(?:json|text|txt|plaintext|yaml)?\s|`")


def core_text(text: str) -> str:
    """Normalize a value: drop case, extra blanks, punctuation and a code fence.

    A JSON object or list with a single value is replaced by that value.

    >>> core_text(" Yes."), core_text("**yes**"), core_text('```json {"verdict": "yes"} ```')
    ('yes', 'yes', 'yes')
    >>> core_text("not spam")
    'not spam'
    """
    bare = _FENCE.sub("", text.strip(BLANKS)).strip(BLANKS)
    try:
        value = json.loads(bare)
    except (ValueError, RecursionError):
        value = bare
    while isinstance(value, dict | list) and len(value) == 1:
        [value] = value.values() if isinstance(value, dict) else value
    return " ".join(re.findall(r"\w+", str(value).casefold())) or bare


def zero_one(value: object) -> object:
    """Convert a word that means yes or no to 1 or 0; return other values unchanged.

    >>> zero_one(" Yes"), zero_one("false"), zero_one("spam"), zero_one(0.5)
    (1, 0, 'spam', 0.5)
    """
    if not isinstance(value, str):
        return value
    word = value.strip(BLANKS).lower()
    yes, no = _SAME
    return 1 if word in yes else 0 if word in no else value


def listed(values: Mapping[str, int]) -> str:
    """List values with their numbers of rows, the most frequent first.

    >>> listed({"spam": 3, "ham": 20})
    "'ham' (20 rows), 'spam' (3 rows)"
    """
    ordered = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{text[:_LONGEST]!r} ({count} rows)" for text, count in ordered[:_SHOWN]]
    more = len(ordered) - _SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


class Words:
    """Matcher for words within a longer value, ignoring case and punctuation.

    A hyphen or an underscore joins two words into one; a comparison sign is part of its word. A
    word after ``no``, ``not``, ``non``, ``never`` or ``without`` does not match.

    >>> fraud = Words(["fraud"])
    >>> fraud.are_in("Fraud."), fraud.are_in('["fraud", "account takeover"]')
    (True, True)
    >>> fraud.are_in("not fraud"), fraud.are_in("fraud-free"), Words([">50K"]).are_in("<=50K")
    (False, False, False)
    """

    def __init__(self, words: Iterable[str]) -> None:
        bare = {unpunctuated(word) for word in words} - {""}
        self._pattern = re.compile(
            f"{_WORD_BEGINS}(?:{'|'.join(map(_loosely, sorted(bare)))}){_WORD_ENDS}"
        )
        self._is_empty = not bare

    def are_in(self, text: str) -> bool:
        """Whether a text contains one of these words."""
        return not self._is_empty and self._pattern.search(text.casefold()) is not None


def unpunctuated(text: str) -> str:
    """Return a value in lower case, without the punctuation around it.

    >>> unpunctuated(" **Yes!** "), unpunctuated(">50K"), unpunctuated("?")
    ('yes', '>50k', '')
    """
    return text.casefold().strip(_PUNCTUATION)


def _loosely(word: str) -> str:
    """Return a pattern of a word whose parts may be joined by blanks, hyphens or underscores."""
    return r"[\s_-]+".join(map(re.escape, _JOINTS.split(word)))
