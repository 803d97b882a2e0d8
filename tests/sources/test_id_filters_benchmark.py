"""The filters that a draw could have had are the same arithmetic in SQL and in numpy."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from benchmarks import id_filters


@pytest.mark.parametrize("terms", [2, 4])
def test_a_polynomial_is_the_same_number_in_sql_and_in_numpy(terms):
    ids = np.array([0, 1, 7, 12_345_678, id_filters.PRIME - 1], dtype=np.int64)
    seeds = np.array(id_filters._SEEDS[:terms], dtype=np.int64)

    sql = id_filters.sql_polynomial("x", terms)
    query = f"select {sql} from (select unnest($1::bigint[]) as x)"
    with duckdb.connect() as connection:
        found = [row[0] for row in connection.execute(query, [ids.tolist()]).fetchall()]

    assert found == id_filters.polynomial(seeds, ids).tolist()


def test_it_prints_what_each_kind_of_id_costs(capsys):
    id_filters.main(rows=2000, items=1000, draws=3)

    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:3]] == [
        f"2,000 rows, ids {named}" for named in ("whole numbers", "UUIDs", "texts")
    ]
    assert len(lines) == 9
