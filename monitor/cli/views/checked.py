"""Results of checks, as `check` and `alerts test` print them."""

from __future__ import annotations

from dataclasses import dataclass

from monitor.cli.views.printing import echo


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its result, or the problem and its exit code.

    A ``note`` needs no action.
    ``concerns`` need attention, though rounds continue.
    """

    what: str
    found: str = ""
    problem: str | None = None
    code: int = 0
    note: str | None = None
    concerns: tuple[str, ...] = ()


def echo_check(check: Check) -> None:
    """Print a line for each finding."""
    sentences_of: dict[str, list[tuple[str | None, str]]] = {
        "note": [(check.note, "yellow")],
        "ok": [(check.found, "green")],
        "LOOK": [(concern, "magenta") for concern in check.concerns],
        "PROBLEM": [(check.problem, "red")],
    }
    indent = " " * len("PROBLEM  ")
    for state, sentences in sentences_of.items():
        for sentence, colour in sentences:
            if sentence:
                echo(f"{state:<8} {check.what}: {sentence}", indent=indent, colour=colour)
