from __future__ import annotations

import functools
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import iodiag
from iodiag.errors import SourceError
from iodiag.sources.remote import is_remote, shown_address
from writers.reports import busy_iostat, sample, tar, unpack

LSBLK = sample("lsblk/lvm-raid5-tree.txt")


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("s3://bucket/x", True),
        ("sftp://host/x", True),
        ("HTTPS://host/x", True),
        ("/data/x", False),
        ("C:\\x", False),
        ("odd:name", False),
        ("-", False),
        ("./s3:/x", False),
    ],
)
def test_an_address_is_told_by_its_scheme(place, expected):
    assert is_remote(place) == expected


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("sftp://me:secret@host/x", "sftp://host/x"),
        ("https://host/x.tar?X-Amz-Signature=secret", "https://host/x.tar"),
        ("s3://bucket/odd?name", "s3://bucket/odd?name"),
        ("https://host/a@b", "https://host/a@b"),
    ],
)
def test_secrets_of_an_address_are_not_shown(address, shown):
    assert shown_address(address) == shown


def test_without_fsspec_an_address_is_one_line_that_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(SourceError, match=r"^s3://bucket/x: .*install iodiag\[remote\]$"):
        iodiag.read("s3://me:secret@bucket/x")


def test_fsspec_is_loaded_for_addresses_alone(tmp_path):
    unpack({"i.txt": busy_iostat("a")}, tmp_path)
    code = f"import sys, iodiag; iodiag.read({str(tmp_path)!r}); print('fsspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.fixture
def memory():
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    return system


def test_a_remote_file_a_folder_and_an_archive_are_read_as_local_ones_are(memory):
    memory.pipe("/case/web1/iostat.txt", busy_iostat("web1"))
    memory.pipe("/case/web1/lsblk.txt", LSBLK)
    memory.pipe("/case/db1.tar.gz", tar({"iostat.txt": busy_iostat("db1", samples=5), "lsblk": LSBLK}, "gz"))
    memory.pipe("/case/.hidden", busy_iostat("x"))
    assert set(iodiag.read("memory://case/web1/iostat.txt").hosts) == {"web1"}
    captures, problems = iodiag.read_many(["memory://case"])
    assert problems == []
    assert {name for capture in captures for name in capture.sources} == {
        "memory://case/db1.tar.gz:iostat.txt",
        "memory://case/db1.tar.gz:lsblk",
        "memory://case/web1/iostat.txt",
        "memory://case/web1/lsblk.txt",
    }
    owners = {next(iter(c.sources)).rpartition("/")[2]: set(c.topologies) for c in captures if c.topology}
    assert owners == {"db1.tar.gz:lsblk": {"db1"}, "lsblk.txt": {"web1"}}


def test_a_file_address_is_a_path(tmp_path):
    pytest.importorskip("fsspec")
    unpack({"i.txt": busy_iostat("a")}, tmp_path)
    assert iodiag.read(f"file://{tmp_path}/i.txt").hosts == ["a"]
    assert iodiag.read(f"file://{tmp_path}").hosts == ["a"]


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("memory://nowhere/x.txt", "cannot be read"),
        ("nosuchscheme://x/y", "cannot be opened"),
        ("file:///nonexistent/x", "No such file"),
    ],
)
def test_what_cannot_be_had_is_one_line(memory, address, word):
    with pytest.raises(SourceError, match=word) as caught:
        iodiag.read(address)
    assert str(caught.value).startswith(address)
    assert "\n" not in str(caught.value)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A web server on loopback, and its folder."""
    pytest.importorskip("aiohttp")
    pytest.importorskip("fsspec")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", tmp_path
    server.shutdown()
    server.server_close()
    thread.join()


def test_files_archives_and_listings_of_a_web_server_are_read(site):
    address, folder = site
    unpack({"i.txt": busy_iostat("a"), "t.tar.xz": tar({"i.txt": busy_iostat("b", samples=5)}, "xz")}, folder)
    assert iodiag.read(f"{address}/i.txt?token=secret").hosts == ["a"]
    assert next(iter(iodiag.read(f"{address}/t.tar.xz").sources)) == f"{address}/t.tar.xz:i.txt"
    captures, problems = iodiag.read_many([f"{address}/"])
    assert problems == []
    assert {host for capture in captures for host in capture.hosts} == {"a", "b"}
    with pytest.raises(SourceError, match=r"missing\.txt"):
        iodiag.read(f"{address}/missing.txt")


def test_a_server_that_is_not_there_is_one_line(site):
    address, _ = site
    port = int(address.rpartition(":")[2])
    with pytest.raises(SourceError, match="cannot be"):
        iodiag.read(f"http://127.0.0.1:{port + 1 if port < 65535 else port - 1}/x")
