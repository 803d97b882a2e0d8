"""The blocks of the page about alerts, each sent to a receiver on loopback."""

import json
import re
import smtplib
import socketserver
import threading

import pytest
from requests.adapters import HTTPAdapter

from monitor.config.adapters import HOOKS
from monitor.config.load import load_config
from monitor.hooks.context import HookContext, no_link
from tests.hooks.receivers import Receiver, effect
from tests.pages import blocks, page

pytest.importorskip("apprise")
pytestmark = pytest.mark.server

MONITOR = """\
monitors:
  - name: mail
    source: {path: p.csv, columns: {id: id, time: at, score: score}, threshold: 0.5}
    schedule: {cron: "0 6 * * MON"}
    labeling: {kind: files}
"""


def handler(title, tmp_path):
    """Load the config of a section with the environment that it exports, and make its hook."""
    (section,) = re.findall(rf"^## {title}\n(.*?)^## ", page("alerts"), re.DOTALL | re.MULTILINE)
    config = tmp_path / "config.yaml"
    config.write_text(MONITOR + blocks(section, "yaml")[0])
    exported = re.findall(r"^export (\w+)='?([^'\n]+)'?$", blocks(section, "sh")[0], re.MULTILINE)
    ((name, hook),) = load_config(config, dict(exported)).hooks.items()
    return HOOKS.make(hook, HookContext(name, tmp_path, link=no_link))


@pytest.mark.parametrize(
    ("title", "status", "host", "path"),
    [
        ("Slack", 200, "hooks.slack.com", r"/services/TX+/BX+/X+"),
        (
            "Microsoft Teams",
            202,
            "prod-1.westeurope.logic.azure.com:443",
            r"/workflows/WORKFLOW/.*sig=SIGNATURE.*",
        ),
        ("PagerDuty", 202, "events.pagerduty.com", "/v2/enqueue"),
    ],
)
def test_a_chat_or_pager_gets_the_alert_by_the_block_of_its_section(
    title, status, host, path, tmp_path, monkeypatch
):
    sent_to = []
    send = HTTPAdapter.send

    def send_to_receiver(adapter, request, **options):
        ((scheme, asked_host, rest),) = re.findall(r"(\w+)://([^/]+)(.*)", request.url)
        sent_to.append((scheme, asked_host))
        request.url = f"{receiver.root}{rest}"
        return send(adapter, request, **options)

    monkeypatch.setattr(HTTPAdapter, "send", send_to_receiver)
    with Receiver(status, answer="ok") as receiver:
        handler(title, tmp_path).deliver(effect(sentence="Precision fell."))

    ((requested, _, body),) = receiver.got
    assert sent_to == [("https", host)]
    assert re.fullmatch(path, requested)
    assert "Precision fell" in json.dumps(json.loads(body))


class MailServer(socketserver.ThreadingTCPServer):
    """Keeps the lines of the mails that it accepts."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), MailHandler)
        self.lines: list[str] = []


class MailHandler(socketserver.StreamRequestHandler):
    """Accepts one mail as a server of SMTP does."""

    def handle(self):
        server = self.server
        assert isinstance(server, MailServer)
        self.wfile.write(b"220 ready\r\n")
        for line in self.rfile:
            server.lines.append(line.decode().rstrip())
            if line == b"data\r\n":
                self.wfile.write(b"354 go on\r\n")
                server.lines += iter(lambda: self.rfile.readline().decode().rstrip(), ".")
            self.wfile.write(b"221 bye\r\n" if line.startswith(b"quit") else b"250 ok\r\n")


def test_mail_goes_to_the_address_of_the_block_with_its_login_and_over_tls(tmp_path, monkeypatch):
    calls = []
    connect = smtplib.SMTP.connect

    def connect_to_receiver(client, host, port, **options):
        calls.append(f"{host}:{port}")
        return connect(client, *server.server_address, **options)

    monkeypatch.setattr(smtplib.SMTP, "connect", connect_to_receiver)
    monkeypatch.setattr(smtplib.SMTP, "starttls", lambda *_, **__: calls.append("TLS"))
    monkeypatch.setattr(smtplib.SMTP, "login", lambda _, *account: calls.append(account))
    with MailServer() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        handler("Mail", tmp_path).deliver(effect(sentence="Precision fell."))
        server.shutdown()

    text = "\n".join(server.lines)
    assert calls == ["smtp.example.org:587", "TLS", ("monitor", "PASSWORD")]
    assert "rcpt TO:<oncall@example.org>" in text
    assert "ALERT: mail-travel, precision" in text
