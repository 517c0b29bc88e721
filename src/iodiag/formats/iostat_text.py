"""iostat text: every layout of `iostat`, `-x`, `-s`, `-h` and `--pretty`, and the avg-cpu line.

sysstat 4.x to 12.7. The flags that change its shape: -x (extended), -s (narrow), -h and --pretty (the
device comes last; with -x the report falls into four parts), -k/-m (units), -t (clock), -N/-j (names).
A header is a row of words that the grammar of _iostat_columns all knows, with `Device` or
`Device:` first or last; its order is never relied on.
"""

from __future__ import annotations

from iodiag.formats._iostat_columns import CPU_WORDS, column_of
from iodiag.formats._types import Layout, LayoutColumn, TableFormat

_EXAMPLE = """\
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           2.30    0.00    1.30   96.40    0.00    0.00

Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util
sda               0.00     0.70  172.50    1.20  1670.00     7.60    19.32     1.02    5.90   5.60  97.22
"""


def layout(words: tuple[str, ...]) -> Layout | None:
    """The Layout of an avg-cpu or device header."""
    if words[0][-1] in ":：" and len(words) > 3 and all(word in CPU_WORDS for word in words[1:]):
        return _cpu(words[1:])
    if words[0].rstrip(":") == "Device" and len(words) > 2:
        return _device(words[1:], "first")
    if words[-1] == "Device" and len(words) > 2:
        return _device(words[:-1], "last")
    return None


def _cpu(words: tuple[str, ...]) -> Layout:
    columns = tuple(LayoutColumn(word, CPU_WORDS[word], 1.0, "cpu") for word in words)
    return Layout("iostat", "avg-cpu", "cpu", columns, clock="line")


def _device(words: tuple[str, ...], key_at: str) -> Layout | None:
    columns = tuple(column_of(word) for word in words)
    if any(column is None for column in columns):
        return None
    kept = tuple(column for column in columns if column is not None)
    return Layout(
        format="iostat",
        name=_name(words),
        family="disk",
        columns=kept,
        key="device",
        key_at="last" if key_at == "last" else "first",
        clock="line",
    )


def _name(words: tuple[str, ...]) -> str:
    """What people call this layout: by its words, for the list of sources."""
    known = set(words)
    if "rqm/s" in known:
        return "iostat -x -s"
    if "tps" in known:
        return "iostat (plain)"
    if words[0] == "d/s" or words[0] == "w/s" or words[0] in ("f/s", "aqu-sz"):
        return f"iostat -x -h, part {words[0]}"
    if words[0] == "r/s" and "w/s" not in known:
        return "iostat -x -h, part r/s"
    generations = (
        ("f/s", "X6"),
        ("d/s", "X5"),
        ("%rrqm", "X4"),
        ("r_await", "X3"),
    )
    label = next((name for word, name in generations if word in known), "X2")
    if label == "X2" and "rsec/s" in known and ("rkB/s" in known or "rMB/s" in known):
        label = "X1"
    return f"iostat -x ({label})"


FORMAT = TableFormat(id="iostat", title="iostat text", example=_EXAMPLE, layout=layout)
