"""How sentences begin; a clause gets its full stop where it becomes a sentence.

So no clause ends as a question: what it asks is in brackets.
"""

from __future__ import annotations


def capital(text: str) -> str:
    """Begin a sentence with a capital letter."""
    return text[:1].upper() + text[1:]
