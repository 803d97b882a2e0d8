"""What people see in Label Studio: the question with three answers, and the text of an item."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

from monitor.domain.model import Answer
from monitor.domain.visible import visible, visible_lines

AT_MOST = 200_000  # Characters of an item that are shown

REMOVED = "What this item showed was deleted."

CONTROL = "answer"  # Name of the choices in the labeling config, which each answer repeats

CHOICES = {"yes": Answer.POSITIVE, "no": Answer.NEGATIVE, "cannot tell": Answer.CANNOT_TELL}
_HOTKEYS = {"yes": "1", "no": "0", "cannot tell": "2"}
_WORD_JOINER = "\u2060"


def labeling_config(question: str) -> str:
    """Write the labeling config of a question.

    A word joiner, which nobody sees, keeps Label Studio from reading ``$100`` as the name of a
    field.
    """
    header = quoteattr(visible(question).replace("$", f"${_WORD_JOINER}"))
    choices = "".join(
        f'<Choice value="{choice}" hotkey="{_HOTKEYS[choice]}"/>' for choice in CHOICES
    )
    return (
        f"<View><Header value={header}/>"
        '<Text name="text" value="$text" valueType="text" saveTextResult="no"/>'
        f'<Choices name="{CONTROL}" toName="text" choice="single-radio" required="true" '
        f'requiredMessage="Choose one of the three answers">{choices}</Choices></View>'
    )


def text_of(shown: Mapping[str, str]) -> str:
    r"""Write what labelers may see of an item as one text.

    >>> text_of({"subject": "hello"})
    'hello'
    >>> text_of({"subject": "hello", "body": "two\nlines"})
    'subject: hello\n\nbody: two\nlines'
    """
    if len(shown) == 1:
        [text] = shown.values()
    else:
        text = "\n\n".join(f"{name}: {text}" for name, text in shown.items())
    text = visible_lines(text)
    if len(text) > AT_MOST:
        return f"{text[:AT_MOST]}\n\n(cut here: the text has {len(text):,} characters)"
    return text or "(there is no text)"
