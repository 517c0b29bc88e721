"""What a fleet costs: time, CPU time and the largest process, by its size and the number of processes.

`PYTHONPATH=src:tests python -m bench.fleet 100 500 2000 --jobs 2` writes fleets of so many host-days
(20 days each) and judges them; `--jobs 1 2` judges each with one process and with two. CPU time is that of
all processes together; memory is the largest resident size of any worker, and of the command itself.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from writers.fleet_writer import write_fleet

DAYS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host_days", type=int, nargs="+")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=1)
    chosen = parser.parse_args()
    print("host-days  processes  wall s  CPU s  CPU ms each  worker MB  command MB  kB each")
    for size in chosen.host_days:
        with tempfile.TemporaryDirectory() as folder:
            write_fleet(Path(folder, "in"), size // DAYS, DAYS)
            for number in range(chosen.repeat):
                for jobs in chosen.jobs:
                    print_row(Path(folder), f"out{jobs}-{number}", size, jobs)


def print_row(folder: Path, out: str, size: int, jobs: int) -> None:
    command = [sys.executable, "-m", "iodiag", "fleet", str(folder / "in"), "-o", str(folder / out)]
    start = time.monotonic()
    process = subprocess.Popen([*command, "--jobs", str(jobs), "--quiet"])
    peaks: dict[int, float] = {}
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        for pid in (process.pid, *children(process.pid)):
            peaks[pid] = max(peaks.get(pid, 0.0), peak_mb(pid))
        time.sleep(0.2)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    assert status == 0
    cpu = used.ru_utime + used.ru_stime
    kept = sum(path.stat().st_size for path in (folder / out).rglob("*") if path.is_file())
    own = peaks.pop(process.pid)
    memory = f"{max(peaks.values()):9.0f}  {own:10.0f}"
    figures = f"{wall:6.1f}  {cpu:5.0f}  {1000 * cpu / size:11.0f}  {memory}"
    print(f"{size:9}  {jobs:9}  {figures}  {kept / size / 1024:7.0f}", flush=True)


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def peak_mb(pid: int) -> float:
    """The largest resident size that a process has had."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024 if "VmHWM:" in status else 0.0


if __name__ == "__main__":
    main()
