"""What cron, systemd and the image call is a command of the program."""

from __future__ import annotations

import json
import re

import pytest

from tests.deploy.manifests import parsed
from tests.deploy.program import DEPLOY


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("crontab", "run-once"),
        ("pr-monitor-run-once.service", "run-once"),
        ("pr-monitor.service", "serve"),
    ],
)
def test_cron_and_systemd_call_a_command_of_the_program(file, command):
    text = (DEPLOY / file).read_text()

    [line] = re.findall(r"^[^#\n]*/opt/pr-monitor/bin/(pr-monitor [^>\n]*)", text, re.MULTILINE)

    assert parsed(line.split()) == command


def test_the_image_calls_a_command_of_the_program():
    text = (DEPLOY / "Dockerfile").read_text()

    words = [
        json.loads(each) for each in re.findall(r"^(?:ENTRYPOINT|CMD) (.*)$", text, re.MULTILINE)
    ]

    assert parsed([word for each in words for word in each]) == "serve"
