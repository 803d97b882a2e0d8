"""One reading of a table with the truth for all monitors that ask about it in one pass.

A pass states ahead which items it will ask about. The first labeler to ask reads the table for all
of them, and the others take theirs from what it found while the table is in the same state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import timedelta
from weakref import WeakValueDictionary

from monitor.domain.truth import Truths


@dataclass(frozen=True, slots=True)
class _CachedTruths:
    """Items that will be asked about, and what one state of the table says of them."""

    items: frozenset[str] = frozenset()
    state: object = None
    found: Truths = field(default_factory=dict)


@dataclass(slots=True, weakref_slot=True)
class SharedTruths:
    """What the labelers of one table and its columns share."""

    _cached: _CachedTruths = field(default_factory=_CachedTruths)
    _readers: int = 0
    _counting: threading.Lock = field(default_factory=threading.Lock)
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def expect(self, items: Collection[str], readers: int) -> None:
        """Take what so many labelers will ask about next, in place of what was expected before."""
        with self._counting:
            self._cached, self._readers = _CachedTruths(frozenset(items)), readers

    def finish(self) -> None:
        """Note that a labeler has asked; after the last one nothing is kept."""
        with self._counting:
            self._readers -= 1
            if self._readers <= 0:
                self._cached = _CachedTruths()

    def of(
        self,
        items: Collection[str],
        state: object,
        read: Callable[[Collection[str]], Truths],
        wait_limit: timedelta,
    ) -> Truths:
        """Give the truths of some items as they are in this state of the table.

        Who waits for another's reading for too long reads alone.
        """
        is_expected = self._cached.items.issuperset(items)
        if not is_expected or not self._reading.acquire(timeout=wait_limit.total_seconds()):
            return read(items)
        try:
            cached = self._cached
            if cached.state != state or not cached.items.issuperset(items):
                all_items = cached.items.union(items)
                cached, before = _CachedTruths(all_items, state, read(all_items)), cached
                with self._counting:
                    if self._cached is before:
                        self._cached = cached
        finally:
            self._reading.release()
        return {item: cached.found[item] for item in items if item in cached.found}


_all: WeakValueDictionary[str, SharedTruths] = WeakValueDictionary()
_all_lock = threading.Lock()


def shared_by(reading: str) -> SharedTruths:
    """Give what all labelers of one reading share, which ends with the last of them."""
    with _all_lock:
        return _all.setdefault(reading, SharedTruths())
