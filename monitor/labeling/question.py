"""The question that people are asked, as a setting of each kind of labeling."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field


def _says_something(value: str) -> str:
    if not value.strip():
        message = "it asks nothing; write the question that people answer, with its question mark"
        raise ValueError(message)
    return value.strip()


Question = Annotated[str, Field(max_length=300), AfterValidator(_says_something)]
"""A question that "yes" and "no" answer."""
