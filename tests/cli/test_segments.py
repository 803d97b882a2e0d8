"""Segments from the config to the page of a round and to MLflow."""

SHOWN = "show: [subject]"
SEGMENTS = (SHOWN, f"{SHOWN}, segments: [team]")


def test_show_has_a_table_of_the_segments_largest_first_and_its_json_a_row_for_each_metric(bare):
    bare.predictions(team="case when i % 40 = 10 then 'small' else 'large' end")
    bare.config(segments=SEGMENTS)
    bare.run("run-once")

    shown = bare.run("show", 1)

    [head] = [line for line in shown.lines if line.startswith("team")]
    place = shown.lines.index(head)
    assert head.split()[:6] == ["team", "size", "flagged", "labeled", "precision", "recall"]
    large, alone, small = (shown.lines[place + line].split() for line in (2, 3, 4))
    assert (large[0], " ".join(alone[:3]), small[0]) == ("large", "its labels alone", "small")
    assert alone[3:] != large[4:]
    assert int(large[1]) + int(small[1]) == 200
    assert "of its own" in shown.lines[place + 2]
    rows = bare.as_json("show", 1)["segments"]
    assert {row["segment"] for row in rows} == {"team"}
    assert [row["value"] for row in rows] == ["large", "large", "small", "small"]
    assert [row["metric"] for row in rows] == ["precision", "recall"] * 2
    assert rows[0]["labeled"] + rows[2]["labeled"] == 40
    assert rows[0]["low"] < rows[0]["point"] < rows[0]["high"]
    assert rows[0]["margin"] == 0.1


def test_tables_that_take_no_account_of_missing_answers_say_so(bare):
    bare.predictions(is_travel="case when i % 7 > 0 then (i % 3 = 0)::int end", team="'all'")
    bare.config(segments=SEGMENTS)
    bare.run("run-once")

    shown, compared = bare.run("show", 1).out, bare.run("compare", 1, "--threshold", 0.6).out

    caution = "are missing: these intervals assume that the answered items are a random"
    assert "answers are missing" in bare.run("status").out
    for text in (shown, compared):
        assert caution in " ".join(text.split())
    page = bare.as_json("compare", 1, "--threshold", 0.6)
    assert page["missing"] > 0
