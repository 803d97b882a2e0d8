"""Answers on the labeling page: yes or no, or the class of an item.

If the page asks for the class, `Answer.NEGATIVE` means "none of these".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from monitor.domain.model import Answer

_CLASS = "class "


@dataclass(frozen=True, slots=True)
class ClassChosen:
    """A chosen class, by its index among the classes offered, from 0.

    >>> str(ClassChosen(2))
    'class 2'
    """

    place: int

    def __str__(self) -> str:
        return f"{_CLASS}{self.place}"


PageAnswer: TypeAlias = Answer | ClassChosen


def read_page_answer(text: str) -> PageAnswer:
    """Parse the text of an answer.

    Raises `ValueError` if the text is not an answer.

    >>> read_page_answer("class 2"), read_page_answer("0")
    (ClassChosen(place=2), <Answer.NEGATIVE: '0'>)
    """
    index = text.removeprefix(_CLASS)
    if index != text and index.isdecimal() and index.isascii():
        return ClassChosen(int(index))
    return Answer(text)


def fits(answer: PageAnswer, choices: int) -> bool:
    """Whether an answer fits a question with ``choices`` classes; 0 is a yes-or-no question."""
    if isinstance(answer, ClassChosen):
        return answer.place < choices
    return not choices or answer is not Answer.POSITIVE


def answer_for(page_answer: PageAnswer, index: int) -> Answer:
    """Return the answer to "Is the item of the class at this index?".

    >>> answer_for(ClassChosen(2), 2), answer_for(ClassChosen(2), 0)
    (<Answer.POSITIVE: '1'>, <Answer.NEGATIVE: '0'>)
    """
    if isinstance(page_answer, ClassChosen):
        return Answer.POSITIVE if page_answer.place == index else Answer.NEGATIVE
    return page_answer
