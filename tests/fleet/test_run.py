from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from iodiag.fleet.local import workers
from iodiag.fleet.plan import Options
from iodiag.fleet.run import run

SAMPLE = Path(__file__).parents[2] / "samples" / "sa" / "0x2175-sysstat-12.6.1.bin"


class Count:
    """Progress that counts the steps of the last part."""

    def begin(self, what: str, total: int) -> None:
        self.done = 0

    def step(self, count: int) -> None:
        self.done += count


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "in" / "vm"
    folder.mkdir(parents=True)
    shutil.copy(SAMPLE, folder / "sa20")
    (folder / "notes.bin").write_bytes(bytes(range(256)))
    return tmp_path / "in"


def everything(out: Path) -> dict[str, bytes]:
    return {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}


def test_a_second_run_does_nothing_and_changes_nothing(archive, tmp_path):
    out = tmp_path / "out"
    counted = Count()
    with workers(1) as engine:
        first = run([str(archive)], str(out), Options(), engine, counted)
        assert (first.host_days, first.fresh, counted.done) == (1, 1, 1)
        before = everything(out)
        second = run([str(archive)], str(out), Options(), engine, counted)
    assert (second.host_days, second.fresh, counted.done) == (1, 0, 0)
    assert everything(out) == before
    manifest = pd.read_parquet(out / "manifest.parquet").set_index("input")
    assert manifest["status"].tolist() == ["unknown", "read"]
    disk = pd.read_parquet(out / "tables" / "disk")
    assert set(disk["host"]) == {"vm"}
    assert len(disk) == 5
