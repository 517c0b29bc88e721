"""Inputs and the data set on S3: a real server on loopback, and the bytes of a run into a folder."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from fleet.conftest import environment, everything, finish, start

pytestmark = pytest.mark.slow

_KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an S3 server with an empty bucket `bucket`."""
    for package in ("flask_cors", "moto", "s3fs"):
        pytest.importorskip(package)
    log = tmp_path_factory.mktemp("s3") / "log"
    with log.open("wb") as handle:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        server = subprocess.Popen(command, stdout=handle, stderr=handle)
    try:
        while "http://127.0.0.1:" not in (said := log.read_text()):
            assert server.poll() is None, said
            time.sleep(0.05)
        address = "http://127.0.0.1:" + said.partition("http://127.0.0.1:")[2].split()[0]
        call(f"{address}/bucket", "PUT")
        yield address
    finally:
        server.kill()
        server.wait()


def call(address: str, method: str, data: bytes = b"") -> bytes:
    signed = {
        "Content-Type": "application/octet-stream",
        "Authorization": "AWS4-HMAC-SHA256 Credential=key/20260302/us-east-1/s3/aws4_request",
    }
    body = data if method == "PUT" else None
    with urlopen(Request(address, data=body, method=method, headers=signed)) as answer:
        return bytes(answer.read())


def on_s3(address: str) -> dict[str, str]:
    return {**environment(), **_KEYS, "AWS_ENDPOINT_URL": address}


def test_a_fleet_on_s3_gives_the_bytes_of_one_in_a_folder(fleet, tmp_path, bucket):
    host = "mail0002"
    for path in sorted((fleet.inputs / host).iterdir()):
        call(f"{bucket}/bucket/in/{host}/{path.name}", "PUT", path.read_bytes())
    call(f"{bucket}/bucket/in/{host}/broken", "PUT", b"\x96\xd5 no more")
    process = start(
        "s3://bucket/in", "-o", "s3://bucket/out", "--table", "disk", "--jobs", 1, env=on_s3(bucket)
    )
    status, said = finish(process)
    assert status == 0, said
    assert "s3://bucket/in/mail0002/broken: failed" in said
    process = start(
        "s3://bucket/in", "-o", tmp_path / "out", "--table", "disk", "--jobs", 1, env=on_s3(bucket)
    )
    assert finish(process)[0] == 0
    expected = {name: data for name, data in everything(tmp_path / "out").items() if data}
    for name, data in expected.items():
        assert call(f"{bucket}/bucket/out/{name.replace('%', '%25')}", "GET") == data, name
    # nothing is done again, and what a killed run would have left is removed
    call(f"{bucket}/bucket/out/tables/disk/host=x/day=y/part-0.parquet", "PUT", b"half")
    status, said = finish(
        start("s3://bucket/in", "-o", "s3://bucket/out", "--table", "disk", "--jobs", 1, env=on_s3(bucket))
    )
    assert status == 0
    assert "1 host-days in s3://bucket/out, 0 of them new" in said
    with pytest.raises(HTTPError):
        call(f"{bucket}/bucket/out/tables/disk/host=x/day=y/part-0.parquet", "GET")


def test_a_bucket_that_is_not_there_is_a_line(fleet, bucket):
    inputs = fleet.inputs / "mail0002"
    status, said = finish(start(inputs, "-o", "s3://nowhere/out", "--jobs", 1, env=on_s3(bucket)))
    assert status == 2
    assert said.startswith("iodiag: s3://nowhere/out: cannot be written")
    assert said.count("\n") == 1
