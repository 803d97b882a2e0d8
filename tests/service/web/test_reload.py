"""What SIGHUP does: a good config is taken and its changes told, a bad one changes nothing."""

import shutil

import pytest
from structlog.testing import capture_logs

from monitor import wiring
from monitor.config.load import load_config
from monitor.rounds.opening import due
from monitor.service.runtime import Running
from monitor.service.web.health import Heartbeat
from tests.service.web.serving import change, samples
from tests.small_config import HOOKS, configure

SUCCESSFUL = ("pr_monitor_config_last_reload_successful",)
STAYS = "setting stays as it was until a restart"


@pytest.fixture
def path(tmp_path, monkeypatch, store_tables):
    shutil.copy(store_tables, tmp_path / "monitor.db")
    monkeypatch.setenv("OPS_HOOK", "https://hooks.example.org/canary-address")
    (tmp_path / "secret").write_text("canary-one-0123456789-0123")
    hooks = HOOKS.replace('secret: "${OPS_HOOK_SECRET}"', "secret_file: secret")
    configure(tmp_path, more=hooks)
    return tmp_path / "config.yaml"


@pytest.fixture
def running(path):
    application = wiring.build(load_config(path))
    yield Running(application, path, Heartbeat("rounds"))
    application.database.close()


def reload(running):
    """Ask for it; returns whether the config was taken and all that was logged."""
    with capture_logs() as logs:
        taken = running.reload()
    return taken, logs


def test_changed_settings_are_in_force_and_told_those_of_hooks_by_name(path, running):
    change(path, "{precision: 0.5}", "{precision: 0.6, recall: 0.4}")
    change(path, "allow_private: true", "timeout: 5s")

    taken, logs = reload(running)

    assert taken
    assert [line["event"] for line in logs] == ["config reloaded", *["config changed"] * 2]
    assert {line.get("monitor"): line["settings"] for line in logs[1:]} == {
        "mail": "limits.precision: 0.5 -> 0.6; limits.recall: not set -> 0.4",
        None: "hooks.ops.allow_private changed; hooks.ops.timeout changed",
    }
    assert running.application.config.monitor("mail").limits.bounds["recall"].at_least == 0.4


def test_a_bad_config_keeps_the_parts_and_is_told_and_a_good_one_after_it_is_taken(path, running):
    before = running.application
    change(path, "precision: 0.5", "precision: 50")

    taken, [line] = reload(running)
    kept, told = running.application is before, samples(running.metrics())[SUCCESSFUL]
    change(path, "precision: 50", "precision: 0.6")

    assert reload(running)[0]
    assert samples(running.metrics())[SUCCESSFUL] == 1
    assert (taken, kept, told) == (False, True, 0)
    assert line["log_level"] == "error"
    assert "limits.precision: 50 is not a share" in line["reason"]


def test_an_unchanged_config_is_told_as_such(running):
    assert reload(running) == (
        True,
        [{"event": "config reloaded", "changed": "nothing", "log_level": "info"}],
    )


def test_what_needs_a_restart_stays_and_is_told(path, running):
    change(path, "monitor.db", "other.db")
    path.write_text(path.read_text() + "web: {listen: 127.0.0.1:8080}\n")
    before = running.application

    _, logs = reload(running)

    assert [line["setting"] for line in logs if line["event"] == STAYS] == ["store", "web"]
    assert running.application.database is before.database
    assert running.application is not before
    assert (running.application.config.store, running.application.config.web) == (
        "sqlite:///monitor.db",
        None,
    )


def test_a_changed_secret_is_noticed_and_not_told(path, running):
    (path.parent / "secret").write_text("canary-two-0123456789-0123")

    _, [line] = reload(running)

    assert line["changed"] == "only what it names: a variable, or a file with a secret"
    assert "canary" not in str(line)


def test_what_other_settings_mean_for_the_next_round_is_told(path, running):
    open_a_round(running)
    change(path, "{precision: 0.5}", "{precision: 0.6}")

    _, of_no_history = reload(running)
    change(path, "threshold: 0.5", "threshold: 0.6")
    _, logs = reload(running)

    [told] = [line for line in logs if line["event"] == "next round"]
    assert (told["monitor"], told["log_level"]) == ("mail", "warning")
    assert told["change"].startswith(
        "source.threshold 0.5 -> 0.6: the next round begins a new history"
    )
    assert [line["event"] for line in of_no_history] == ["config reloaded", "config changed"]


def test_monitors_that_come_and_go_are_named_and_what_they_leave_open_is_told(path, running):
    open_a_round(running)
    change(path, "- name: mail\n", "- name: spam\n")

    _, logs = reload(running)

    assert (logs[0]["added"], logs[0]["removed"]) == (["spam"], ["mail"])
    assert [parts.settings.name for parts in running.application.monitors] == ["spam"]
    [told] = [line for line in logs if line["event"] == "monitor not in the config"]
    assert (told["monitor"], told["log_level"]) == ("mail", "warning")
    assert "mail is in the store but not in the config (renamed or removed?)" in told["left"]


def open_a_round(running):
    due.open_due(running.application.monitors[0])
