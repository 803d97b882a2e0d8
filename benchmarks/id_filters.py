"""What a filter by arithmetic on ids would save as a step before md5 in a draw.

The CPU of counting the rows of 60 strata of which a filter lets 6 % through, and of the draw by
md5 of those alone, as multiples of a bare scan.
"""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import duckdb

from benchmarks.draw import bands

PRIME = 2**31 - 1
_SEEDS = (1234567891, 987654321, 1357924680, 2024681357)
_SHARE = 0.06
_IDS = {
    "whole numbers": ("i", "id"),
    "UUIDs": ("md5(i::varchar)::uuid", "('0x' || substr(id::varchar, 1, 8))::bigint"),
    "texts": (
        "'item-' || i",
        "+".join(f"ascii(substr(id, -{i}, 1)) * {97**i}::bigint" for i in (1, 2, 3, 4)),
    ),
}


def polynomial(of: str) -> str:
    """Write a cubic polynomial of a number modulo the prime; no product is over 62 bits."""
    text = str(_SEEDS[0])
    for term in _SEEDS[1:]:
        text = f"(({text}) * ({of}) + {term}) % {PRIME}"
    return text


def halved(edges: Sequence[float], first: int = 0) -> str:
    """Find the stratum between edges as the source does."""
    if not edges:
        return str(first)
    half = len(edges) // 2
    below, above = halved(edges[:half], first), halved(edges[half + 1 :], first + half + 1)
    return f"case when score < {edges[half]} then {below} else {above} end"


def main(rows: float = 10e6) -> None:
    """Print what the parts of a draw cost for each kind of id."""
    cut, count = bands(60), int(rows)
    stratum = halved([*cut.passed, 0.5, *cut.flagged])
    score = "case when hash(i) % 20 = 0 then 0.5 else 0 end + (hash(i + 1) % 1000000) / 2e6"
    for named, (ids, number) in _IDS.items():
        with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
            connection.execute("set threads = 1")
            connection.execute("set enable_progress_bar = false")
            path = Path(folder) / "p.parquet"
            connection.execute(
                f"copy (select {ids} as id, timestamptz '2026-01-01' + interval (i) second "
                f"as time, {score} as score from range({count}) t(i)) to '{path}' (format parquet)"
            )
            table = f"read_parquet('{path}')"
            chosen = f"{polynomial('x')} < {int(PRIME * _SHARE)}"
            drawn = "{'h': md5('5eed|' || id::varchar), 'id': id, 'score': score}"
            source = f"(select {number} % {PRIME} as x, id, score, {stratum} as s from {table})"
            works = {
                "bare": f"select max(id), epoch_us(max(time)), sum(score) from {table}",
                "counts": f"select s, count(*) from {source} group by s",
                "filter": f"select s, count(*) filter ({chosen}) from {source} group by s",
                "filter, md5": "select s, count(*), "
                f"min(case when {chosen} then {drawn} end, 1000) from {source} group by s",
                "md5": f"select s, count(*), min({drawn}, 1000) filter "
                f"(where md5('5eed|' || id::varchar) < '{int(256 * _SHARE):02x}') "
                f"from {source} group by s",
            }
            spent = {
                work: min(_cpu(connection, sql) for _ in range(3)) for work, sql in works.items()
            }
        shown = ", ".join(f"{work} {cpu / spent['bare']:.1f}" for work, cpu in spent.items())
        print(f"{count:,} rows, ids {named}: {shown} (bare {spent['bare']:.2f} s)")


def _cpu(connection: duckdb.DuckDBPyConnection, sql: str) -> float:
    started = time.process_time()
    connection.execute(sql).fetchall()
    return time.process_time() - started
