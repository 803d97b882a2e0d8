"""Where the config lets the service listen."""

import pytest

from monitor.config.load import load_config
from monitor.domain.errors import ConfigRefused
from tests.config_texts import ENVIRONMENT, TEXT


@pytest.fixture
def load(tmp_path):
    def loaded(web):
        path = tmp_path / "config.yaml"
        path.write_text(f"{TEXT}web: {web}\n")
        return load_config(path, ENVIRONMENT).web

    return loaded


@pytest.mark.parametrize(
    ("listen", "address"), [("localhost:80", ("localhost", 80)), ('"[::1]:65535"', ("::1", 65535))]
)
def test_this_machine_may_always_be_listened_on(load, listen, address):
    assert tuple(load(f"{{listen: {listen}}}").address) == address


@pytest.mark.parametrize("listen", ["0.0.0.0:8080", '"[::]:8080"'])
def test_other_machines_are_let_in_only_where_the_config_says_so(load, listen):
    with pytest.raises(ConfigRefused, match=r"web.listen: other machines can reach .*allow_remote"):
        load(f"{{listen: {listen}}}")

    assert load(f"{{listen: {listen}, allow_remote: true}}").allow_remote


@pytest.mark.parametrize(
    ("listen", "said"),
    [
        ("127.0.0.1", "is not an address; write HOST:PORT, such as 127.0.0.1:8080"),
        ("127.0.0.1:0", "there is no port 0; it lies between 1 and 65535"),
        ("example.org:8080", "'example.org' is not an IP address of this machine"),
        ('"[1.2]:80"', "is not an IP address"),
        ("8080", "it should be a valid string, found a number"),
    ],
)
def test_what_is_no_address_is_refused_with_the_way_out(load, listen, said):
    with pytest.raises(ConfigRefused) as refused:
        load(f"{{listen: {listen}}}")

    assert said in str(refused.value)
    assert "web.listen" in str(refused.value)
