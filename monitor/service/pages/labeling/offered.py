"""What a page asks about an item: its question, the guideline, and the answers it offers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from markdown_it import MarkdownIt

from monitor.domain.model import Answer
from monitor.domain.page_answer import ClassChosen

if TYPE_CHECKING:
    from monitor.storage.pages.page_store import PageRound

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
MOST_KEYS = 9  # Classes that have a key of their own; of more, letters find one


class Offer(NamedTuple):
    """An answer as a button: the value it sends, its text, and its keys."""

    value: str
    word: str
    keys: str = ""


class Offered(NamedTuple):
    """All answers to a question: of ``classes`` where those are asked, and the ``others``."""

    classes: Sequence[Offer]
    others: Sequence[Offer]

    @property
    def are_many(self) -> bool:
        """Whether there are more classes than keys."""
        return len(self.classes) > MOST_KEYS

    @property
    def all(self) -> Sequence[Offer]:
        """Every answer, classes first."""
        return [*self.classes, *self.others]


def question_values(page_round: PageRound, unsure: str = "Cannot tell") -> dict[str, Any]:
    """Return the values of an item's page that come from its round."""
    return {
        "question": page_round.question,
        "guideline": as_html(page_round.guideline),
        "offered": offered(page_round.choices, unsure),
    }


@lru_cache(maxsize=32)
def as_html(text: str | None) -> str | None:
    """Write a guideline as HTML; HTML in it stays text, and a picture is a link.

    >>> print(as_html("**Yes** if <b>booked</b>"))
    <p><strong>Yes</strong> if &lt;b&gt;booked&lt;/b&gt;</p>
    <BLANKLINE>
    """
    return None if text is None else _MARKDOWN.render(text)


def offered(choices: Sequence[str], unsure: str = "Cannot tell") -> Offered:
    """Make the answers to a question with some choices; without any it is yes or no.

    >>> [(one.word, one.keys) for one in offered(["travel"]).all]
    [('travel', '1'), ('None of these', '0'), ('Cannot tell', '?')]
    """
    undecided = Offer(Answer.CANNOT_TELL, unsure, "?")
    if not choices:
        both = (Offer(Answer.POSITIVE, "Yes", "1 y"), Offer(Answer.NEGATIVE, "No", "0 n"))
        return Offered((), (*both, undecided))
    has_keys = len(choices) <= MOST_KEYS
    classes = [
        Offer(str(ClassChosen(index)), name or "(empty)", str(index + 1) if has_keys else "")
        for index, name in enumerate(choices)
    ]
    return Offered(classes, (Offer(Answer.NEGATIVE, "None of these", "0"), undecided))
