"""Values of a verdict column that the judge's rule probably misreads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from monitor.domain.judge import Judge, spelled
from monitor.domain.values import DOUBTFUL, core_text


@dataclass(frozen=True, slots=True)
class DoubtfulVerdicts:
    """Rows of doubtful values that are not positive, by value.

    ``positive_in_form`` values differ from a positive only in case, blanks, punctuation or a code
    fence. ``unlisted`` has the others that the config does not list; it is empty if they are noise,
    or one plain answer besides noise.
    """

    positive_in_form: Mapping[str, int]
    unlisted: Mapping[str, int]


def doubtful_verdicts(
    judge: Judge, other_verdicts: Mapping[str, int], least: float
) -> DoubtfulVerdicts:
    """Return the doubtful values of a judge's column.

    Parameters
    ----------
    other_verdicts
        Rows by value, without the positive values.
    least
        Number of rows up to which unlisted values are noise.

    Examples
    --------
    >>> judge = Judge(column="verdict", positive="yes")
    >>> doubtful_verdicts(judge, {"no": 90, "Yes": 8}, 1).positive_in_form
    {'Yes': 8}
    >>> doubtful_verdicts(judge, {"no": 90, "I cannot say": 40}, 1).unlisted
    {'no': 90, 'I cannot say': 40}
    >>> doubtful_verdicts(judge, {"no": 90}, 1).unlisted
    {}
    """
    cores = {core_text(str(value)) for value in judge.values("positive")}
    negatives = {spelled(value) for value in judge.values("negative")}
    similar = {text: n for text, n in other_verdicts.items() if core_text(text) in cores}
    others = {text: n for text, n in other_verdicts.items() if text not in similar}
    unlisted = {text: n for text, n in others.items() if text not in negatives}
    return DoubtfulVerdicts(
        similar, unlisted if _is_doubtful(unlisted, least, has_list=bool(negatives)) else {}
    )


def _is_doubtful(unlisted: Mapping[str, int], least: float, *, has_list: bool) -> bool:
    rows = sorted(unlisted.values(), reverse=True)
    if has_list:
        return sum(rows) > least
    [main, *_] = sorted(unlisted, key=lambda text: -unlisted[text]) or ["no"]
    is_plain = len(main.split()) == 1 and main.casefold() not in DOUBTFUL and "`" not in main
    return not is_plain or sum(rows[1:]) > least
