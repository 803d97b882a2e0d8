"""How many labels a round asks for, and among which predictions it spends them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from monitor.domain.setting_types import Settings, Share


class Margin(Settings):
    """Half-widths that the 95 % intervals should reach, as shares."""

    precision: Share | None = None
    recall: Share | None = None

    def wanted(self) -> dict[str, float]:
        """Named margins only."""
        both = {"precision": self.precision, "recall": self.recall}
        return {metric: half for metric, half in both.items() if half is not None}


class Bands(Settings):
    """Score bands per predicted class, at most: fewer if ``max_labels`` leaves a band under 25.

    The passed class is larger and holds the rarer outcome, so more bands pay there; beyond 4 and
    10 they save little (benchmarks/results/tried.txt).
    """

    flagged: Annotated[int, Field(ge=1, le=50)] = 4
    passed: Annotated[int, Field(ge=1, le=50)] = 10


class Cells(Settings):
    """Score cells per predicted class, at most: fewer if ``max_labels`` leaves a cell under 6."""

    flagged: Annotated[int, Field(ge=1, le=100)] = 20
    passed: Annotated[int, Field(ge=1, le=100)] = 40


class Cost(Settings):
    """What one label costs, in any unit, where the labels of one class cost more.

    Plans then spend the least on their margins; ``max_labels`` still counts labels.
    """

    flagged: Annotated[float, Field(gt=0)] = 1.0
    passed: Annotated[float, Field(gt=0)] = 1.0


class Sample(Settings):
    """How many labels a round may ask for.

    With a margin: the fewest labels that reach it with the probability ``assurance``, at most
    ``max_labels``; with no assurance (null) as many as reach it on average. Without a margin: all
    of ``max_labels``. ``share_by_size`` is the share of the labels of passed items that is spread
    over their bands by size, so that misses are seen wherever they appear; the rest goes where it
    narrows the intervals most. ``cells`` are the strata that labels are drawn from, ``bands`` the
    runs of them that people see. Bands without cells (null, or no word of them) are the strata
    themselves.

    ``max_labels: all`` is for one labeler of kind ``column``: the labels of all items are counted
    where they are, and no item is drawn. With a labeler for each class, the items of a class that
    a column labels are counted so, beside ``max_labels``. Rounds with a challenger count none so.
    """

    margin: Margin = Margin()
    max_labels: Annotated[int, Field(ge=2, le=200_000)] | Literal["all"] = 1000
    assurance: Share | None = 0.8
    share_by_size: Annotated[float, Field(ge=0, le=0.5)] = 0.25
    bands: Bands = Bands()
    cells: Cells | None = Cells()
    cost: Cost = Cost()

    @property
    def budget(self) -> int:
        """Labels that are drawn at most; 0 if all are counted."""
        return 0 if self.max_labels == "all" else self.max_labels

    @model_validator(mode="before")
    @classmethod
    def _bands_alone_are_the_strata(cls, value: object) -> object:
        """Draw by the bands that were asked for, as every round of older versions was."""
        if isinstance(value, dict) and "bands" in value:
            return {"cells": None, **value}
        return value
