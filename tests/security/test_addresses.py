"""Hooks reach no address inside the network by any way of writing it, unless the config allows."""

import socket
from contextlib import contextmanager

import pytest

from monitor.domain.errors import DeliveryFailed
from monitor.hooks.context import HookContext
from monitor.hooks.ssrf import is_public
from monitor.hooks.webhook import WebhookHandler, WebhookSettings
from tests.hooks.receivers import Receiver, effect

SECRET = "a secret of twenty-four bytes"  # noqa: S105  made up


def post(url, *, allow_private=False):
    settings = {"url": url, "secret": SECRET, "allow_private": allow_private, "timeout": "2s"}
    WebhookHandler(WebhookSettings.model_validate(settings), HookContext("ops")).deliver(effect())


@contextmanager
def listening(address="127.0.0.1", family=socket.AF_INET):
    """Listen, and make sure at the end that whoever connected sent nothing."""
    with socket.create_server((address, 0), family=family) as server:
        server.settimeout(0)
        yield server.getsockname()[1]
        try:
            peer, _ = server.accept()
        except BlockingIOError:
            return
        with peer:
            peer.settimeout(2)
            assert peer.recv(1) == b""


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.0.0.1"),
        *("017700000001", "0", "0.0.0.0", "[::ffff:127.0.0.1]", "LOCALHOST.", "[::1]"),  # noqa: S104
    ],
)
def test_a_private_address_gets_no_byte_however_it_is_written(host):
    where = ("::1", socket.AF_INET6) if host == "[::1]" else ("127.0.0.1", socket.AF_INET)

    with listening(*where) as port, pytest.raises(DeliveryFailed) as failure:
        post(f"https://{host}:{port}/")

    said = str(failure.value)
    assert "not a public address" in said or "the connection failed" in said


def test_a_name_that_points_elsewhere_when_it_is_used_leads_nowhere(monkeypatch):
    """The peer of the open connection is looked at, so no second look-up can differ."""
    asked = []
    real = socket.getaddrinfo

    def rebinding(host, port, *arguments, **named):
        if host != "rebind.example":
            return real(host, port, *arguments, **named)
        asked.append(host)
        return real("127.0.0.1", port, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    with (
        listening() as port,
        pytest.raises(
            DeliveryFailed, match=r"rebind\.example leads to 127\.0\.0\.1, which is not a public"
        ),
    ):
        post(f"https://rebind.example:{port}/")

    assert asked == ["rebind.example"]


def test_a_redirect_into_the_network_is_not_followed():
    with (
        Receiver() as inside,
        Receiver(307, location=inside.url) as outside,
        pytest.raises(DeliveryFailed, match="a redirect, which is not followed"),
    ):
        post(outside.url, allow_private=True)

    assert inside.got == []


def test_no_proxy_of_the_environment_gets_the_notice(monkeypatch):
    with Receiver() as proxy, Receiver() as receiver:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy.root)
        post(receiver.url, allow_private=True)

    assert proxy.got == []
    assert len(receiver.got) == 1


PRIVATE = [
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("0.0.0.0", "224.0.0.1", "::1", "::", "fe80::1%eth0", "fd00::1"),  # noqa: S104
    *("::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"),
    *("::127.0.0.1", "::7f00:1", "::ffff:0:127.0.0.1", "64:ff9b:1::7f00:1", "fec0::1"),
    *("fd00:ec2::254", "::ffff:169.254.169.254", "2001:0:4136:e378:8000:63bf:80ff:fffe"),
    *("2002:a9fe:a9fe::", "ff02::1", "100::1", "255.255.255.255", "198.18.0.1"),
]


def test_no_way_to_write_a_private_address_is_public():
    assert [address for address in PRIVATE if is_public(address)] == []
    for address in ("93.184.215.14", "2606:4700::1111", "64:ff9b::5db8:d70e"):
        assert is_public(address)
