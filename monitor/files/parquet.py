"""Parquet files as one relation, for any column types and any folder names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from monitor.files.folders import reading, stamps_of
from monitor.files.missing_markers import (
    AWARE_TIMES,
    NUMBERS,
    TEXTS,
    TIMES,
    listed,
    quoted,
    value_text,
)

if TYPE_CHECKING:
    import duckdb

    Types = Mapping[str, str]

_KINDS = {"number": NUMBERS, "text": TEXTS, "aware": AWARE_TIMES, "naive": TIMES}


_CACHE_SIZE = 16

_cached_kinds: OrderedDict[str, tuple[str, frozenset[str]]] = OrderedDict()
"""What was made of files, by their stamps: of many, types take as long to find as rows."""


def parquet_relation(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str]
) -> tuple[str, frozenset[str]]:
    """Read the files together; return also the columns whose values are of several kinds.

    DuckDB gives a column the widest type of all files: times without a zone become instants of
    UTC beside others. Where kinds differ, each file's values are texts instead, as that file has
    them, which are read as in a CSV file.
    """
    state = repr(stamps_of(paths))
    value = _cached_kinds.get(state)
    if value is None:
        value = _cached_kinds[state] = _relation(connection, paths)
        while len(_cached_kinds) > _CACHE_SIZE:
            _cached_kinds.popitem(last=False)
    return value


def _relation(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str]
) -> tuple[str, frozenset[str]]:
    rows = connection.execute(
        f"select distinct name, duckdb_type from parquet_schema({listed(paths)}) "  # noqa: S608
        "where duckdb_type is not null"
    ).fetchall()
    names = {name for name, _ in rows}
    if len(paths) > 1 and _mixed([{name: kind} for name, kind in rows]):
        types = {path: _types(connection, path) for path in paths}
        if mixed := _mixed([*types.values()]):
            return _as_texts(types, mixed, names), mixed
    return reading("read_parquet", paths, "union_by_name = true", names), frozenset()


def _mixed(tables: Sequence[Types]) -> frozenset[str]:
    """Name the columns that are not of one kind in all tables."""
    kinds: dict[str, set[str | None]] = {}
    for types in tables:
        for name, kind in types.items():
            kinds.setdefault(name.lower(), set()).add(_kind(kind))
    return frozenset(
        name for name, kinds_of in kinds.items() if len(kinds_of) > 1 and None not in kinds_of
    )


def _kind(sql_type: str) -> str | None:
    if sql_type == "BOOLEAN":
        return "truth"
    return next((name for name, types in _KINDS.items() if types.fullmatch(sql_type)), None)


def _types(connection: duckdb.DuckDBPyConnection, path: str) -> Types:
    relation = f"read_parquet({listed([path])}, hive_partitioning = false)"
    return {row[0]: row[1] for row in connection.execute(f"describe from {relation}").fetchall()}


def _as_texts(types: Mapping[str, Types], mixed: frozenset[str], names: set[str]) -> str:
    similar: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for path, columns_of in types.items():
        key = tuple((name, kind) for name, kind in columns_of.items() if name.lower() in mixed)
        similar.setdefault(key, []).append(path)
    parts = []
    for columns, group in similar.items():
        rows = reading("read_parquet", group, "union_by_name = true", names, [*types])
        texts = (f"{value_text(name, kind)} as {quoted(name)}" for name, kind in columns)
        replaced = f" replace ({', '.join(texts)})" if columns else ""
        parts.append(f"select *{replaced} from {rows}")  # noqa: S608
    return f"({' union all by name '.join(parts)})"
