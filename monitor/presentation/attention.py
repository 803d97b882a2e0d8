"""What needs a look about a round, in a line."""

from __future__ import annotations

from monitor.domain.attention import Attention, Matter
from monitor.presentation.numbers import NOT_ESTIMABLE


def attention_text(attention: Attention) -> str:
    """Describe what it is, and of which round.

    >>> from monitor.domain.attention import Attention
    >>> attention_text(Attention("mail", 4, Matter.NOT_ESTIMABLE, "no positives", "recall"))
    'round 4: recall is not estimable: no positives'
    """
    return f"round {attention.round}: {_matter(attention)}"


def _matter(attention: Attention) -> str:
    match attention.matter:
        case Matter.CONCERN | Matter.ABANDONED:
            return str(attention.reason)
        case Matter.NOT_ESTIMABLE:
            return f"{attention.metric} is {NOT_ESTIMABLE}: {attention.reason}"
        case Matter.UNANSWERED:
            return "it has no answer, and more than half of the time for labels is over"
