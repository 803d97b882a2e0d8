"""A source over a table of a lake."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.domain.errors import SourceRefused
from monitor.domain.masking import masked
from monitor.plugins.lake.delta import DeltaLake
from monitor.plugins.lake.iceberg import IcebergLake
from monitor.plugins.lake.refusals import as_ours
from monitor.plugins.lake.settings import check_named
from monitor.plugins.lake.tables import opened
from monitor.plugins.lake.truths import LakeTruths
from monitor.sources.table_source import TableSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monitor.domain.errors import InputRefused
    from monitor.domain.model import Frame, Stratum, Window
    from monitor.domain.truth import TruthColumns
    from monitor.plugins.lake.settings import LakeSettings
    from monitor.plugins.lake.tables import LakeTable


class LakeSource(TableSource):
    """A `Source` over a Delta or Iceberg table, which reads one snapshot of it.

    Parameters
    ----------
    settings
        What the config says.
    base_folder
        Where relative paths start: the folder of the config file.
    snapshot
        Which; None takes the newest with each reading.
    setting
        What the config names the table by, where that is none of the source's own settings.
    """

    advice = (
        "is the store of objects or the catalog there? It is tried again; if a scan needs longer, "
        "raise source.timeout"
    )

    def __init__(
        self,
        settings: LakeSettings,
        base_folder: Path | str = ".",
        *,
        snapshot: str | None = None,
        setting: str | None = None,
    ) -> None:
        super().__init__(settings, base_folder)
        self.settings = settings
        self._base_folder = base_folder
        self._snapshot = snapshot
        self._setting = setting
        self._last: LakeSource | None = None
        if settings.delta is not None:
            address = _address(settings.delta, Path(base_folder))
            self._lake: DeltaLake | IcebergLake = DeltaLake(address, settings.storage)
        else:
            self._lake = IcebergLake(str(settings.iceberg), settings.catalog)

    @property
    def place(self) -> str:
        """The table, as the config says it, but for secrets of its address."""
        named = "" if self._setting is None else f" ({self._setting})"
        return masked(f"the table {self.settings.delta or self.settings.iceberg}{named}")

    def truths(self, truth_columns: TruthColumns) -> LakeTruths:
        """Return the truth that some columns of this table have, or of another one beside it.

        Raises
        ------
        SettingRefused
            If that is no table of the catalog.
        """
        if truth_columns.table is None:
            return LakeTruths(LakeSource(self.settings, self._base_folder), truth_columns)
        if self.settings.iceberg is None:
            changes: dict[str, object] = {"delta": truth_columns.table}
        else:
            check_named(truth_columns.table, "table")
            changes = {"iceberg": truth_columns.table}
        settings = self.settings.model_copy(update={**changes, "where": {}})
        source = LakeSource(settings, self._base_folder, setting="labeling.table")
        return LakeTruths(source, truth_columns)

    def at(self, snapshot: str) -> LakeSource:
        """Return the source of one snapshot."""
        if self._last is None or self._last.state() != snapshot:
            self._last = LakeSource(self.settings, self._base_folder, snapshot=snapshot)
        self._last.copied = self.copied
        return self._last

    def scan(self, window: Window, strata: Sequence[Stratum], at_most: int, seed: str) -> Frame:
        """Count every stratum and return its first items by md5(seed, id), one read."""
        if self._snapshot is None:
            newest = self.within(self.newest)
            return self.at(newest).scan(window, strata, at_most, seed)
        frame = super().scan(window, strata, at_most, seed)
        return replace(frame, snapshot=self._snapshot)

    def scan_again(
        self, before: Frame, strata: Sequence[Stratum], at_most: int, seed: str
    ) -> Frame:
        """Scan the snapshot of a frame by other strata; its candidates are not drawn again."""
        if self._snapshot is None and before.snapshot is not None:
            return self.at(before.snapshot).scan_again(before, strata, at_most, seed)
        frame = super().scan_again(before, strata, at_most, seed)
        return replace(frame, snapshot=self._snapshot)

    @contextmanager
    def opened(
        self, window: Window | None = None, *, refused: type[InputRefused] = SourceRefused
    ) -> Iterator[LakeTable]:
        """Open a snapshot, of which files without a row near the window are skipped."""
        with as_ours(self.place, self.settings, self._setting):
            snapshot = self._lake.at(self._snapshot or self._lake.newest())
            near_time = self.settings.columns.time
            with opened(self.place, snapshot, window, near_time, refused) as table:
                yield table

    def state(self) -> str | None:
        """Return the snapshot, in which no row ever changes."""
        return self._snapshot

    def pinned(self) -> LakeSource:
        """Return the source of the newest snapshot."""
        return self if self._snapshot is not None else self.at(self.newest())

    def newest(self) -> str:
        """Return the id of the newest snapshot."""
        with as_ours(self.place, self.settings, self._setting):
            return self._lake.newest()


def _address(delta: str, base_folder: Path) -> str:
    return delta if "://" in delta else str(base_folder / delta)
