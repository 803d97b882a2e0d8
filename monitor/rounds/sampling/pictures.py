"""Pictures that people would not see: said where they are few, refused where they are not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from monitor.domain.errors import SourceRefused
from monitor.domain.shown import Shown, problem_of
from monitor.presentation.windows import broken_pictures_sentence

if TYPE_CHECKING:
    from collections.abc import Collection

    from monitor.domain.settings import RoundSettings


def broken_pictures(shown: Collection[Shown], settings: RoundSettings) -> tuple[str, ...]:
    """Return how many of these items have a picture that cannot be shown; nothing if none has.

    Raises `SourceRefused` if they are more than may be unusable of a window's rows.
    """
    problems = [problem for one in shown if (problem := problem_of(one)) is not None]
    if not problems:
        return ()
    sentence = broken_pictures_sentence(Counter(problems), len(shown))
    if len(problems) > settings.bad_rows_max * len(shown):
        message = f"{sentence}, more than bad_rows_max = {settings.bad_rows_max:g} allows"
        raise SourceRefused(message, is_public=True)
    return (sentence,)
