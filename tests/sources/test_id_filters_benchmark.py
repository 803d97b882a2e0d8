"""The filter that a draw could have had is what it is said to be."""

import duckdb

from benchmarks import id_filters


def test_the_polynomial_in_sql_is_that_of_exact_arithmetic():
    ids = [0, 1, 7, 12_345_678, id_filters.PRIME - 1]
    a, b, c, d = id_filters._SEEDS

    query = f"select {id_filters.polynomial('x')} from (select unnest($1::bigint[]) as x)"
    with duckdb.connect() as connection:
        found = [row[0] for row in connection.execute(query, [ids]).fetchall()]

    assert found == [(a * x**3 + b * x**2 + c * x + d) % id_filters.PRIME for x in ids]


def test_it_prints_what_each_kind_of_id_costs(capsys):
    id_filters.main(rows=2000)

    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"2,000 rows, ids {named}" for named in ("whole numbers", "UUIDs", "texts")
    ]
