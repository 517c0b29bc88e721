"""Live: the distribution's own iostat, sar and vmstat, piped in as their users do."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from command_line import program
from iodiag import read


def have(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(
        bool(missing), reason=f"{', '.join(missing)}: not installed (package sysstat or procps)"
    )


def piped(command: str) -> dict:
    """What `COMMAND | iodiag analyze -` reports, as JSON."""
    first = subprocess.run(["sh", "-c", command], capture_output=True, check=True)
    done = program("analyze", "-", "--format", "json", stdin=first.stdout)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@have("iostat")
@pytest.mark.parametrize(
    "options",
    [
        *("-xt", ""),
        *(
            pytest.param(option, marks=pytest.mark.slow)
            for option in ("-x", "-xk", "-xm", "-xz", "-xs", "-h", "-xh", "-c", "-xd -o JSON")
        ),
    ],
)
def test_iostat_is_read_live(options):
    report = piped(f"iostat {options} 1 2")
    assert report["sources"][0]["format"] in ("iostat", "iostat-json")
    assert report["sources"][0]["reports"] == 2
    assert not any(source["unparsed"] for source in report["sources"])


@have("sar")
def test_sar_is_read_live():
    report = piped("sar -A 1 2")
    assert report["sources"][0]["format"] == "sar"
    assert not any(source["unparsed"] for source in report["sources"])


@have("vmstat")
@pytest.mark.parametrize(
    "options", ["-t", *(pytest.param(option, marks=pytest.mark.slow) for option in ("", "-w", "-a"))]
)
def test_vmstat_is_read_live(options):
    report = piped(f"vmstat {options} 1 2")
    assert report["sources"][0]["format"] == "vmstat"
    assert report["sources"][0]["rows"] == 2


@have("sar", "sadf")
def test_a_recorded_file_gives_the_same_numbers_from_text_and_binary(tmp_path):
    sadc = next((p for p in ("/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc") if shutil.which(p)), None)
    if sadc is None:
        pytest.skip("sadc: not where the distributions put it")
    data = tmp_path / "sa"
    subprocess.run([sadc, "-S", "XALL", "1", "3", str(data)], check=True, capture_output=True)
    text = subprocess.run(
        ["sar", "-d", "-f", str(data)],
        check=True,
        capture_output=True,
        env={"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin"},
    )
    (tmp_path / "sar.txt").write_bytes(text.stdout)
    binary, printed = read(data).disk, read(tmp_path / "sar.txt").disk
    assert binary is not None
    assert printed is not None
    assert len(binary) == len(printed) > 0
    for column in ("ios_per_s", "read_kb_per_s", "write_kb_per_s", "util_pct"):
        assert (binary[column] - printed[column]).abs().max() <= 0.0101, column
