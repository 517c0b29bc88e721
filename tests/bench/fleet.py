"""What a fleet costs: time, CPU time and the largest process, by its size and the number of processes.

`PYTHONPATH=src:tests python -m bench.fleet 100 500 2000 --jobs 2` writes fleets of so many host-days
(20 days each) and judges them; `--jobs 1 2` judges each with one process and with two. CPU time is that of
all processes together; the largest process is the greatest resident size of any, the command's own included.
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
    print("host-days  processes  wall s  CPU s  CPU ms per host-day  largest MB  data set kB per host-day")
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
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    assert status == 0
    cpu = used.ru_utime + used.ru_stime
    kept = sum(path.stat().st_size for path in (folder / out).rglob("*") if path.is_file())
    figures = f"{wall:6.1f}  {cpu:5.0f}  {1000 * cpu / size:19.0f}  {used.ru_maxrss / 1024:10.0f}"
    print(f"{size:9}  {jobs:9}  {figures}  {kept / size / 1024:25.0f}", flush=True)


if __name__ == "__main__":
    main()
