"""Settings of the sample: how many labels a round requests, and from which strata."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from monitor.domain.setting_types import Settings, Share


class Margin(Settings):
    """Half-widths that the 95 % intervals should reach, as shares."""

    precision: Share | None = None
    recall: Share | None = None

    def wanted(self) -> dict[str, float]:
        """Return the margins that are set."""
        both = {"precision": self.precision, "recall": self.recall}
        return {metric: half for metric, half in both.items() if half is not None}


class Bands(Settings):
    """Most score bands per predicted class; fewer if ``max_labels`` leaves a band under 25 labels.

    The passed class is larger and contains the rarer outcome, so it benefits from more bands.
    Beyond 4 and 10, more bands save little (benchmarks/results/tried.txt).
    """

    flagged: Annotated[int, Field(ge=1, le=50)] = 4
    passed: Annotated[int, Field(ge=1, le=50)] = 10


class Cells(Settings):
    """Most score cells per predicted class; fewer if ``max_labels`` leaves a cell under 6."""

    flagged: Annotated[int, Field(ge=1, le=100)] = 20
    passed: Annotated[int, Field(ge=1, le=100)] = 40


class Cost(Settings):
    """Cost of one label by predicted class, in any unit; set it if one class costs more.

    Plans then reach their margins at the lowest cost; ``max_labels`` still counts labels.
    """

    flagged: Annotated[float, Field(gt=0)] = 1.0
    passed: Annotated[float, Field(gt=0)] = 1.0


class Sample(Settings):
    """How many labels a round requests.

    With a margin, a round requests the fewest labels that reach it with probability ``assurance``
    (null: that reach it on average), and at most ``max_labels``. Without a margin, it requests
    ``max_labels``. ``share_by_size`` is the share of the labels of passed items that is allocated
    to their bands in proportion to size, so that misses are noticed in any band; the rest is
    allocated to narrow the intervals most. ``cells`` are the strata that labels are drawn from,
    ``bands`` the runs of cells shown to people. If cells are null, or only bands are set, the bands
    are the strata.

    ``max_labels: all`` is for a single labeler of kind ``column``: the labels of all items are
    counted in the source, and no item is drawn. If each class has its own labeler, a class labeled
    by a column is counted this way, in addition to ``max_labels``. Rounds with a challenger count
    no class this way.
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
        """Most labels that a round draws; 0 if all items are counted."""
        return 0 if self.max_labels == "all" else self.max_labels

    @model_validator(mode="before")
    @classmethod
    def _bands_alone_are_the_strata(cls, value: object) -> object:
        """Set ``cells`` to None if only bands are set, as in rounds of older versions."""
        if isinstance(value, dict) and "bands" in value:
            return {"cells": None, **value}
        return value
