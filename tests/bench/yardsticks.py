"""What iodiag is measured against: other readers, the distribution's own tools, and the machine's limit."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from bench.timing import Measure, process

_SCAN = Path(__file__).with_name("scan.c")
_JC = "import sys, jc; jc.parse('iostat', open(sys.argv[1]).read(), quiet=True)"


def naive_pandas(path: Path) -> pd.DataFrame:
    """The lines that begin with `sd`, given to the C engine of `pandas.read_csv`: no time, no check."""
    with path.open(encoding="utf-8") as lines:
        rows = "".join(line for line in lines if line.startswith("sd"))
    return pd.read_csv(io.StringIO(rows), sep=r"\s+", header=None, engine="c")


def jc(path: Path) -> Measure | None:
    """A Python process that imports jc and parses the file to its list of dictionaries."""
    return process([sys.executable, "-c", _JC, str(path)]) if find_spec("jc") else None


def iostat_tool(path: Path, out: Path) -> Measure | None:
    """`iostat-cli csv` of iostat-tool: a process that writes the file as CSV."""
    found = shutil.which("iostat-cli", path=str(Path(sys.executable).parent)) or shutil.which("iostat-cli")
    return process([found, "--data", str(path), "--output", str(out), "csv"]) if found else None


def distribution(*command: str) -> Measure | None:
    """A program of the distribution (sar, sadf, wc), where it is installed."""
    return process(command) if shutil.which(command[0]) else None


def scan_program(folder: Path) -> str | None:
    """The scalar C program of scan.c, compiled here and now; None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    program = folder / "scan"
    subprocess.run([compiler, "-O3", "-march=native", "-o", str(program), str(_SCAN)], check=True)
    return str(program)


def python(*arguments: str) -> Measure:
    """This interpreter with these arguments."""
    return process([sys.executable, *arguments])
