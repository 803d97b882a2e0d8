"""The guideline: Markdown from the config, as HTML; raw HTML in it is escaped."""

from __future__ import annotations

from functools import lru_cache

from markdown_it import MarkdownIt

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


@lru_cache(maxsize=32)
def as_html(text: str | None) -> str | None:
    """Write a guideline as HTML; HTML in it stays text, and a picture is a link.

    >>> print(as_html("**Yes** if <b>booked</b>"))
    <p><strong>Yes</strong> if &lt;b&gt;booked&lt;/b&gt;</p>
    <BLANKLINE>
    """
    return None if text is None else _MARKDOWN.render(text)
