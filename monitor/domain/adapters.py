"""What a package gives so that its source or its labeler can be in a config.

An entry point of ``pr_monitor.sources`` or ``pr_monitor.labelers`` leads to it
(docs/project/adapters.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field, PrivateAttr

from monitor.domain.judge import Judge
from monitor.domain.setting_types import Duration, Settings
from monitor.domain.time_limit import LIMIT

if TYPE_CHECKING:
    from monitor.domain.challenger import Challenger
    from monitor.domain.ports import Labeler, Source
    from monitor.domain.settings import Labeling


class ItemFormat(NamedTuple):
    """How files of items that accompany a source are read, where they do not define it.

    ``flagged`` are values of ``predicted`` that flag an item, ``passed`` the texts of those that do
    not.
    """

    id: str = "id"
    score: str | None = None
    predicted: str | None = None
    flagged: bool | int | float | str | tuple[bool | int | float | str, ...] = (1, True)
    passed: tuple[str, ...] = ("0", "false")


class SourceSettings(Settings):
    """What every source shares; a source adds ``kind: Literal[...]`` and what it needs itself.

    An item is flagged where its score is at least ``threshold``, if there is one. ``timeout`` is
    how long one reading may take. ``grace`` is how long a round waits for predictions that are
    missing or cannot be used.
    """

    threshold: float | None = None
    timeout: Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(days=1))] = LIMIT
    grace: Annotated[Duration, Field(ge=timedelta(0))] | None = None

    _judge: Judge | None = PrivateAttr(default=None)

    @property
    def judged_by(self) -> Judge | None:
        """The judge whose verdicts it reads; None without one."""
        return self._judge

    def why_no_judge(self, judge: Judge) -> str | None:  # noqa: ARG002  what columns it has
        """Describe why verdicts cannot be read here; None if they can."""
        return f"the source {getattr(self, 'kind', 'of this kind')} reads no verdicts"

    def judge_by(self, judge: Judge | None) -> None:
        """Read the verdicts of this judge."""
        self._judge = judge

    @property
    def has_scores(self) -> bool:
        """Whether items have scores, by which a class can be cut into bands."""
        return True

    @property
    def shows_texts_only(self) -> bool:
        """Whether people see only texts of an item."""
        return True

    @property
    def shown_columns(self) -> tuple[str, ...] | None:
        """Names of the columns that people are shown; None if only the source knows them."""
        return None

    @property
    def challenged_by(self) -> Challenger | None:
        """Another classifier whose decisions its frames have (`Frame.challenged`); None if not."""
        return None

    @property
    def has_truths(self) -> bool:
        """Whether labels by column can be read where the predictions are (`HasTruths`)."""
        return False

    @property
    def item_format(self) -> ItemFormat:
        """How a reference, or another classifier's decisions, are read with this source."""
        return ItemFormat()


@dataclass(frozen=True, slots=True)
class SourceAdapter:
    """A kind of source: its settings, and how one is made of them and the config's folder."""

    settings: type[SourceSettings]
    make: Callable[[Any, Path], Source]


class MlflowEndpoint(NamedTuple):
    """Where the labels of a monitor are in MLflow: its address, and their own experiment."""

    tracking_uri: str
    experiment: str


@dataclass(frozen=True, slots=True)
class LabelerAdapter:
    """A kind of labeler: its settings, and how one is made of them, the folder and the clock.

    After these come, as far as wanted, the store, a `MlflowEndpoint`, the monitor's source, and the
    `monitor.domain.block.Block` that a round was opened in, or None.
    """

    settings: type[Labeling]
    make: Callable[..., Labeler]
    wants_store: bool = False
    wants_mlflow: bool = False
    wants_source: bool = False
    wants_block: bool = False
