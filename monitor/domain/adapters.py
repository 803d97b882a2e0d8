"""What a package gives so that its source, labeler or hook can be in a config.

An entry point of the group ``pr_monitor.sources``, ``pr_monitor.labelers`` or ``pr_monitor.hooks``,
named as the kind, leads to an adapter; docs/project/adapters.md has an example.
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
    question: What people who label are asked.
    """

    name: str
    tracking_uri: str
    source: list[str]
    question: str


@dataclass(frozen=True, slots=True)
class Adapter(Generic[SettingsT, SiteT, MadeT]):
    """A kind of source, labeler or hook: its settings, and how one is made of them.

    A source is made of them and the config's folder, a hook with its `HookContext`, and any other
    with its site. ``propose`` writes the source of a first config, from a name in MLflow, the
    config's folder, MLflow's address and what flags said.
    """

    settings: type[SettingsT]
    make: Callable[[Any, SiteT], MadeT]
    propose: Callable[[str, Path, str, Mapping[str, str]], ProposedMonitor] | None = None


class SourceSettings(Settings):
    """What every source shares; a source adds ``kind: Literal[...]`` and what it needs itself.

    An item is flagged where its score is at least ``threshold``, if there is one. ``timeout`` is
    how long one reading may take. ``grace`` is how long a round waits for predictions that are
    missing or cannot be used.
    """

    threshold: float | None = None
    timeout: Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(days=1))] = LIMIT
    grace: Annotated[Duration, Field(ge=timedelta(0))] | None = None

    undecided: ClassVar[frozenset[str]] = frozenset({"timeout", "grace"})
    """Settings that do not decide how rows are read."""

    _judge: Judge | None = PrivateAttr(default=None)
    _tracking_uri: str = PrivateAttr(default="")

    def own(self) -> dict[str, Any]:
        """Return what a round keeps of its source: how rows are read, and no secret.

        Settings that may hold one, such as an address, are kept as a digest without it, which tells
        only whether they are still the same.
        """
        secrets = self._secrets()
        frozen = self.model_dump(
            mode="json", exclude_unset=True, exclude={*secrets, *self.undecided, "kind"}
        )
        digests = {name: _digest(getattr(self, name)) for name in sorted(secrets)}
        return {"kind": getattr(self, "kind", ""), **frozen, DIGESTS: digests}

    def unfrozen(self) -> dict[str, Any]:
        """Return the settings that no round keeps; each is read as the config has it."""
        names = self._secrets() | self.undecided
        return {name: getattr(self, name) for name in self.model_fields_set & names}

    def _secrets(self) -> set[str]:
        fields = type(self).model_fields
        hidden = {name for name in self.model_fields_set if not fields[name].repr}
        return hidden | {name for name, value in self if _holds_secret(value)}

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
    def caveat(self) -> str | None:
        """What such a source may lack without its showing; None if nothing."""
        return None

    @property
    def tracking_uri(self) -> str:
        """MLflow's address in the config; empty before the config is whole."""
        return self._tracking_uri

    def track_at(self, tracking_uri: str) -> None:
        """Read from this MLflow, where the source is MLflow's own."""
        self._tracking_uri = tracking_uri

    @property
    def has_scores(self) -> bool:
        """Whether items have scores, by which a class can be cut into bands."""
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
    """What a labeler is made of besides its settings.

    folder, clock: Of the config, where relative paths start; and the present time.
    store: The `monitor.storage.database.Database` of the rounds.
    tracking_uri, experiment: MLflow's address, and an experiment for this monitor's labels.
    source: Of the monitor's predictions.
    block: That a round was opened in; None for a monitor by itself.
    """

    folder: Path
    clock: Clock
    store: Any
    tracking_uri: str
    experiment: str
    source: Source
    block: Block | None


class HookSettings(Settings):
    """What the settings of every hook derive from, which narrow ``kind`` to a `Literal`."""

    kind: str
