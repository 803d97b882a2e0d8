"""The page of a model version says how it stands, and leaves alone what people wrote there."""

import shutil
from contextlib import suppress
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from monitor.domain.report import Status
from monitor.tracking import model_page
from monitor.tracking.connection import load_mlflow
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings
from monitor.tracking.model_page import RoundLinks, with_our_part, write_tags
from tests.tracking.conftest import handler_for, the_run
from tests.tracking.reports import FLEET, ROUND, TAGS, center, make_effect, make_report

load_mlflow()  # without its telemetry, before anything else imports it

pytestmark = pytest.mark.server

LINKS = RoundLinks(
    "#/round", "#/rounds", "http://host/#/rounds", "![timeline](get-artifact?path=t)"
)


@pytest.fixture
def version(client, prefix):
    """The URI of a registered version."""
    client.create_registered_model(prefix)
    client.create_model_version(prefix, source="s3://models/somewhere")
    return f"models:/{prefix}/1"


def page(client, prefix):
    return client.get_model_version(prefix, "1")


def deliver(handler, report, kinds=(ROUND, FLEET, TAGS)):
    for kind in kinds:
        receipt = handler.deliver(make_effect(kind, report))
    return receipt


def test_tags_and_description_say_how_a_version_stands_and_where_and_the_run_links_back(
    handler, client, prefix, version
):
    deliver(handler, make_report(11, model=version))

    run = the_run(client, f"{prefix}/mail-travel")
    found = page(client, prefix)
    assert found.tags["monitor.status"] == "alert"
    assert found.tags["monitor.date"] == "2025-03-17"
    assert found.tags["monitor.precision"].startswith(f"{center('precision', 11):.3f} [")
    runs = f"experiments/{run.info.experiment_id}/runs"
    begin = f"{client.tracking_uri}/#/{runs}?workflowType=machine_learning&"
    assert found.tags["monitor.link"].startswith(begin)
    assert (
        "**ALERT since round 10.** Precision 0.74 (limit 0.8) · [Round 11, 2025-03-17]"
        f"(#/{runs}/{run.info.run_id}?workflowType=" in found.description
    )
    assert f"(get-artifact?path=timeline.svg&run_uuid={run.info.run_id})" in found.description
    note = run.data.tags["mlflow.note.content"]
    assert note.endswith(f"Model: [{version}](#/models/{prefix}/versions/1).")


def test_what_people_wrote_about_a_version_stays(handler, client, prefix, version):
    client.update_model_version(prefix, "1", "Trained by Ada.\n")
    deliver(handler, make_report(1, model=version))
    first = page(client, prefix).description
    client.update_model_version(prefix, "1", f"{first}\n\nDo not use for Sundays.")

    deliver(handler, make_report(2, model=version))

    text = page(client, prefix).description
    assert text.startswith("Trained by Ada.\n\n<!-- pr-monitor mail-travel: ")
    assert text.endswith("-->\n\nDo not use for Sundays.")
    assert ("Round 2," in text, "Round 1," in text) == (True, False)


ONE, OTHER = f"_{'x' * 98}.", "mail..status-7"  # as odd as names of monitors may be


def test_of_several_monitors_each_has_tags_and_the_plain_ones_are_of_the_gravest(
    proxy, client, prefix, version
):
    handler = handler_for(proxy.url, prefix)
    good = make_report(12, model=version, monitor=OTHER, status=Status.OK, alerts=[])
    deliver(handler, make_report(11, model=version, monitor=ONE), [TAGS])
    deliver(handler, good, [TAGS])

    tags = page(client, prefix).tags

    for name, status, date in ((ONE, "alert", "2025-03-17"), (OTHER, "ok", "2025-03-24")):
        own = {field: tags[f"monitor.{name}.{field}"] for field in ("status", "date")}
        assert own == {"status": status, "date": date}
        assert all(f"monitor.{name}.{field}" in tags for field in ("precision", "recall", "link"))
    assert tags["monitor.name"] == ONE
    for field in ("status", "precision", "recall", "date", "link"):
        assert tags[f"monitor.{field}"] == tags[f"monitor.{ONE}.{field}"]

    before, seen = page(client, prefix), len(proxy.seen)
    deliver(handler, good, [TAGS])
    after = page(client, prefix)
    assert after.last_updated_timestamp == before.last_updated_timestamp
    assert after.tags == before.tags
    assert sum("model-versions/" in call for call in proxy.seen[seen:]) == 1


