"""The config: what is read, and the sentence for everything that is refused."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel, ValidationError

from monitor.config.adapters import Kinds
from monitor.config.load import load_config
from monitor.config.model import Config, MonitorConfig
from monitor.domain.sample_settings import Cells
from monitor.domain.setting_types import Settings
from monitor.domain.settings import Limits, ReferenceMatrix, RoundSettings
from monitor.stats.detection.half_space import WATCHABLE
from tests.config_texts import ENVIRONMENT, TEXT, changed, sentences
from tests.pages import generator

TOP = Path(__file__).parents[2]


def test_the_shape_of_the_design_is_read_as_it_stands(load, tmp_path):
    config = load(TEXT)

    monitor = config.monitors[0]
    assert (config.folder, config.store_url) == (tmp_path, f"sqlite:///{tmp_path}/monitor.db")
    assert monitor.schedule.lag == timedelta(hours=6)
    assert monitor.source.where == {"tenant": ("eu", "us")}
    assert monitor.reference == ReferenceMatrix(tp=138, fp=22, fn=108, tn=4732)
    assert config.hooks["ops"].secret.get_secret_value() == ENVIRONMENT["OPS_HOOK_SECRET"]


def test_the_config_at_the_top_of_the_repository_is_valid_with_what_is_commented_out_too(load):
    text = (TOP / "config.yaml").read_text()
    everything = re.sub(r"^( *)# (model|reference|hooks|  ops)", r"\1\2", text, flags=re.MULTILINE)

    monitors = [load(one).monitors[0] for one in (text, everything)]

    assert [monitor.name for monitor in monitors] == ["mail-travel"] * 2
    assert [monitor.hooks for monitor in monitors] == [(), ("ops",)]


def test_round_settings_hold_everything_that_shapes_a_round_and_no_secret(load):
    config = load(TEXT)

    of_round = config.monitor("mail-travel").settings().round

    assert (of_round.threshold, of_round.deadline) == (0.5, timedelta(days=5))
    assert (of_round.late_labels, of_round.hooks) == (timedelta(days=90), ("ops",))
    assert not any(value in repr(of_round) for value in ENVIRONMENT.values())
    assert RoundSettings.model_validate_json(of_round.model_dump_json()) == of_round


@pytest.mark.parametrize("name", ["threshold_target", "planned", "snapshot", "first_wave"])
def test_a_round_that_was_opened_with_a_removed_setting_goes_on_without_it(load, name):
    of_round = load(TEXT).monitor("mail-travel").settings().round
    frozen = of_round.model_dump(mode="json")

    old = RoundSettings.model_validate(frozen | {name: {"precision": 1}})

    assert old == of_round
    with pytest.raises(ValidationError, match="treshold"):
        RoundSettings.model_validate(frozen | {"treshold": 0.8})


BY_CLASS = changed("score: score, ", "predicted: is_travel, ").replace("      threshold: 0.5\n", "")


def test_without_a_score_each_class_is_one_stratum(load):
    bands = load(BY_CLASS).monitors[0].settings().round.sample.bands

    assert (bands.flagged, bands.passed) == (1, 1)


@pytest.mark.parametrize("strata", ["bands", "cells"])
def test_strata_by_score_without_a_score_are_refused_rather_than_ignored(refused, strata):
    asked = f"max_labels: 2000, {strata}: {{flagged: 1, passed: 4}}"

    assert refused(BY_CLASS.replace("max_labels: 2000", asked)) == [
        f"config.yaml:13, monitors[mail-travel].sample.{strata}: the source has no score to cut "
        f"{strata} by; leave {strata} out, or name the column in source.columns.score"
    ]


@pytest.mark.parametrize(
    ("asked", "cells"),
    [
        ("", Cells(flagged=20, passed=40)),
        (", cells: {flagged: 12, passed: 30}", Cells(flagged=12, passed=30)),
        (", cells: null", None),
        (", bands: {flagged: 3, passed: 6}", None),
        (", bands: {flagged: 3, passed: 6}, cells: {}", Cells(flagged=20, passed=40)),
    ],
)
def test_strata_are_score_cells_unless_bands_alone_are_asked_for(load, asked, cells):
    [monitor] = load(changed("max_labels: 2000", f"max_labels: 2000{asked}")).monitors

    frozen = monitor.settings().round

    assert frozen.sample.cells == cells
    assert RoundSettings.model_validate_json(frozen.model_dump_json()) == frozen


def test_every_metric_of_the_detector_can_have_a_limit_by_its_public_name():
    limits = [Limits.model_validate({metric: 0.5}).watched() for metric in WATCHABLE]

    assert [limit.metric for (limit,) in limits] == [*WATCHABLE]


def test_limits_on_a_judge_share_the_promise_that_forecasts_of_the_classifier_are_by():
    limits = Limits.model_validate({"precision": 0.8, "judge_tpr": 0.7, "judge_fpr": 0.1})

    assert [limit.metric for limit in limits.watched()] == ["precision"]
    assert limits.every_of_classifier() == 3 * 52
    assert Limits.model_validate({"precision": 0.8}).every_of_classifier() == 52
    assert Limits().every_of_classifier() == 52


def test_a_bare_limit_watches_the_side_that_is_worse():
    limits = Limits.model_validate({"recall": 0.5, "fpr": 0.1, "prevalence": {"at_most": 0.2}})

    assert [str(limit) for limit in limits.watched()] == [
        "recall at least 0.5",
        "fpr at most 0.1",
        "prevalence at most 0.2",
    ]


@pytest.mark.parametrize(("before", "after", "line"), [*sentences()])
def test_a_refused_value_is_told_with_line_path_and_the_way_out(refused, before, after, line):
    assert refused(changed(before, after)) == [line]


@pytest.mark.parametrize("name", ["", "../x", "-x", "x" * 101, "é"])
def test_a_name_that_could_not_be_part_of_a_tag_or_file_is_refused(refused, name):
    of_monitor = refused(changed("name: mail-travel", f'name: "{name}"'))
    of_hook = refused(changed("  ops: {", f'  "{name}": {{'))

    said = "name: a name has 1 to 100 letters"
    assert re.match(rf"config.yaml:4, monitors\[.*\].{said}", of_monitor[0])
    assert any(line.startswith("config.yaml:22, hooks.") for line in of_hook)


def test_all_problems_of_a_file_are_told_at_once_in_its_order(refused):
    text = changed("name: mail-travel", "name: mail-travel\n    modle: x")
    text = text.replace("lag: 6h", "lag: 6").replace("recall: 0.50", "recall: 80")

    assert [line.split(": ")[0] for line in refused(text)] == [
        "config.yaml:5, monitors[mail-travel].modle",
        "config.yaml:14, monitors[mail-travel].schedule.lag",
        "config.yaml:18, monitors[mail-travel].limits.recall",
    ]


def test_two_monitors_of_one_name_are_refused_also_on_one_line_and_from_an_alias(refused):
    config = load_config(TOP / "config.yaml", {})
    monitor = json.dumps(config.monitors[0].model_dump(mode="json", exclude_unset=True))

    on_one_line, by_alias = (
        refused(f"monitors: [{first}, {second}]")
        for first, second in ((monitor, monitor), (f"&m {monitor}", "*m"))
    )

    assert on_one_line == by_alias
    assert on_one_line == [
        "config.yaml:1, monitors[mail-travel].name: line 1 has a monitor of this name already; "
        "names must differ"
    ]


def _settings(model, way=()):
    """Every setting below a model: the kinds it stands under, and the way to it."""
    for key, field in model.model_fields.items():
        yield (*way, field.alias or key)
        for inner in _sections(field):
            kind = inner.model_fields.get("kind")
            names = get_args(kind.annotation) if kind else ()
            place = ["[0]"] if get_origin(field.annotation) is tuple else []
            yield from _settings(inner, (*way, key, *place, *(f"={name}" for name in names)))


def _sections(field):
    metadata = (*field.metadata, *_metadata(field.annotation))
    opened = [one for one in metadata if isinstance(one, Kinds)]
    ours = [
        adapter.settings
        for one in opened
        for adapter in map(one.adapter, one.names())
        if adapter.settings.__module__.startswith("monitor.")
    ]
    return ours or _models(field.annotation)


def _metadata(annotation):
    yield from getattr(annotation, "__metadata__", ())
    for part in get_args(annotation):
        yield from _metadata(part)


def _models(annotation):
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    parts = getattr(annotation, "__args__", ())
    return [model for part in parts for model in _models(part)]


MONITOR_SETTINGS = [
    way for way in _settings(MonitorConfig) if way[:1] != ("limits",) or way[-1] != "bounds"
]
LISTS_OF_SECTIONS = {"show"}
MAY_BE_LISTS = {
    "command",
    "environment",
    "hooks",
    "labeling",
    "path",
    "show",
    "table",
    "segments",
    "positive",
    "negative",
}


@pytest.mark.parametrize("way", MONITOR_SETTINGS, ids=".".join)
def test_every_setting_of_a_monitor_refuses_nonsense_by_its_own_line(refused, way):
    if way[0] == "limits" and "bounds" in way:
        way = ("limits", "precision", *way[2:])
    tree: dict[str, Any] = {"name": "m", "source": {"kind": "duckdb"}}
    inner: Any = tree
    for part in way[:-1]:
        if part.startswith("="):
            inner["kind"] = part[1:]
            continue
        inner = (
            inner[0]
            if part == "[0]"
            else inner.setdefault(part, [{}] if part in LISTS_OF_SECTIONS else {})
        )
    inner[way[-1]] = {"a": {"b": "c"}} if way[-1] in MAY_BE_LISTS else [[]]
    text = json.dumps({"monitors": [tree]}, indent=1)
    opening = re.compile(rf'"{way[-1]}": [\[{{]')
    line = next(n for n, one in enumerate(text.split("\n"), 1) if opening.search(one))
    here = ".".join(part for part in way if not part.startswith("=")).replace(".[", "[")

    found = refused(text)

    assert any(
        re.match(rf"config.yaml:{line}, monitors\[\w+\].{re.escape(here)}[^:]*: ", one)
        for one in found
    ), found
    strange = ("Input", "pydantic", "reference/config.md")  # the last where a code has no words
    assert not any(word in one for one in found for word in strange)


@pytest.fixture(scope="module")
def docs():
    return generator("generate")


def test_every_setting_is_explained_on_the_page_about_the_config(docs):
    unexplained = [
        f"{model.__name__}.{key}"
        for model in docs["SECTIONS"].values()
        for key in model.model_fields
        if not docs["note"](model, key)
    ]

    assert unexplained == []


def test_every_class_of_settings_has_a_section_on_that_page(docs):
    shared = docs["QueriedSettings"]  # what every kind of source extends

    assert {shared, *_all_models(Config)} == {*docs["SECTIONS"].values()}


def test_every_class_of_settings_is_met_by_the_reader_that_knows_its_secrets():
    assert [model for model in _all_models(Config) if not issubclass(model, Settings)] == []


def _all_models(model):
    yield model
    for field in model.model_fields.values():
        for inner in _sections(field):
            yield from _all_models(inner)
