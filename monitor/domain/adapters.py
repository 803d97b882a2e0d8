"""Adapters: the interface by which a package adds its own kind of source, labeler or hook.

A package declares an entry point, named after the kind, in the group ``pr_monitor.sources``,
``pr_monitor.labelers`` or ``pr_monitor.hooks``; docs/project/adapters.md has an example.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar

from pydantic import Field, PrivateAttr, SecretStr

from monitor.domain.block import Block
from monitor.domain.challenger import Challenger
from monitor.domain.judge import Judge
from monitor.domain.masking import masked
from monitor.domain.ports import Clock, Source
from monitor.domain.setting_types import Duration, Settings
from monitor.domain.time_limit import LIMIT

SettingsT = TypeVar("SettingsT", bound=Settings)
SiteT = TypeVar("SiteT")
MadeT = TypeVar("MadeT")


class ProposedMonitor(NamedTuple):
    """A monitor that a source proposes for a first config.

    source: Its source, and its judge if there is one, as lines of YAML.
    question: The question that labelers answer.
    """

    name: str
    tracking_uri: str
    source: list[str]
    question: str


@dataclass(frozen=True, slots=True)
class Adapter(Generic[SettingsT, SiteT, MadeT]):
    """A kind of source, labeler or hook: the class of its settings, and how to make one.

    ``make`` takes the settings and, for a source, the config's folder, for a labeler its
    `LabelerSite`, for a hook its `HookContext`. ``propose`` writes the source of a first config
    from a name in MLflow, the config's folder, MLflow's address and the flags of the command.
    """

    settings: type[SettingsT]
    make: Callable[[Any, SiteT], MadeT]
    propose: Callable[[str, Path, str, Mapping[str, str]], ProposedMonitor] | None = None


class SourceSettings(Settings):
    """Settings common to all sources; a source adds ``kind: Literal[...]`` and its own settings.

    With a ``threshold``, an item is flagged if its score is at least that. ``timeout`` limits one
    reading. ``grace`` is how long a round waits for predictions that are missing or unusable.
    """

    threshold: float | None = None
    timeout: Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(days=1))] = LIMIT
    grace: Annotated[Duration, Field(ge=timedelta(0))] | None = None

    undecided: ClassVar[frozenset[str]] = frozenset({"timeout", "grace"})
    """Settings that do not decide how rows are read."""

    _judge: Judge | None = PrivateAttr(default=None)
    _tracking_uri: str = PrivateAttr(default="")

    def own(self) -> dict[str, Any]:
        """Return the settings that a round stores: how rows are read, without secrets.

        A setting that may contain a secret, such as an address, is stored as a digest of its masked
        text, which shows only whether the setting has changed.
        """
        secrets = self._secrets()
        frozen = self.model_dump(
            mode="json", exclude_unset=True, exclude={*secrets, *self.undecided, "kind"}
        )
        digests = {name: _digest(getattr(self, name)) for name in sorted(secrets)}
        return {"kind": getattr(self, "kind", ""), **frozen, DIGESTS: digests}

    def unfrozen(self) -> dict[str, Any]:
        """Return the settings that rounds do not store; they always come from the config."""
        names = self._secrets() | self.undecided
        return {name: getattr(self, name) for name in self.model_fields_set & names}

    def _secrets(self) -> set[str]:
        fields = type(self).model_fields
        hidden = {name for name in self.model_fields_set if not fields[name].repr}
        return hidden | {name for name, value in self if _holds_secret(value)}

    @property
    def judged_by(self) -> Judge | None:
        """The judge whose verdicts the source reads, or None."""
        return self._judge

    def why_no_judge(self, judge: Judge) -> str | None:  # noqa: ARG002  what columns it has
        """Explain why this source cannot read verdicts; None if it can."""
        return f"the source {getattr(self, 'kind', 'of this kind')} reads no verdicts"

    def judge_by(self, judge: Judge | None) -> None:
        """Read the verdicts of this judge."""
        self._judge = judge

    @property
    def caveat(self) -> str | None:
        """Predictions that this kind of source may miss without notice; None if it misses none."""
        return None

    @property
    def tracking_uri(self) -> str:
        """MLflow's address in the config; empty until the whole config is read."""
        return self._tracking_uri

    def track_at(self, tracking_uri: str) -> None:
        """Set MLflow's address, for sources that read from MLflow."""
        self._tracking_uri = tracking_uri

    @property
    def has_scores(self) -> bool:
        """Whether items have scores, so that a class can be cut into score bands."""
        return True

    @property
    def shown_columns(self) -> tuple[str, ...] | None:
        """Names of the columns shown to labelers; None if only the source knows them."""
        return None

    @property
    def challenged_by(self) -> Challenger | None:
        """The challenger whose decisions are in the frames (`Frame.challenged`), or None."""
        return None

    @property
    def has_truths(self) -> bool:
        """Whether a column labeler can read labels from this source (`HasTruths`)."""
        return False

    @property
    def id_column(self) -> str:
        """Name of the column of ids, also in files of another classifier's decisions."""
        return "id"


DIGESTS = "digests"
"""Key of the digests in `SourceSettings.own`."""


def _holds_secret(value: object) -> bool:
    return isinstance(value, SecretStr) or masked(text := str(value)) != text


def _digest(value: object) -> str:
    return hashlib.sha256(masked(str(value)).encode()).hexdigest()[:8]


class LabelerSite(NamedTuple):
    """Everything a labeler needs besides its settings.

    folder, clock: The config's folder, the base of relative paths; and the current time.
    store: The `monitor.storage.database.Database` of the rounds.
    tracking_uri, experiment: MLflow's address, and an experiment for this monitor's labels.
    source: The source of the monitor's predictions.
    block: The block that the rounds were opened in; None for a single monitor.
    """

    folder: Path
    clock: Clock
    store: Any
    tracking_uri: str
    experiment: str
    source: Source
    block: Block | None


class HookSettings(Settings):
    """Base class for the settings of hooks; subclasses narrow ``kind`` to a `Literal`."""

    kind: str
