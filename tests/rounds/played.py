"""Stores that many tests begin with: played once in a process, and copied for each test."""

import inspect
import io
import pickle
import sqlite3
from contextlib import closing

import pytest


def played(play):
    """Make a fixture of a function that plays rounds in an empty store and returns who is there.

    On SQLite it is called once in a process; other tests get a copy of its store and its result.
    A function may go on with the scene of another such fixture instead of the empty store.
    """
    saved: list[tuple[sqlite3.Connection, bytes]] = []
    [begun] = inspect.signature(play).parameters

    def fixture(request, database):
        if saved and database.is_sqlite:
            copy, pickled = saved[0]
            with closing(database.engine.raw_connection()) as connection:
                copy.backup(connection.driver_connection)
            return _Unpickler(io.BytesIO(pickled), database).load()
        made = play(request.getfixturevalue(begun))
        if database.is_sqlite:
            stream = io.BytesIO()
            _Pickler(stream, database).dump(made)
            copy = sqlite3.connect(":memory:", check_same_thread=False)
            with closing(database.engine.raw_connection()) as connection:
                connection.driver_connection.backup(copy)
            saved.append((copy, stream.getvalue()))
        return made

    fixture.__doc__ = play.__doc__
    return pytest.fixture(fixture)


class _Pickler(pickle.Pickler):
    """Leaves the store out: each copy has one of its own."""

    def __init__(self, stream, database):
        super().__init__(stream)
        self.database = database

    def persistent_id(self, obj):
        return "database" if obj is self.database else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream, database):
        super().__init__(stream)
        self.database = database

    def persistent_load(self, _):
        return self.database
