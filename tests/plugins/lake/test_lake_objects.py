"""Tables of a lake in a store of objects: a real server on loopback that speaks S3."""

import subprocess
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from deltalake import write_deltalake

from monitor.domain.errors import SourceRefused, SourceUnavailable
from tests.plugins.lake.lake_tables import Delta, Iceberg, mails
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


class DeltaInStore(Delta):
    """A Delta table in the bucket."""

    def __init__(self, url, folder):
        super().__init__(folder)
        self.address, self.options = "s3://lake/predictions", storage(url)

    def write_arrow(self, table, *, mode="append"):
        options = {key: "true" if value is True else value for key, value in self.options.items()}
        options["aws_conditional_put"] = "etag"
        write_deltalake(self.address, table, mode=mode, storage_options=options)

    def source(self, **changes):
        return super().source(**{"delta": self.address, "storage": self.options, **changes})


class IcebergInStore(Iceberg):
    """A table of a catalog in a file, whose files are in the bucket."""

    def __init__(self, url, folder):
        super().__init__(folder)
        self.catalog |= {
            "warehouse": "s3://lake/warehouse",
            "s3.endpoint": url,
            "s3.access-key-id": KEYS["access"],
            "s3.secret-access-key": KEYS["secret"],
            "s3.region": "us-east-1",
        }


LAKES: dict[str, Any] = {"delta": DeltaInStore, "iceberg": IcebergInStore}


@pytest.mark.parametrize("kind", LAKES)
def test_a_lake_in_a_store_of_objects_is_read(s3_server, tmp_path, kind):
    lake = LAKES[kind](s3_server, tmp_path)
    lake.write(mails(20))
    source = lake.source()

    frame = source.scan(WEEK, TWO, 5, "s")

    assert frame.size == 20
    assert source.at(frame.snapshot).show(["m3"], WEEK) == {"m3": {"text": "mail 3"}}


def test_a_bucket_that_is_not_there_is_refused_and_no_snapshot_that_went(s3_server, tmp_path):
    source = DeltaInStore(s3_server, tmp_path).source(delta="s3://nobody/predictions")

    with pytest.raises(SourceRefused, match=r"is not there .*correct source\.delta"):
        source.at("0").scan(WEEK, TWO, 5, "s")


@pytest.mark.parametrize("kind", LAKES)
def test_a_store_of_objects_that_is_down_makes_a_round_wait_and_no_key_is_told(
    s3_server, tmp_path, kind
):
    LAKES[kind](s3_server, tmp_path).write(mails(20))
    nowhere = LAKES[kind](f"http://127.0.0.1:{free_port()}", tmp_path)

    with pytest.raises(SourceUnavailable) as caught:
        nowhere.source(timeout=timedelta(seconds=60)).scan(WEEK, TWO, 5, "s")

    assert "predictions" in str(caught.value)
    assert KEYS["secret"] not in str(caught.value)
