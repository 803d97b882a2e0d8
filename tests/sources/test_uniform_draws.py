"""Each item, and each pair of items, is drawn as often as chance would."""

from benchmarks import same_sample as benchmark


def test_the_rule_draws_as_evenly_as_a_generator(monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "SETS", 10)

    benchmark.main(kinds=("unicode",), seeds=30)

    sizes, _, *rows = capsys.readouterr().out.splitlines()
    assert sizes.startswith("unicode, 30 seeds; drawn of each stratum: 20 of ")
    assert [row.split()[-1] for row in rows] != ["0.00"] * 3
    assert all(0.8 < float(row.split()[-2]) < 1.2 for row in rows)
