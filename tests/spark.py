"""Spark for tests: what it needs of this machine."""

import importlib.util
import shutil

from tests.servers import cannot_start


def need_spark():
    if shutil.which("java") is None:
        cannot_start("Spark needs Java (Debian: apt install openjdk-17-jre-headless)")
    if importlib.util.find_spec("pyspark") is None:
        cannot_start("pyspark is not installed")