class Registry:
    """The tags of one version; takes as many writes as it is asked to, and then none."""

    def __init__(self, tags=None, writes=1000):
        self.tags, self.writes = dict(tags or {}), writes

    def get_model_version(self, name, version):
        return SimpleNamespace(name=name, version=version, tags=dict(self.tags))

    def set_model_version_tag(self, _name, _version, key, value):
        if not self.writes:
            raise ConnectionError
        self.writes -= 1
        self.tags[key] = value

    def tell(self, *reports):
        client: Any = self
        for report in reports:
            write_tags(
                client, client.get_model_version("mail", "1"), report, "http://host/#/rounds"
            )


def report_of(monitor, status, number=1, **changes):
    return make_report(number, monitor=monitor, status=status, **changes)


def plain(registry):
    return tuple(registry.tags[f"monitor.{field}"] for field in ("name", "status"))


def test_tags_that_a_fault_cut_off_are_whole_after_the_next_try():
    first, second = report_of("a", Status.ALERT), report_of("b", Status.OK, 2)
    whole = Registry()
    whole.tell(first, second)

    for writes in range(18):
        cut = Registry()
        cut.tell(first)
        cut.writes = writes
        with suppress(ConnectionError):
            cut.tell(second)
        cut.writes = 1000
        cut.tell(second)

        assert cut.tags == whole.tags, writes
        assert plain(cut) == ("a", "alert")


def test_the_plain_tags_go_over_to_whoever_stands_gravest_then_newest():
    registry = Registry()
    registry.tell(report_of("a", Status.STALE), report_of("b", Status.ATTENTION))
    seen = [plain(registry)]
    for report in (
        report_of("b", Status.ALERT, 2),
        report_of("b", Status.OK, 3),
        report_of("a", Status.OK, 2),
        report_of("a", Status.OK, 3),
    ):
        registry.tell(report)
        seen.append(plain(registry))

    assert seen == [("a", "stale"), ("b", "alert"), ("a", "stale"), ("b", "ok"), ("a", "ok")]


def test_estimates_of_one_monitor_never_stand_beside_the_status_of_another():
    registry = Registry()
    registry.tell(report_of("a", Status.OK), report_of("b", Status.STALE, estimates=[]))

    assert plain(registry) == ("b", "stale")
    assert registry.tags["monitor.precision"] == "not estimable"
    assert "monitor.b.precision" not in registry.tags


def test_a_monitor_whose_tags_somebody_deleted_counts_no_more():
    registry = Registry()
    registry.tell(report_of("old", Status.ALERT), report_of("new", Status.OK))
    registry.tags = {k: v for k, v in registry.tags.items() if not k.startswith("monitor.old.")}

    registry.tell(report_of("new", Status.LEARNING, 2))

    assert plain(registry) == ("new", "learning")
    assert registry.tags["monitor.new.status"] == "learning"
    assert not [key for key in registry.tags if key.startswith("monitor.old.")]


def test_a_round_without_estimates_keeps_the_picture_of_the_one_before():
    before = with_our_part("", make_report(1), LINKS)
    attention = make_report(
        2, estimates=[], status=Status.ATTENTION, sentence="Round 2 needs a look: *no* scores."
    )

    text = with_our_part(before, attention, RoundLinks("#/round", "#/rounds", ""))

    assert r"**ATTENTION.** Round 2 needs a look: \*no\* scores. · [Round 2," in text
    assert LINKS.picture in text


def test_no_name_of_a_monitor_ends_the_comment_around_our_part():
    report = make_report(1, monitor="a-->b")

    text = with_our_part("", report, LINKS)

    assert with_our_part(text, report, LINKS) == text
    assert text.count("-->") == 2


