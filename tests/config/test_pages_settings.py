"""Where the pages for people may listen, and what they need there."""

import pytest

from monitor.config.pages import PagesSettings
from tests.service.pages.site import reachable


@pytest.mark.parametrize("listen", ["192.168.1.5:8443", "[::]:8443"])
@pytest.mark.parametrize(
    ("without", "said"),
    [
        ({"behind_proxy": None}, r"listen: .* without encryption .* add behind_proxy: true"),
        ({"login": None}, r"login: other machines can reach .* write users"),
        ({"login": {"kind": "mlflow"}}, "login: write login: users; accounts of an MLflow"),
        ({"names": None}, r"names: other machines can reach .* \[labels\.example\.org\]"),
    ],
)
def test_pages_for_other_machines_need_encryption_a_login_and_names(listen, without, said):
    with pytest.raises(ValueError, match=said):
        reachable(listen=listen, **without)

    assert reachable(listen=listen).is_reachable


@pytest.mark.parametrize("without", ["login", "names"])
def test_pages_behind_a_proxy_are_reached_from_elsewhere_also_on_loopback(without):
    with pytest.raises(ValueError, match=f"{without}: other machines can reach"):
        reachable(listen="127.0.0.1:8443", **{without: None})


@pytest.mark.parametrize("listen", ["localhost:8089", "[::1]:8089"])
def test_pages_for_this_machine_need_an_address_alone(listen):
    assert not PagesSettings(listen=listen).is_reachable


@pytest.mark.parametrize(
    "name",
    ["https://labels.example.org", "labels.example.org:8443", "*.example.org", "", "a b", "-a.org"],
)
def test_what_is_no_name_of_a_machine_is_refused(name):
    with pytest.raises(ValueError, match=r"names: .* without https:// and port"):
        reachable(names=[name])
