"""Tables of a lake in a store of objects: a real server on loopback that speaks S3."""

import subprocess
import time
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog import load_catalog

from monitor.domain.errors import SourceRefused, SourceUnavailable
from monitor.plugins.lake.settings import LakeSettings
from monitor.plugins.lake.source import LakeSource
from tests.plugins.lake.lake_tables import COLUMNS, arrow, mails
from tests.servers import cannot_start, free_port
from tests.sources.prediction_files import TWO, WEEK

KEYS = {"access": "monitor", "secret": "not-to-be-shown"}
SECONDS = 60
BESIDE = Path(__file__).parents[3] / ".s3-server/bin/moto_server"


@pytest.fixture(scope="module")
def s3_server():
    """The address of a server with the bucket `lake`."""
    if not BESIDE.exists():
        cannot_start("moto is not installed (make s3-server)")
    port = free_port()
    command = [str(BESIDE), "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            _make_bucket(url)
            yield url
        finally:
            server.kill()


def _make_bucket(url):
    until = time.monotonic() + SECONDS
    while True:
        try:
            httpx.put(f"{url}/lake", trust_env=False).raise_for_status()
        except httpx.TransportError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return


def storage(url):
    return {
        "aws_endpoint_url": url,
        "aws_access_key_id": KEYS["access"],
        "aws_secret_access_key": KEYS["secret"],
        "aws_region": "us-east-1",
        "aws_allow_http": True,
    }


def delta(url, folder, **changes):
    settings = {"delta": "s3://lake/predictions", "storage": storage(url), **changes}
    return source(settings, folder)


def iceberg(url, folder, **changes):
    return source(
        {"iceberg": "mail.predictions", "catalog": catalog(url, folder), **changes}, folder
    )


def catalog(url, folder):
    return {
        "name": "lake",
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": "s3://lake/warehouse",
        "s3.endpoint": url,
        "s3.access-key-id": KEYS["access"],
        "s3.secret-access-key": KEYS["secret"],
        "s3.region": "us-east-1",
    }


def source(settings, folder):
    return LakeSource(
        LakeSettings.model_validate({"columns": COLUMNS, "threshold": 0.5, **settings}), folder
    )


def write_delta(url, folder, rows):
    options = {
        key: str(value).lower() if value is True else value for key, value in storage(url).items()
    }
    options["aws_conditional_put"] = "etag"
    write_deltalake("s3://lake/predictions", arrow(rows), mode="append", storage_options=options)


def write_iceberg(url, folder, rows):
    there = load_catalog(**catalog(url, folder))
    there.create_namespace_if_not_exists("mail")
    there.create_table_if_not_exists("mail.predictions", arrow(rows).schema).append(arrow(rows))


LAKES = {"delta": (delta, write_delta), "iceberg": (iceberg, write_iceberg)}


@pytest.mark.parametrize("kind", LAKES)
def test_a_lake_in_a_store_of_objects_is_read(s3_server, tmp_path, kind):
    make, write = LAKES[kind]
    write(s3_server, tmp_path, mails(20))
    lake = make(s3_server, tmp_path)

    frame = lake.scan(WEEK, TWO, 5, "s")

    assert frame.size == 20
    assert lake.at(frame.snapshot).show(["m3"], WEEK) == {"m3": {"text": "mail 3"}}


def test_a_bucket_that_is_not_there_is_refused_and_no_snapshot_that_went(s3_server, tmp_path):
    lake = delta(s3_server, tmp_path, delta="s3://nobody/predictions")

    with pytest.raises(SourceRefused, match=r"is not there .*correct source\.delta"):
        lake.at("0").scan(WEEK, TWO, 5, "s")


@pytest.mark.parametrize("kind", LAKES)
def test_a_store_of_objects_that_is_down_makes_a_round_wait_and_no_key_is_told(
    s3_server, tmp_path, kind
):
    make, write = LAKES[kind]
    write(s3_server, tmp_path, mails(20))
    nowhere = f"http://127.0.0.1:{free_port()}"

    with pytest.raises(SourceUnavailable) as caught:
        make(nowhere, tmp_path, timeout=timedelta(seconds=60)).scan(WEEK, TWO, 5, "s")

    assert "predictions" in str(caught.value)
    assert KEYS["secret"] not in str(caught.value)
