"""One recorded file, all renderings of the distribution's sysstat: every reader gives equal tables."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
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


SHARES = {"%iowait": "iowait_pct", "%steal": "steal_pct", "%idle": "idle_pct"}
OF_PROCESSES = {
    **{"kB_rd/s": "read_kb_per_s", "kB_wr/s": "write_kb_per_s", "iodelay": "io_delay_ticks"},
    **{"%system": "system_pct", "%CPU": "cpu_pct", "minflt/s": "minor_faults_per_s", "RSS": "rss_kb"},
    **{"StkSize": "stack_kb", "cswch/s": "voluntary_switches_per_s", "fd-nr": "open_files"},
    **{"prio": "realtime_priority", "usr-ms": "user_ms", "minflt-nr": "minor_faults"},
}
PRINTED = {
    "mpstat -P ALL": ("cpu", SHARES),
    "mpstat -N ALL": ("node_cpu", SHARES),
    "pidstat -p ALL -durswvR -t": ("process", OF_PROCESSES),
    "pidstat -p ALL -durswvR -h -U -l": ("process", OF_PROCESSES),
    "pidstat -p ALL -T CHILD -u -r": ("process", OF_PROCESSES),
}


def cells_of(text: str, names: dict[str, str]) -> dict[int, dict[str, float]]:
    """What each row of samples says in the columns with a name, by its line: found by cutting at blanks."""
    words: list[str] = []
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split()
        if names.keys() & {*cells}:
            words = cells[1 + line.startswith("#") :]
        elif words and re.match(r"\d\d:\d\d:\d\d ", line):
            pairs = zip(words, cells[1:], strict=False)
            found[number] = {names[word]: float(cell) for word, cell in pairs if word in names}
    return found


@pytest.fixture(scope="module")
def command_of_many_lines() -> Iterator[None]:
    """A process whose command has lines of its own, some of which begin with numbers."""
    lines = ["import time", *(f"{number} # the rest of a command" for number in range(100)), "time.sleep(60)"]
    process = subprocess.Popen([sys.executable, "-c", "\n".join(lines)])
    yield
    process.kill()
    process.wait()


@pytest.mark.slow
@pytest.mark.usefixtures("command_of_many_lines")
@pytest.mark.parametrize("command", PRINTED)
def test_every_cell_that_a_live_tool_prints_stands_in_its_table(command):
    family, names = PRINTED[command]
    done = subprocess.run([*command.split(), "1", "2"], check=True, capture_output=True, env=PLAIN)
    capture = iodiag.read(io.BytesIO(done.stdout), name="live")
    table = capture.tables[family]
    rows = table[table["pid"] != "all"] if family == "process" else table
    printed = cells_of(done.stdout.decode(), names)
    assert sorted(rows["line"]) == sorted(printed)
    for row in rows.to_dict("records"):
        for name, value in printed[row["line"]].items():
            assert row[name] == value or (np.isnan(row[name]) and value < 0), (row["line"], name)
    assert not capture.unparsed
