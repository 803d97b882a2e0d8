"""The pages on an address of this machine, and the link to them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from monitor.service.pages.app import pages_app
from monitor.service.pages.entrance import Entrance
from monitor.service.pages.labeling.desk import Desk
from monitor.service.pages.visits import Links
from monitor.service.web.server import WebServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monitor.config.web import Address
    from monitor.domain.ports import Clock
    from monitor.storage.database import Database


class PagesServer:
    """Serves the pages from a thread, until it is stopped.

    Parameters
    ----------
    database, clock, monitors
        What the page works on, see `Desk`.
    address
        Where it listens; ``setting`` is what chose that.
    name
        The annotator's name that the first page proposes.
    told
        Called with the link that works, at the start and whenever one was used; with it who used
        the one before, None at the start.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        monitors: Callable[[], Sequence[str]],
        *,
        address: Address,
        setting: str,
        name: str,
        told: Callable[[str, str | None], None],
    ) -> None:
        self._address = address
        self._links = Links()
        self._told = told
        entrance = Entrance(self._links, name, self._entered)
        desk = Desk(database, clock, monitors)
        page = pages_app(desk, entrance, host=address.host, port=address.port)
        self._server = WebServer(page, address, setting)

    def start(self) -> None:
        """Begin to answer, and tell the link."""
        self._server.start()
        self._told(self._link, None)

    def stop(self) -> None:
        """Answer what is being asked, and close the address."""
        self._server.stop()

    @property
    def _link(self) -> str:
        # A browser may look for localhost at [::1] first, where another program may listen.
        host = "127.0.0.1" if self._address.host == "localhost" else self._address.host
        return f"http://{self._address._replace(host=host)}/enter?key={self._links.key}"

    def _entered(self, annotator: str) -> None:
        # Who came in is in, also where nobody reads any more what this process prints.
        with suppress(OSError):
            self._told(self._link, annotator)
