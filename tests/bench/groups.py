"""What is measured in turn with what, and the goal of each comparison."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import iodiag
from bench import inputs, yardsticks
from bench.timing import Measure, call
from iodiag.model.capture import Capture
from iodiag.table.table import Table

_READ = "import sys, iodiag; iodiag.read(sys.argv[1])"
SMALL = inputs.SAMPLES / "cases" / "raid5-small-writes" / "iostat.txt"


@dataclass(frozen=True)
class Comparison:
    """Ours beside a yardstick: how many times as fast, or (`is_cost`) how many times the time it takes.

    `per_byte` is the yardstick's input over ours, where they read different amounts.
    """

    what: str
    ours: str
    yardstick: str
    goal: float | None = None
    is_cost: bool = False
    per_byte: float = 1.0


@dataclass(frozen=True)
class Group:
    """Measures that are taken in turn. Those whose tool is not installed are None.

    `sizes` are the bytes that a measure reads; `memory` the most MB that one may take, `rates` the least MB/s
    of input that it must reach.
    """

    name: str
    measures: Mapping[str, Measure | None]
    comparisons: tuple[Comparison, ...]
    sizes: Mapping[str, int]
    memory: Mapping[str, float] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Files:
    """Where the inputs lie, made when they are first asked for; `size` and `small` in bytes."""

    folder: Path
    size: int
    small: int

    @property
    def has_sysstat(self) -> bool:
        """Whether the programs are there that print a binary file as text and JSON."""
        return bool(shutil.which("sar") and shutil.which("sadf"))

    def iostat(self) -> Path:
        return self._made("iostat.txt", partial(inputs.iostat_text, size=self.size))

    def small_iostat(self) -> Path:
        return self._made("iostat-small.txt", partial(inputs.iostat_text, size=self.small))

    def wrapped(self) -> Path:
        plain = self.small_iostat()
        return self._made("iostat-wrapped.txt", partial(inputs.wrapped, plain))

    def squeezed(self) -> Path:
        plain = self.iostat()
        return self._made("iostat.txt.gz", partial(inputs.squeezed, plain))

    def sa(self) -> Path:
        return self._made("sa.bin", partial(inputs.sa_binary, size=self.small))

    def sar(self) -> Path:
        command = ["sar", "-A", "-f", str(self.sa())]
        return self._made("sar-A.txt", partial(inputs.rendered, command))

    def sadf_json(self) -> Path:
        command = ["sadf", "-j", str(self.sa()), "--", "-A"]
        return self._made("sadf.json", partial(inputs.rendered, command))

    def _made(self, name: str, make: Callable[[Path], object]) -> Path:
        path = self.folder / name
        if not path.exists():
            make(path)
        return path


def frames(path: Path, tables: Sequence[str] | None = None) -> Capture:
    """What is read of a file, with a DataFrame of every table."""
    capture = iodiag.read(path, tables=tables)
    for _ in (*capture.tables.values(), *capture.averages.values()):
        pass  # asked for, they are made
    return capture


def unseen(capture: Capture) -> Capture:
    """The capture as it was when nobody had looked at its columns: what rules looked up is kept with them."""
    tables = {
        family: Table.of_columns({name: rows.look_up(name) for name in rows.names}, len(rows))
        for family, rows in capture.tables.each()
    }
    return replace(capture, tables=tables)


def text(files: Files) -> Group:
    """iostat text to the finished frames, in this process."""
    big, small, gz = files.iostat(), files.small_iostat(), files.squeezed()
    scan = yardsticks.scan_program(files.folder)
    measures = {
        "to frames": call(partial(frames, big)),
        "to frames, small": call(partial(frames, small)),
        "to frames, .gz": call(partial(frames, gz)),
        "naive pandas": call(partial(yardsticks.naive_pandas, big)),
        "C scan": yardsticks.process([scan, str(big)]) if scan else None,
        "C scan to columns": yardsticks.process([scan, str(big), "columns"]) if scan else None,
        "wc -l": yardsticks.distribution("wc", "-l", str(big)),
    }
    sizes = {name: big.stat().st_size for name in measures} | {"to frames, small": small.stat().st_size}
    comparisons = (
        Comparison("iostat text to frames, against naive pandas", "to frames", "naive pandas", 2.0),
        Comparison("… against the C scan to columns", "to frames", "C scan to columns", is_cost=True),
        Comparison("… against the C scan that only adds up", "to frames", "C scan", is_cost=True),
        Comparison("… against `wc -l`", "to frames", "wc -l", is_cost=True),
        Comparison(".gz against plain", "to frames, .gz", "to frames", is_cost=True),
    )
    return Group("text", measures, comparisons, sizes)


def processes(files: Files) -> Group:
    """iostat text in a process of its own, start of the interpreter and imports included."""
    big, small = files.iostat(), files.small_iostat()
    size, small_size = big.stat().st_size, small.stat().st_size
    measures = {
        "iodiag inspect small": yardsticks.python("-m", "iodiag", "inspect", str(small)),
        "iodiag inspect": yardsticks.python("-m", "iodiag", "inspect", str(big)),
        "python: read": yardsticks.python("-c", _READ, str(big)),
        "jc": yardsticks.jc(small),
        "iostat-tool": yardsticks.iostat_tool(small, files.folder / "iostat-tool.csv"),
    }
    per_byte = size / small_size
    comparisons = (
        Comparison("whole process, small, against jc", "iodiag inspect small", "jc", 3.0),
        Comparison("… large, per byte, against jc small", "iodiag inspect", "jc", 15.0, per_byte=per_byte),
        Comparison("… small, against iostat-tool", "iodiag inspect small", "iostat-tool"),
        Comparison(
            "… large, per byte, against iostat-tool", "iodiag inspect", "iostat-tool", per_byte=per_byte
        ),
    )
    sizes = dict.fromkeys(measures, small_size) | {"python: read": size, "iodiag inspect": size}
    mb = size / inputs.MB
    return Group("process", measures, comparisons, sizes, {"python: read": 2.5 * mb + 100})


def sar(files: Files) -> Group:
    """Renderings of one sa file by the distribution's tools, read back, beside the rendering itself."""
    binary, rendered, json = files.sa(), files.sar(), files.sadf_json()
    measures = {
        "to frames, sar -A": call(partial(frames, rendered)),
        "to frames, sadf -j": call(partial(frames, json)),
        "sadf -d -- -A": yardsticks.distribution("sadf", "-d", str(binary), "--", "-A"),
        "sadf -j -- -A": yardsticks.distribution("sadf", "-j", str(binary), "--", "-A"),
        "json.loads": yardsticks.python("-c", "import sys,json;json.load(open(sys.argv[1]))", str(json)),
    }
    comparisons = (
        Comparison("sar -A text to tables, against `sadf -d`", "to frames, sar -A", "sadf -d -- -A"),
        Comparison("sadf -j to tables, against `sadf -j`", "to frames, sadf -j", "sadf -j -- -A"),
        Comparison("… against `json.load`", "to frames, sadf -j", "json.loads", is_cost=True),
    )
    sizes = {
        "to frames, sar -A": rendered.stat().st_size,
        "to frames, sadf -j": json.stat().st_size,
        "sadf -d -- -A": binary.stat().st_size,
        "sadf -j -- -A": binary.stat().st_size,
        "json.loads": json.stat().st_size,
    }
    return Group("sar", measures, comparisons, sizes)


