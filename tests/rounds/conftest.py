"""Estimates of these tests are coarse; a module that looks at second digits has more `POINTS`."""

import pytest

from tests.faults.few_points import few_points


@pytest.fixture(autouse=True)
def _coarse(request):
    with few_points(getattr(request.module, "POINTS", 2**8)):
        yield
