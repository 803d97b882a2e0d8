"""Configs as texts, read in a folder of the test's own."""

from functools import partial

import pytest

from tests.config_texts import read, refusals


@pytest.fixture
def load(tmp_path):
    return partial(read, tmp_path)


@pytest.fixture
def refused(tmp_path):
    return partial(refusals, tmp_path)