def sa(files: Files) -> Group:
    """A binary file of sadc to tables, beside the distribution's tools."""
    binary = files.sa()
    measures = {
        "to frames": call(partial(frames, binary)),
        "to frames, disks": call(partial(frames, binary, tables=["disk"])),
        "sadf -j -- -A": yardsticks.distribution("sadf", "-j", str(binary), "--", "-A"),
        "sar -d -f": yardsticks.distribution("sar", "-d", "-f", str(binary)),
    }
    comparisons = (
        Comparison("binary sa, all activities, against `sadf -j`", "to frames", "sadf -j -- -A", 8.0),
        Comparison("… disks alone, against `sar -d`", "to frames, disks", "sar -d -f", 10.0),
    )
    return Group("sa", measures, comparisons, dict.fromkeys(measures, binary.stat().st_size))


def judging(files: Files) -> Group:
    """Rules and report on what was read; the reading, for comparison, has no goal beside it."""
    path = files.iostat()
    capture = iodiag.read(path)
    measures = {
        "analyze to Markdown": call(lambda: iodiag.analyze(unseen(capture)).to_markdown()),
        "iodiag.read": call(partial(iodiag.read, path)),
    }
    comparisons = (
        Comparison(
            "analyze (rules and report) against reading",
            "analyze to Markdown",
            "iodiag.read",
            is_cost=True,
        ),
    )
    sizes = dict.fromkeys(measures, path.stat().st_size)
    return Group("judging", measures, comparisons, sizes, rates={"analyze to Markdown": 150.0})


def start(files: Files) -> Group:
    """Whole processes with next to nothing to do; Markdown goes to standard output, as in a pipe."""
    analyze = ("-m", "iodiag", "analyze", str(SMALL), "--quiet")
    measures: dict[str, Measure | None] = {
        "iodiag --help": yardsticks.python("-m", "iodiag", "--help"),
        "to Markdown": yardsticks.python(*analyze),
        "to Markdown with charts": yardsticks.python(*analyze, "-o", str(files.folder / "small.md")),
        "to HTML": yardsticks.python(*analyze, "-o", str(files.folder / "small.html")),
        "python -c pass": yardsticks.python("-c", "pass"),
        "import pandas": yardsticks.python("-c", "import pandas"),
    }
    cost = partial(Comparison, is_cost=True)
    comparisons = (
        cost("`iodiag --help` against `python -c pass`", "iodiag --help", "python -c pass"),
        cost("small capture to Markdown against `import pandas`", "to Markdown", "import pandas", 1.2),
        cost("… to HTML with charts", "to HTML", "import pandas", 2.0),
    )
    return Group("start", measures, comparisons, {})


GROUPS: Mapping[str, Callable[[Files], Group]] = {
    "start": start,
    "text": text,
    "process": processes,
    "sar": sar,
    "sa": sa,
    "judging": judging,
}


def chosen(names: list[str], files: Files) -> Iterator[Group]:
    """The groups of these names, or all; without sysstat none that needs its renderings."""
    for name, make in GROUPS.items():
        if (not names or name in names) and (make is not sar or files.has_sysstat):
            yield make(files)
