"""What a demo came to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from monitor.demo.watch import METRICS, DemoRound

FIND_WITHIN = 4  # Rounds of the drop within which the alert has to fire


@dataclass(frozen=True, slots=True)
class DemoResult:
    """A played demo."""

    folder: Path  # Where its files are.
    rounds: tuple[DemoRound, ...]
    drop_round: int  # First round with the noisy camera.
    limits: dict[str, float]
    figure: Path  # The timeline as PNG.
    command: str  # What opens MLflow on it, for a shell in the present folder.
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
    def before(self) -> tuple[DemoRound, ...]:
        """Rounds before the drop."""
        return tuple(round_ for round_ in self.rounds if round_.number < self.drop_round)

    @property
    def after(self) -> tuple[DemoRound, ...]:
        """Rounds from the drop on."""
        return tuple(round_ for round_ in self.rounds if round_.number >= self.drop_round)

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
            round_.alone[metric].holds(round_.true(metric))
            for round_ in self.rounds
            for metric in METRICS
            if metric in round_.alone
        ]
        return sum(held), len(held)

    def as_json(self) -> dict[str, Any]:
        """Return the same, ready for JSON."""
        return {
            "folder": str(self.folder),
            "rounds": [_round(round_) for round_ in self.rounds],
            "limits": self.limits,
            "drop_round": self.drop_round,
            "fired_round": self.fired_round,
            "found": self.found,
            "labels": self.labels,
            "images": self.images,
            "figure": str(self.figure),
            "command": self.command,
            "failed": self.failed,
        }


def mean(rounds: Sequence[DemoRound], value: Callable[[DemoRound], float | None]) -> float | None:
    """Average over the rounds that have the value; None if none has."""
    values = [each for each in map(value, rounds) if each is not None]
    return fmean(values) if values else None


def _round(round_: DemoRound) -> dict[str, Any]:
    return {
        "round": round_.number,
        "week": round_.week.isoformat(),
        "images": round_.truth.size,
        "labels": round_.labeled.size,
        "true": {metric: round_.true(metric) for metric in METRICS},
        "round_alone": {name: asdict(estimate) for name, estimate in round_.alone.items()},
        "pooled": {name: asdict(estimate) for name, estimate in round_.pooled.items()},
        "naive_recall": round_.naive_recall,
        "evidence": round_.evidence,
        "fires_at": round_.fires_at,
        "fired": list(round_.fired),
    }
