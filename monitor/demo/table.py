"""How the demo looks: a row per round as it ends, and what it all came to.

Rows are printed one under the other, so that the same text comes out of a terminal of any
height, of a pipe and of a log file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from rich.text import Text

from monitor.demo.digits import DigitScenario
from monitor.demo.folder import WrittenFolder
from monitor.demo.watch import METRICS, DemoRound
from monitor.stats.core.counts import Interval

if TYPE_CHECKING:
    from rich.console import Console


_WIDTHS = (5, 10, 6, 6, 4, 16, 4, 16, 6, 8)
_HEADS = (
    *("round", "week from", "images", "labels", "true", "precision", "true", "recall"),
    *("naive", "evidence"),
)
_TEXTS = frozenset({1, 5, 7})  # columns of text; the others are numbers
_MOST = 9999  # evidence beyond this is only said to be more
_FEW = 10  # evidence under this is shown with two decimals
FIND_WITHIN = 4  # Rounds of the drop within which the alert has to fire


@dataclass(frozen=True, slots=True)
class DemoResult:
    """A played demo."""

    folder: Path  # Where its files are.
    rounds: tuple[DemoRound, ...]
    drop_round: int  # First round with the noisy camera.
    limits: dict[str, float]
    command: str  # What opens MLflow on it, for a shell in the present folder.
    page: str  # Where that MLflow lists the runs.
    failed: dict[str, str]  # Why effects were not delivered, by sink; empty if all were.

    @property
    def fired_round(self) -> int | None:
        """First round in which an alert fired."""
        return next((round_.number for round_ in self.rounds if round_.fired), None)

    @property
    def found(self) -> bool:
        """Whether the first alert fired within four rounds of the drop, and none before."""
        fired = self.fired_round
        return fired is not None and 0 <= fired - self.drop_round < FIND_WITHIN

    @property
    def labels(self) -> int:
        """Labels spent."""
        return sum(round_.labeled.size for round_ in self.rounds)

    @property
    def images(self) -> int:
        """Images of the half year."""
        return sum(round_.truth.size for round_ in self.rounds)

    @property
    def held(self) -> tuple[int, int]:
        """Intervals of rounds alone that hold the true value, and all of them."""
        held = [
            estimate.low <= round_.truth.of(metric) <= estimate.high
            for round_ in self.rounds
            for metric, estimate in round_.alone.items()
        ]
        return sum(held), len(held)


def show_start(console: Console, scenario: DigitScenario, written: WrittenFolder) -> None:
    """Print what was set up before the first round."""
    reference = written.reference
    limits = ", ".join(f"{metric} {value:.2f}" for metric, value in written.limits.items())
    echo(
        console,
        f"Before launch, {reference.size:,} labeled images: precision {reference.precision:.2f}, "
        f"recall {reference.recall:.2f}.",
    )
    echo(console, f"Limits, {100 * scenario.room:.0f} points under that: {limits}.")
    echo(console)
    echo(console, _line(_HEADS), style="bold")


def show_round(console: Console, round_: DemoRound) -> None:
    """Print one round, and under it the notices that people get."""
    cells = [str(round_.number), f"{round_.week:%Y-%m-%d}", f"{round_.truth.size:,}"]
    cells.append(f"{round_.labeled.size:,}")
    for metric in METRICS:
        cells += [f"{round_.truth.of(metric):.2f}", columns_text(round_.alone.get(metric))]
    cells += [f"{round_.naive_recall:.2f}", _evidence(round_.evidence)]
    echo(console, _line(cells), style="bold red" if round_.fired else "")
    for metric in round_.fired:
        value = columns_text(round_.pooled.get(metric))
        echo(
            console,
            f"       ALERT: {metric} is under its limit; with earlier rounds it is {value}",
            style="bold red",
        )


def show_end(console: Console, result: DemoResult) -> None:
    """Sum the half year up."""
    echo(console)
    echo(console, "precision, recall: estimated from that round's labels alone, 95 % interval.")
    echo(console, "naive: recall as tp / (tp + fn) of the same labels.")
    echo(
        console,
        f"evidence: against a limit; at {result.rounds[0].fires_at:.0f} an alert fires, falsely on "
        "average at most once in 52 rounds.",
    )
    echo(console)
    _show_drop(console, result)
    echo(console, _alert_line(result), style="bold")
    held, intervals = result.held
    echo(
        console,
        f"{held} of {intervals} intervals hold the true value. Labels spent: {result.labels:,} of "
        f"{result.images:,} images ({result.labels / result.images:.1%}).",
    )


def show_way_on(console: Console, result: DemoResult) -> None:
    """Print where everything is, and the one command that opens MLflow on it."""
    echo(console)
    for sink, why in result.failed.items():
        echo(console, f"Not everything got to {sink}: {why}", style="red")
    echo(
        console,
        f"{len(result.rounds)} rounds are in {result.folder / 'monitor.db'}, their runs in MLflow.",
    )
    echo(console, "To see the runs, start MLflow and open the address:")
    echo(console)
    echo(console, f"  {result.command}", style="bold")
    echo(console, f"  {result.page}")


def columns_text(estimate: Interval | None) -> str:
    """Describe an estimate in a few characters: ``0.86 (0.80-0.91)``."""
    if estimate is None:
        return "not estimable"
    return f"{estimate.point:.2f} ({estimate.low:.2f}-{estimate.high:.2f})"


def _show_drop(console: Console, result: DemoResult) -> None:
    values: dict[str, Callable[[DemoRound], float]] = {
        "true recall, all images": lambda round_: round_.truth.recall,
        "estimated, each round alone": lambda round_: round_.alone["recall"].point,
        "naive recall of the same labels": lambda round_: round_.naive_recall,
    }
    estimated = [round_ for round_ in result.rounds if "recall" in round_.alone]
    before = [round_ for round_ in estimated if round_.number < result.drop_round]
    after = [round_ for round_ in estimated if round_.number >= result.drop_round]
    if not (before and after):
        return
    echo(console, f"In round {result.drop_round} the camera got noisy.    before    after")
    for name, value in values.items():
        means = fmean(map(value, before)), fmean(map(value, after))
        echo(console, f"  {name:<33}{means[0]:>6.2f}{means[1]:>9.2f}")
    echo(console)


def _alert_line(result: DemoResult) -> str:
    fired = result.fired_round
    if fired is None:
        return "No alert fired."
    if fired < result.drop_round:
        return f"An alert fired in round {fired}, before the drop: a false alarm."
    rounds = fired - result.drop_round + 1
    seen = "the first" if rounds == 1 else f"{rounds}"
    return f"The alert fired in round {fired}, with {seen} of the noisy rounds; none before it."


def _evidence(value: float | None) -> str:
    if value is None:
        return "open"
    if value > _MOST:
        return f">{_MOST:,}"
    return f"{value:.2f}" if value < _FEW else f"{value:,.0f}"


def _line(cells: Sequence[str]) -> str:
    fitted = [
        f"{cell:<{width}}" if index in _TEXTS else f"{cell:>{width}}"
        for index, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    ]
    return "  ".join(fitted).rstrip()


def echo(console: Console, text: str = "", style: str = "") -> None:
    """Print a line as it is: nothing in it is markup, and no width breaks it."""
    console.print(Text(text, style=style), soft_wrap=True)
