"""Receipts: the answer to an effect that is done, kept with it as text."""

from __future__ import annotations

import json

_UNTAGGED = "untagged"


def untagged(why: str) -> str:
    """Write the receipt of tags that their model version did not take.

    >>> untagged("there is no version 7")
    '{"untagged": "there is no version 7"}'
    """
    return json.dumps({_UNTAGGED: why}, ensure_ascii=False)


def why_untagged(receipt: str) -> str | None:
    """Read why a model version was not tagged; None from any other receipt.

    >>> why_untagged(untagged("there is no version 7"))
    'there is no version 7'
    >>> why_untagged("models:/mail/7") is None
    True
    """
    try:
        content = json.loads(receipt)
    except ValueError:
        return None
    why = content.get(_UNTAGGED) if isinstance(content, dict) else None
    return None if why is None else str(why)
