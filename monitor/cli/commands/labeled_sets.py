"""Options of commands that read a labeled file: how its labels were drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from monitor.cli.common import flag, option
from monitor.domain.errors import InputRefused

if TYPE_CHECKING:
    from monitor.evaluation.designs import EvaluationSample

InUseOption = Annotated[
    float | None, option("SCORE", "Threshold in use: lowest flagged score.", "--threshold")
]
FlaggedSizeOption = Annotated[
    int | None, option("COUNT", "Number of flagged items, labeled or not.")
]
PassedSizeOption = Annotated[int | None, option("COUNT", "Number of passed items, labeled or not.")]
WeightOption = Annotated[
    str | None, option("COLUMN", "Column with the number of items that a label represents.")
]
PrevalenceOption = Annotated[
    float | None, option("SHARE", "Share of positives, if labels were drawn by actual class.")
]
RandomOption = Annotated[bool, flag("--random", "The labels are a plain random sample.")]

_WAYS = ("random", "weight", "flagged-size", "prevalence", "flagged-rate")


def refuse_options(options: dict[str, Any], why: str) -> None:
    """Refuse the first option that has a value."""
    for name, value in options.items():
        if value is not None:
            message = f"{name if value is True else f'{name} {value}'} {why}"
            raise InputRefused(message)


def says_how_drawn(options: dict[str, Any]) -> bool:
    """Whether an option says how the labels of a file were drawn."""
    return any(options.get(way) is not None for way in _WAYS)


def sample_by(options: dict[str, Any], labels: str) -> EvaluationSample:
    """Read how the labels of a file were drawn; ``labels`` names the file for people.

    Raises `InputRefused` if the options do not say it, or not completely.
    """
    from monitor.evaluation.designs import EvaluationSample

    if (options["flagged-size"] is None) != (options["passed-size"] is None):
        message = "--flagged-size and --passed-size go together: give both"
        raise InputRefused(message)
    if not says_how_drawn(options):
        message = (
            f"say how the labels of {labels} were drawn: --random, --weight, --flagged-size with "
            "--passed-size, or --prevalence"
        )
        raise InputRefused(message)
    sizes = {name: options[f"{name}-size"] for name in ("flagged", "passed")}
    return EvaluationSample(
        random=bool(options["random"]),
        has_weights=options["weight"] is not None,
        sizes=None if options["flagged-size"] is None else sizes,
        prevalence=options["prevalence"],
        flagged_rate=options.get("flagged-rate"),
    )
