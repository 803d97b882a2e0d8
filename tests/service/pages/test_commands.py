"""`pr-monitor label` as a process; `tests/service/web/test_serve.py` has `serve` with pages."""

import json
import re
import signal
import socket

import httpx
import pytest

from monitor.domain.errors import ConfigRefused
from tests.cli.workplace import Workplace
from tests.servers import free_port
from tests.small_config import configure
from tests.workers import worker

PAGE = 'labeling: {kind: page, question: "Is it about travel?"}'
LABEL = """
from monitor.cli import main

sys.argv = ["pr-monitor", "label", *sys.argv[1:]]
main()
"""


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def shop(folder, port):
    """A folder whose monitor is labeled on the page, on which nothing is yet."""
    configure(folder, more=f"pages: {{listen: 127.0.0.1:{port}}}\n")
    path = folder / "config.yaml"
    path.write_text(path.read_text().replace("labeling: {kind: files}", PAGE))
    return folder


def come_in(link, name):
    """Use a link as a browser does; returns the page after it."""
    with httpx.Client(trust_env=False, follow_redirects=True, timeout=30) as client:
        entrance = client.get(link)
        key = link.partition("key=")[2]
        proposed = re.search(r'name="name" value="([^"]*)"', entrance.text)
        assert proposed is not None
        data = {"key": key, "name": name or proposed[1]}
        return client.post(link.partition("?")[0], data=data)


def test_label_prints_a_link_for_each_person_and_stops_on_ctrl_c(shop, port):
    with worker(LABEL, "--port", port, "--as", "Ada", cwd=shop) as one:
        first = one.said.readline().split()[-1]
        page = come_in(first, name="")
        told = one.said.readline()
        again = httpx.get(first, trust_env=False)
        one.process.send_signal(signal.SIGINT)
        code, output, errors = one.end()

    assert first.startswith(f"http://127.0.0.1:{port}/enter?key=")
    assert page.status_code == 200
    assert "<bdi>Ada</bdi>" in page.text
    assert "has not been opened; run-once does" in page.text, (
        "with nothing to label yet, the status"
    )
    assert told.startswith("Ada is labeling; a link for another person: http://")
    assert again.status_code == 403
    assert (code, output, errors) == (0, "stopped; every answer is kept\n", "")


@pytest.mark.slow
def test_label_speaks_a_line_of_json_for_each_link(shop, port):
    with worker(LABEL, "--port", port, "--json", cwd=shop) as one:
        line = one.said.readline()
        one.process.send_signal(signal.SIGTERM)
        code, output, _ = one.end()

    said = json.loads(line)
    assert said["entered"] is None
    assert said["link"].startswith(f"http://127.0.0.1:{port}/enter?key=")
    assert (code, output) == (0, "")


def test_a_port_in_use_and_a_monitor_that_is_labeled_otherwise_are_refused(shop, port, monkeypatch):
    monkeypatch.chdir(shop)
    with socket.create_server(("127.0.0.1", port)):
        taken = Workplace(shop).run("label", "--port", str(port))
    configure(shop)
    otherwise = Workplace(shop).run("label", "--port", str(port), "-m", "mail")

    assert (taken.code, taken.out) == (75, "")
    assert f"--port: 127.0.0.1:{port} is used by another program" in taken.err
    assert (otherwise.code, otherwise.out) == (65, "")
    assert "nobody labels mail on the labeling page" in otherwise.err
    assert "labeling: {kind: page, question:" in otherwise.err


def test_the_page_has_a_port_of_its_own(folder):
    more = "web: {listen: 127.0.0.1:8089}\npages: {listen: localhost:8089}\n"

    with pytest.raises(ConfigRefused, match=r"port 8089 is that of web\.listen; choose another"):
        configure(folder, more=more)
