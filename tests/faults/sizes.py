"""How large the fault tests are: small in `make test-all`, large in `make soak`."""

import os

SOAK = os.environ.get("SOAK") == "1"


def sized(*, small: int, soak: int) -> int:
    """Choose a number by whether this is the soak."""
    return soak if SOAK else small
