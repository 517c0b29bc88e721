"""The second executor, on a real scheduler with two worker processes: the same bytes, whatever dies."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleet.conftest import assert_same, environment, finish, run_here, start

pytestmark = pytest.mark.slow


@dataclass
class Cluster:
    """A scheduler and its workers, as processes of their own."""

    folder: Path
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]

    @property
    def address(self) -> str:
        """Where the scheduler listens, once it does."""
        note = self.folder / "scheduler.json"
        while not note.exists() or not note.read_text().endswith("}"):
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        return str(json.loads(note.read_text())["address"])

    def stop(self) -> None:
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.wait()


def dask(program: str, folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"distributed.cli.dask_{program}", "--no-dashboard", *options]
    with (folder / f"{program}.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment(), cwd=folder)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    note = ("--scheduler-file", "scheduler.json")
    scheduler = dask("scheduler", folder, *note, "--host", "127.0.0.1", "--port", "0")
    one = ("--nthreads", "1", "--no-nanny", "--local-directory", ".")
    made = Cluster(folder, scheduler, [dask("worker", folder, *note, *one) for _ in range(2)])
    yield made
    made.stop()


def records(out: Path) -> int:
    """How many host-days are done."""
    return len(list((out / ".iodiag" / "days").rglob("*.json")))


def test_both_engines_write_the_same_bytes_though_a_worker_is_killed(fleet, tmp_path, cluster):
    out = tmp_path / "out"
    process = start(fleet.inputs, "-o", out, "--scheduler", cluster.address)
    while process.poll() is None and records(out) < 2:
        time.sleep(0.02)
    cluster.workers[0].send_signal(signal.SIGKILL)
    status, said = finish(process)
    assert status == 0, said
    assert said.splitlines()[1] == f"iodiag: 5 host-days in {out}, 5 of them new"
    assert_same(out, fleet.out)


def test_without_its_scheduler_a_run_ends_in_a_line_and_goes_on_elsewhere(fleet, tmp_path, cluster):
    out, address = tmp_path / "out", cluster.address
    process = start(fleet.inputs, "-o", out, "--scheduler", address)
    while process.poll() is None and records(out) < 2:
        time.sleep(0.02)
    cluster.stop()
    status, said = finish(process)
    assert status == 2
    expected = f"iodiag: --scheduler {address}: has gone; start it and give the same command again: "
    assert said == expected + "what is done stays done\n"
    assert 2 <= records(out) < 5
    run_here(fleet.inputs, out)
    assert_same(out, fleet.out)


def test_a_scheduler_that_is_not_there_is_a_line(fleet, tmp_path):
    status, said = finish(start(fleet.inputs, "-o", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:9"))
    assert status == 2
    assert said.startswith("iodiag: --scheduler tcp://127.0.0.1:9: cannot be reached (")
    assert said.count("\n") == 1
