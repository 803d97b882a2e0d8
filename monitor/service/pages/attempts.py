"""Sign-ins that fail: after some, the next one has to wait, longer each time.

They are counted in the store, for each name and each address they come from, so that neither a
restart nor another replica begins anew. A sign-in counts as failed until it is known to be right,
so many at a time get no further than one after the other.
"""

from __future__ import annotations

import ipaddress
import unicodedata
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from monitor.service.pages.sessions import digest_of
from monitor.storage.pages import people_store

if TYPE_CHECKING:
    from monitor.domain.ports import Clock
    from monitor.storage.database import Database
    from monitor.storage.pages.people_store import StoredAttempts as Failed

FREE_FOR_A_NAME = 5  # Sign-ins under a name that may fail before the next has to wait
FREE_FOR_AN_ADDRESS = 20  # Those from an address: an office may have one for all
LONGEST = timedelta(minutes=5)  # Who guesses has 300 tries a day; whose name it is waits no longer
_IPV6_OF_ONE = 64  # Bits of an IPv6 address that somebody cannot choose


class Attempt(NamedTuple):
    """A sign-in that is under way, by what it is counted under."""

    name: str
    address: str


class SignInAttempts:
    """Counts what failed, and says how long the next sign-in has to wait."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def begin(self, attempt: Attempt) -> timedelta:
        """Count a sign-in as failed; where it has to wait, say how long and count nothing."""
        now = self._clock()
        with self._database.write() as connection:
            failures = people_store.locked_attempts(connection, attempt, now)
            wait = max(
                _wait(failures[attempt.name], FREE_FOR_A_NAME, now),
                _wait(failures[attempt.address], FREE_FOR_AN_ADDRESS, now),
            )
            if not wait:
                for digest in attempt:
                    people_store.note_failure(connection, digest, now)
        return wait

    def succeeded(self, attempt: Attempt) -> None:
        """Forget what failed under this name; what else the address did stays."""
        with self._database.write() as connection:
            people_store.forget_failures(connection, attempt.name)
            people_store.take_back_failure(connection, attempt.address)

    def undecided(self, attempt: Attempt) -> None:
        """Take back what was counted: nobody could be asked whether it was right."""
        with self._database.write() as connection:
            for digest in sorted(attempt):
                people_store.take_back_failure(connection, digest)


def attempt_of(name: str, address: str) -> Attempt:
    """Return under what a sign-in is counted; spellings that may mean the same account are one."""
    spelled = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
    return Attempt(digest_of("name", spelled), digest_of("address", _network(address)))


def _wait(failed: Failed, free: int, now: datetime) -> timedelta:
    if failed.failures < free:
        return timedelta(0)
    seconds = 2.0 ** min(failed.failures - free, 30)
    since = max(now - failed.last_at, timedelta(0))  # a clock may have been set back
    return max(min(timedelta(seconds=seconds), LONGEST) - since, timedelta(0))


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((int(parsed), _IPV6_OF_ONE), strict=False))
