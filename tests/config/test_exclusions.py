"""What a monitor cannot have together: each row of the table, in a config that has both."""

from typing import Any

import pytest
import yaml

from monitor.config.load import load_config
from monitor.config.model import EXCLUSIONS, FACTS
from monitor.domain.errors import ConfigRefused

COLUMNS = {"id": "id", "time": "at", "score": "score"}
SOURCE = {"path": "p.parquet", "columns": COLUMNS, "threshold": 0.5}
LABELS = {"kind": "column", "path": "t.csv", "id": "id", "value": "y", "matures": "1d"}
BASE: dict[str, Any] = {
    "name": "mail-{class}",
    "source": SOURCE,
    "schedule": {"cron": "0 6 * * MON"},
    "labeling": LABELS,
}
JUDGE = {"judge": {"column": "verdict", "positive": "yes"}}
WITH: dict[str, dict[str, Any]] = {
    "sample.bands": {"sample": {"bands": {"flagged": 2, "passed": 4}}},
    "sample.cells": {"sample": {"cells": {"flagged": 2, "passed": 4}}},
    "limits.judge_tpr": {"limits": {"judge_tpr": 0.7}, **JUDGE},
    "limits.judge_fpr": {"limits": {"judge_fpr": 0.1}, **JUDGE},
    "judge": JUDGE,
    "sample.max_labels": {"sample": {"max_labels": "all"}},
    "labeling.checks": {
        "labeling": {
            "flagged": {**LABELS, "checks": 9},
            "passed": {"kind": "page", "question": "Is it?"},
        }
    },
    "no score": {
        "source": {"path": "p.parquet", "columns": {"id": "id", "time": "at", "predicted": "p"}}
    },
    "no judge": {"judge": None},
    "labels of the judge": {"labeling": {**LABELS, "path": "p.parquet", "value": "verdict"}},
    "one column": {"labeling": {**LABELS, "checks": 9}},
    "another labeler": {"labeling": {"kind": "files"}},
    "classes": {
        "classes": {"column": "topic", "values": ["travel", "finance"]},
    },
    "challenger": {
        "source": {**SOURCE, "challenger": {"name": "v8", "score": "new", "threshold": 0.5}}
    },
    "source.columns.group": {"source": {**SOURCE, "columns": {**COLUMNS, "group": "user"}}},
    "labels counted whole": {
        "labeling": {"flagged": LABELS, "passed": {"kind": "page", "question": "Is it?"}}
    },
    "released": {
        "source": {
            **SOURCE,
            "columns": {**COLUMNS, "released": "let_through"},
            "released_with": 0.05,
        }
    },
    "source.kept_with": {"source": {**SOURCE, "kept_with": {"passed": 0.1}}},
    "source.columns.weight": {"source": {**SOURCE, "columns": {**COLUMNS, "weight": "amount"}}},
    "bands alone": {"sample": {"cells": None}},
}
"""How a config comes to have each setting, where it fits, and each fact."""


def load(folder, *facts):
    monitor = dict(BASE)
    for fact in facts:
        both = {**monitor.get("sample", {}), **WITH[fact].get("sample", {})}
        monitor |= WITH[fact] | ({"sample": both} if both else {})
    if "classes" in monitor:  # each item has the class that it is predicted to be
        monitor["source"] = {k: v for k, v in monitor["source"].items() if k != "threshold"}
    if "classes" not in monitor:
        monitor["name"] = "mail"
    (folder / "config.yaml").write_text(yaml.safe_dump({"monitors": [monitor]}))
    return load_config(folder / "config.yaml", {})


@pytest.mark.parametrize(("setting", "fact"), EXCLUSIONS)
def test_a_setting_is_refused_by_name_where_something_excludes_it(tmp_path, setting, fact):
    with pytest.raises(ConfigRefused) as refused:
        load(tmp_path, setting, fact)

    [line] = str(refused.value).splitlines()
    assert line.endswith(f".{setting}: {EXCLUSIONS[setting, fact]}")


# "one column" is left out: it is there with checks.
@pytest.mark.parametrize("fact", sorted(FACTS.keys() - {"one column"}))
def test_each_of_them_alone_is_accepted(tmp_path, fact):
    assert load(tmp_path, fact).monitors


def test_each_fact_excludes_something_and_is_tried():
    assert {name for pair in EXCLUSIONS for name in pair} == {*FACTS} == {*WITH}
