"""One recorded file, all renderings of the distribution's sysstat: every reader gives equal tables."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import iodiag
from iodiag.model.columns import KEY_COLUMNS

SADC = next((path for path in ("/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc") if Path(path).exists()), None)
PLAIN = {**os.environ, "LC_ALL": "C", "TZ": "UTC", "S_COLORS": "never"}
RENDERINGS = {
    "sadf-csv": ("sadf", "-d", "{file}", "--", "-A"),
    "sadf-json": ("sadf", "-j", "{file}", "--", "-A"),
    "sadf-xml": ("sadf", "-x", "{file}", "--", "-A"),
    "sadf-pairs": ("sadf", "-p", "{file}", "--", "-A"),
    "sadf-raw": ("sadf", "-r", "{file}", "--", "-A"),
    "sar": ("sar", "-A", "-f", "{file}"),
}
FAMILIES = ("cpu", "disk", "io", "memory", "network", "paging", "queue", "swap", "swapping")
ITEMS = ("segment", "report")

pytestmark = pytest.mark.skipif(
    SADC is None or not shutil.which("sadf"), reason="sadc, sadf: not installed (package sysstat)"
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    """A file of sadc with two segments, recorded while the disk is written."""
    folder = tmp_path_factory.mktemp("sa")
    path = folder / "sa20"
    script = (
        f"for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of={folder}/load bs=64k count=200 conv=fsync; done"
    )
    load = subprocess.Popen(["sh", "-c", script], stderr=subprocess.DEVNULL)
    for _ in range(2):
        subprocess.run([str(SADC), "-S", "XALL", "1", "3", str(path)], check=True, capture_output=True)
        subprocess.run([str(SADC), "-C", "half", str(path)], check=True, capture_output=True)
        time.sleep(1.1)  # sar prints whole seconds: the runs' records must not share one
    load.terminate()
    load.wait()
    return path


def rendered(recorded: Path, name: str) -> iodiag.Capture:
    command = [word.format(file=recorded) for word in RENDERINGS[name]]
    output = subprocess.run(command, check=True, capture_output=True, env=PLAIN)
    path = recorded.with_name(name)
    path.write_bytes(output.stdout)
    return iodiag.read(path)


def by_item(frame: pd.DataFrame, family: str) -> pd.DataFrame:
    """Rows in an order that every rendering shares: by report, then by item."""
    keys = [key for key in (KEY_COLUMNS.get(family),) if key]
    frame = frame.assign(**{key: frame[key].astype(str) for key in keys})
    return frame.sort_values([*ITEMS, *keys], kind="stable", ignore_index=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", RENDERINGS)
def test_a_rendering_gives_the_numbers_of_the_binary_file(recorded, name):
    binary, other = iodiag.read(recorded), rendered(recorded, name)
    compared = 0
    for family in FAMILIES:
        assert family in binary.tables, family
        assert family in other.tables, family
        ours, theirs = by_item(binary.tables[family], family), by_item(other.tables[family], family)
        if family == "cpu":
            ours, theirs = (f[f["cpu"] == "all"].reset_index(drop=True) for f in (ours, theirs))
        key = KEY_COLUMNS.get(family)
        if key is not None:
            names = sorted(set(ours[key]) & set(theirs[key]))
            ours, theirs = (f[f[key].isin(names)].reset_index(drop=True) for f in (ours, theirs))
        assert len(ours) == len(theirs), family
        if name == "sadf-raw":
            # -r prints whole seconds and no interval: where that is too coarse, the rates cannot agree
            alike = (ours["interval_s"] - theirs["interval_s"]).abs() <= 0.02 * ours["interval_s"]
            ours, theirs = ours[alike], theirs[alike]
        for column in theirs.columns.intersection(ours.columns):
            if theirs[column].dtype != np.float64 or column == "interval_s":
                continue
            mine, printed = ours[column].to_numpy(), theirs[column].to_numpy()
            both = ~np.isnan(mine) & ~np.isnan(printed)
            slack = 0.0101 + 2e-4 * np.abs(printed[both])
            if name == "sadf-raw":
                # lengths may differ by the 2 % above; the CPU's sum is the kernel's own, a tick apart
                slack = slack + 0.03 * np.abs(printed[both]) + (2.0 if family == "cpu" else 0.0)
            assert (np.abs(mine[both] - printed[both]) <= slack).all(), (family, column)
            compared += int(both.sum())
    assert compared > (50 if name == "sadf-raw" else 200)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sadf-csv", "sadf-json", "sadf-xml"])
def test_a_rendering_gives_the_times_of_the_binary_file(recorded, name):
    binary, other = iodiag.read(recorded), rendered(recorded, name)
    ours = by_item(binary.tables["queue"], "queue")["time"]
    theirs = by_item(other.tables["queue"], "queue")["time"]
    assert [str(t)[:19] for t in ours] == [str(t)[:19] for t in theirs]
