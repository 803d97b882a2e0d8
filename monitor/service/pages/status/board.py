"""What the status pages read: the store, by the same questions as `status`, `rounds` and `show`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.state import RoundState
from monitor.rounds.listing import ListedRounds, listed
from monitor.rounds.opening.removed_monitors import RemovedMonitor, removed_monitors
from monitor.rounds.reporting.surroundings import read_monitor_timeline
from monitor.rounds.round_page import class_overviews, find_round, read_page, read_report
from monitor.rounds.status import Overview, overviews
from monitor.storage.results import alert_store, report_store
from monitor.storage.rounds import round_lists, round_store
from monitor.storage.rounds.round_lists import ListQuery

if TYPE_CHECKING:
    from monitor.domain.alerting import StoredAlert
    from monitor.domain.class_report import ClassOverview
    from monitor.domain.ports import Clock
    from monitor.domain.report import RoundReport, TimelinePoint
    from monitor.domain.round_page import RoundPage
    from monitor.domain.settings import MonitorSettings
    from monitor.storage.database import Database


class FleetPage(NamedTuple):
    """All monitors at one moment, blocks of classes, and what remains of removed monitors."""

    now: datetime
    monitors: list[tuple[MonitorSettings, Overview]]
    removed: list[RemovedMonitor]
    blocks: list[ClassOverview]


class MonitorPage(NamedTuple):
    """One monitor at one moment; ``drawn`` is its newest round that was drawn, as `show` has it."""

    overview: Overview
    rounds: ListedRounds
    alerts: list[StoredAlert]
    drawn: RoundPage | None


class OneRound(NamedTuple):
    """One round as `show` has it, where MLflow shows it, and the numbers of those around it.

    ``versions`` are its versions; a round that was done again has no earlier ones.
    """

    page: RoundPage
    has_report: bool
    link: str | None
    versions: range
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Board:
    """Answers the status pages.

    ``monitors`` are the monitors of the present config. ``mlflow`` finds where MLflow shows a
    round, by its monitor and the key that MLflow knows; None if MLflow has no pages.
    """

    database: Database
    clock: Clock
    monitors: Callable[[], Sequence[MonitorSettings]]
    mlflow: Callable[[str, str], str | None]

    def settings(self, name: str) -> MonitorSettings | None:
        """Find a monitor of the config."""
        return next((one for one in self.monitors() if one.name == name), None)

    def fleet(self) -> FleetPage:
        """Read how all monitors stand."""
        now, monitors = self.clock(), self.monitors()
        result = overviews(self.database, monitors, now)
        with self.database.read() as connection:
            removed = removed_monitors(connection, [one.name for one in monitors])
        blocks = class_overviews(self.database, monitors)
        return FleetPage(now, list(zip(monitors, result, strict=True)), removed, blocks)

    def monitor(
        self, settings: MonitorSettings, last: int, before: int | None = None
    ) -> MonitorPage:
        """Read one monitor, and the last of its rounds, or of those before one."""
        name = settings.name
        [overview] = overviews(self.database, [settings], self.clock())
        with self.database.read() as connection:
            until = None if before is None else find_round(connection, name, before).slot
            rounds = listed(connection, ListQuery(monitor=name, before=until, last=last))
            drawn = round_lists.newest_drawn(connection, name)
            return MonitorPage(
                overview,
                rounds,
                alert_store.find_alerts(connection, monitor=name),
                None if drawn is None else read_page(connection, name, drawn, None),
            )

    def timeline(self, name: str) -> list[TimelinePoint]:
        """Read what the figure of a monitor shows, in slot order."""
        with self.database.read() as connection:
            return read_monitor_timeline(connection, name, self.clock())

    def report(self, name: str, number: int, version: int | None) -> RoundReport:
        """Read the report of one version of a round, the latest unless one is named."""
        with self.database.read() as connection:
            return read_report(connection, name, number, version)

    def round(self, name: str, number: int, version: int | None) -> OneRound:
        """Read one version of a round, the latest unless one is named."""
        with self.database.read() as connection:
            round_ = find_round(connection, name, number)
            page = read_page(connection, name, number, version)
            key = report_store.first_key(connection, round_.id)
            before = round_store.round_before(connection, round_.monitor_id, round_.slot)
            after = round_store.round_after(connection, round_.monitor_id, round_.slot)
        return OneRound(
            page,
            has_report=round_.state in (RoundState.CLOSED, RoundState.ABANDONED)
            and key is not None,
            link=None if key is None else self.mlflow(name, key),
            versions=range(round_.first_version, round_.estimated_version + 1),
            before=None if before is None else before.number,
            after=None if after is None else after.number,
        )
