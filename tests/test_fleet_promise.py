"""One promise about false alarms over all monitors of a config."""

import re

import pytest

from monitor.cli.commands.results import promise_lines
from monitor.config.load import load_config
from monitor.domain.errors import ConfigRefused
from monitor.wiring import build

MONITOR = """\
  - name: {name}
    source: {{path: p.parquet, columns: {{id: id, time: at, score: score}}, threshold: 0.5}}
    schedule: {{cron: "{cron}"}}
    labeling: {{kind: files}}
    limits: {limits}
"""
WEEKLY, DAILY = "0 6 * * MON", "0 6 * * *"
BOTH = "{precision: 0.8, recall: 0.5}"


@pytest.fixture
def load(tmp_path):
    def loaded(*monitors, promise="", limits=BOTH):
        text = "".join(
            MONITOR.format(name=f"m{place}", cron=cron, limits=limits)
            for place, cron in enumerate(monitors)
        )
        path = tmp_path / "config.yaml"
        path.write_text(f"{promise}monitors:\n{text}")
        return load_config(path, {})

    return loaded


def test_without_a_promise_for_all_each_monitor_keeps_its_own(load):
    config = load(WEEKLY, DAILY)

    assert [config.false_alarm_every(monitor) for monitor in config.monitors] == [52, 52]
    assert config.false_alarms_a_year() == pytest.approx({"m0": 1, "m1": 7})
    assert promise_lines(load(WEEKLY)) == ["false alarms: at most 1 a year"]


def test_a_promise_for_all_is_shared_out_by_rounds_and_frozen_in_what_rounds_see(load):
    config = load(WEEKLY, WEEKLY, DAILY, promise="false_alarms: {at_most: 2, per: 26w}\n")

    application = build(config)

    every = [context.settings.round.limits.false_alarm_every for context in application.monitors]
    assert every == [117, 117, 117]  # (26 + 26 + 182) / 2
    assert set(application.monitors[0].settings.round.limits.bounds) == {"precision", "recall"}
    assert sum(config.false_alarms_a_year().values()) == pytest.approx(4)
    assert promise_lines(config) == ["false alarms: at most 4 a year over 3 monitors with limits"]


def test_monitors_that_are_still_learning_share_the_promise_and_raise_no_alarm(load):
    config = load(WEEKLY, WEEKLY, promise="false_alarms: {}\n", limits="{}")

    assert config.false_alarm_every(config.monitors[0]) == 104
    assert config.false_alarms_a_year() == {}
    assert promise_lines(config) == []


@pytest.mark.parametrize(
    ("promise", "limits", "sentence"),
    [
        (
            "false_alarms: {}\n",
            "{precision: 0.8, false_alarm_every: 52}",
            "false_alarms: it covers all monitors together, so leave "
            "limits.false_alarm_every out of m0, m1",
        ),
        (
            "false_alarms: {at_most: 9, per: 4w}\n",
            BOTH,
            "false_alarms: at most 9 in that time is more than one in every second round; promise "
            "fewer, or name a longer time in per",
        ),
    ],
)
def test_promises_that_contradict_or_mean_nothing_are_refused(load, promise, limits, sentence):
    with pytest.raises(ConfigRefused, match=re.escape(sentence)):
        load(WEEKLY, WEEKLY, promise=promise, limits=limits)
