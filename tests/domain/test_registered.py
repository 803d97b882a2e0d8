"""URIs of registered models."""

import pytest

from monitor.domain.registered import alias_of


@pytest.mark.parametrize("uri", [None, "models:/mail/7", "models:/m-0af3", "mail@champion"])
def test_what_names_no_alias_has_none(uri):
    assert alias_of(uri) is None
