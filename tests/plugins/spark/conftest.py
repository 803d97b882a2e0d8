"""One session of Spark for all tests of this folder: it takes half a minute to start."""

import pytest

from monitor.plugins.spark.session import session_for
from tests.plugins.spark.places import SparkPlace, settings_with
from tests.spark import need_spark


@pytest.fixture(scope="session")
def spark():
    need_spark()
    return session_for(settings_with())


@pytest.fixture
def place(spark, tmp_path):
    return SparkPlace(tmp_path)
