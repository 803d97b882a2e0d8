"""HTML of strangers, as it is in its own frame on the labeling page.

The frame is a sandbox: no script runs, nothing is loaded, no form is sent and no window opened, by
what its answer says to the browser. What that leaves open is taken out of the text: elements that
lead elsewhere when they are clicked, or that look up an address, become elements of no meaning.
"""

from __future__ import annotations

import re

from monitor.domain.visible import visible_lines

AT_MOST = 1_000_000  # Characters of HTML that are shown

HEADERS = {
    "content-security-policy": (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
    ),
    "x-dns-prefetch-control": "off",
    "x-frame-options": "SAMEORIGIN",
    "referrer-policy": "no-referrer",
}

_LEADING = re.compile(r"<(/?)(a|area|base|link|meta)(?=[\s/>])", re.IGNORECASE)
_REFERENCE = re.compile(r"&#(?:x0*([0-9a-f]{1,6})|0*([0-9]{1,7}))(?![0-9a-f]);?", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_BLOCK = re.compile(r"<(?:p|br|div|tr|li|h[1-6])(?=[\s/>])")
_LINE = 70  # letters
_LEAST, _MOST = 96, 600
_FIRST_STEERING = 0x2000  # below it browsers read many of these numbers as other characters
_PAGE = (
    '<!doctype html><meta charset="utf-8"><style>:root{color-scheme:light;background:#fff;'
    "color:#000}body{font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere;margin:0.75rem}"
    "img{max-width:100%}</style>\n"
)
_CUT = "<p><em>(cut here: the first {shown:,} of {all:,} characters)</em></p>"


def framed(html: str) -> str:
    """Make a page of HTML that people are shown.

    >>> framed('<a href="https://example.org">here</a>').splitlines()[-1]
    '<x-a href="https://example.org">here</x-a>'
    """
    cut = _CUT.format(shown=AT_MOST, all=len(html)) if len(html) > AT_MOST else ""
    text = _REFERENCE.sub(_seen, visible_lines(html[:AT_MOST]))
    return _PAGE + _LEADING.sub(r"<\1x-\2", text) + cut


def height_of(html: str) -> int:
    """Guess how many pixels a page of HTML needs, since a sandbox does not tell; beyond it scrolls.

    >>> height_of("<p>short</p>"), height_of("<p>line</p>" * 100)
    (96, 600)
    """
    pieces = html[:AT_MOST].lower().split("</style")
    read = " ".join(piece.partition("<style")[0] for piece in pieces)
    letters = len(" ".join(_TAG.sub(" ", read).split()))
    lines = letters / _LINE + len(_BLOCK.findall(read)) + 6 * read.count("data:image/")
    return round(min(max(_LEAST, 56 + 28 * lines), _MOST))


def _seen(reference: re.Match[str]) -> str:
    """Show a character that steers by its code, also where HTML names it by its number."""
    code = int(reference[1], 16) if reference[1] else int(reference[2])
    if not _FIRST_STEERING <= code < 0x10000:  # noqa: PLR2004  those beyond it show
        return reference[0]
    char = chr(code)
    return reference[0] if visible_lines(char) == char else visible_lines(char)