def test_a_description_that_is_full_keeps_what_people_wrote(
    handler, client, prefix, version, monkeypatch
):
    monkeypatch.setattr(model_page, "LONGEST", 100)
    client.update_model_version(prefix, "1", "A long story.")

    deliver(handler, make_report(1, model=version))

    found = page(client, prefix)
    assert found.description == "A long story."
    assert found.tags["monitor.status"] == "ok"


def test_a_registry_elsewhere_gets_whole_addresses_and_no_picture(
    mlflow_url, mlflow_tables, prefix, tmp_path
):
    from mlflow import MlflowClient  # noqa: PLC0415

    shutil.copy(mlflow_tables, tmp_path / "registry.db")
    registry = f"sqlite:///{tmp_path / 'registry.db'}"
    models = MlflowClient(registry, registry)
    models.create_registered_model(prefix)
    models.create_model_version(prefix, source="s3://models/somewhere")
    settings = MlflowSettings(
        tracking_uri=mlflow_url,
        registry_uri=registry,
        experiment_prefix=prefix,
        timeout=timedelta(seconds=60),
    )

    deliver(MlflowHandler(settings), make_report(1, model=f"models:/{prefix}/1"))

    text = page(models, prefix).description
    assert f"({mlflow_url}/#/experiments/" in text
    assert "get-artifact" not in text


def test_tags_go_to_the_version_that_the_alias_named_for_the_window(
    handler, client, prefix, version
):
    client.create_model_version(prefix, source="s3://models/other")
    client.set_registered_model_alias(prefix, "champion", "2")
    report = make_report(1, model=f"models:/{prefix}@champion", registered=version)

    receipt = deliver(handler, report)

    assert receipt == version
    assert page(client, prefix).tags["monitor.date"] == "2025-01-06"
    assert the_run(client, f"{prefix}/mail-travel").data.tags["monitor.model"] == version
    assert client.get_model_version(prefix, "2").tags == {}
    by_alias = make_report(1, model=f"models:/{prefix}@champion")
    assert deliver(handler, by_alias, [TAGS]) == f"models:/{prefix}/2"


def test_a_run_links_to_the_logged_model_and_its_estimates_go_there_in_the_same_request(
    proxy, client, prefix
):
    handler = handler_for(proxy.url, prefix)
    model = with_logged_model(client, prefix)
    report = make_report(1, model=f"models:/{prefix}/1")

    deliver(handler, report, [ROUND])

    found = {metric.key: metric for metric in client.get_logged_model(model.model_id).metrics}
    run = the_run(client, f"{prefix}/mail-travel")
    assert {name: metric.value for name, metric in found.items()} == {
        f"{metric}/{end}": run.data.metrics[f"{metric}/{end}"]
        for metric in ("precision", "recall")
        for end in ("point", "low", "high")
    }
    (link,), (data,) = run.inputs.model_inputs, run.inputs.dataset_inputs
    assert link.model_id == model.model_id
    assert found["recall/point"].dataset_digest == data.dataset.digest
    assert sum("log-batch" in call or "log-metric" in call for call in proxy.seen) == 1


def test_a_logged_model_that_was_purged_costs_its_metrics_and_no_round(
    handler, client, prefix, monkeypatch
):
    with_logged_model(client, prefix)
    gone = f"m-{'0' * 32}"
    monkeypatch.setattr("monitor.tracking.writing.logged_model_id", lambda *_: gone)

    deliver(handler, make_report(1, model=f"models:/{prefix}/1"), [ROUND])

    run = the_run(client, f"{prefix}/mail-travel")
    assert run.data.metrics["precision/point"] == center("precision", 1)
    assert run.data.tags["monitor.digest"]


def with_logged_model(client, prefix):
    experiment = client.create_experiment(f"{prefix}-training")
    model = client.create_logged_model(experiment, name="classifier")
    client.create_registered_model(prefix)
    client.create_model_version(prefix, source=f"models:/{model.model_id}", model_id=model.model_id)
    return model
