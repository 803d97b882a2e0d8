"""How sentences begin and end."""

from __future__ import annotations


def ended(text: str) -> str:
    """End a sentence, unless it ends as a question.

    >>> ended("nothing is flagged"), ended("is the source up to date?")
    ('nothing is flagged.', 'is the source up to date?')
    """
    return text if text.endswith("?") else f"{text}."


def capital(text: str) -> str:
    """Begin a sentence with a capital letter."""
    return text[:1].upper() + text[1:]
