"""What mail, terminals, forums, wikis and log collectors put around a capture, taken off again."""

# ruff: noqa: E501  # lines of captures stay as they are printed

from __future__ import annotations

import html
import quopri
import re
import textwrap
from collections.abc import Callable
from functools import cache

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.errors import UnknownFormat
from iodiag.formats.text.clean.lines import Piece, Text, clean, undress, without_nuls
from iodiag.model.byte_positions import STRETCH_BYTES
from text_reading import Reading, reading

X3 = """Linux 3.10.0 (db1) \t11/20/26 \t_x86_64_\t(2 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          13.81   10.25   15.42    0.57    0.22   59.73

Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
vda              12.63   147.12 1112.36  260.17  7803.18 10405.57    26.53     0.37    0.27    0.22    0.46   0.04   5.09
dm-0              0.00     0.00    1.27    2.12     7.86    91.97    58.82     0.00    0.95    0.36    1.30   0.26   0.09

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          39.09    0.00   60.91    0.00    0.00    0.00

Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
vda               0.00    63.00  150.00  179.00  3048.00  3604.00    40.44     0.03    0.08    0.09    0.07   0.06   2.00
dm-0              0.00     0.00    0.00  242.00     0.00  3604.00    29.79     0.02    0.08    0.00    0.08   0.07   1.60
"""
X6 = """avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          14.04   13.35   21.42    0.60    0.20   50.39

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util
vda           1251.53   8814.84    14.52   1.15    0.22     7.04  280.68  11238.08   155.80  35.70    0.47    40.04   32.41   1678.76     0.03   0.10    0.12    51.79   61.40    0.04    0.41   5.67
dm-0             1.00      4.00     0.00   0.00    0.22     4.00    2.00      8.00     0.00   0.00    0.47     4.00    0.00      0.00     0.00   0.00    0.00     0.00    0.00    0.00    0.01   0.10
"""
SAR = """Linux 4.18.0 (db1) \t11/20/2026 \t_x86_64_\t(2 CPU)

12:24:54 PM       DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     svctm     %util
12:24:55 PM  dev254-0    266.00   3052.00   3136.00     23.26      0.03      0.13      0.11      2.80
12:24:56 PM  dev254-0    466.00   4264.00   3316.00     16.27      0.11      0.24      0.06      2.80
Average:     dev254-0    366.00   3658.00   3226.00     18.81      0.07      0.20      0.08      2.80

12:24:54 PM  pgpgin/s pgpgout/s   fault/s  majflt/s  pgfree/s pgscank/s pgscand/s pgsteal/s    %vmeff
12:24:55 PM   3052.00   3136.00 117984.00      1.00  79770.00      0.00      0.00      0.00      0.00
12:24:56 PM   4264.00   3316.00  39156.00     11.00  34560.00      0.00      0.00      0.00      0.00
Average:      3658.00   3226.00  78570.00      6.00  57165.00      0.00      0.00      0.00      0.00
"""
PRETTY = """avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          14.0%   13.3%   21.4%    0.6%    0.2%   50.4%

      tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd Device
  1564.65         8.6M        11.0M         1.6M       9.0G      11.4G       1.7G vda
"""
VMSTAT = """$ vmstat 1
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 2  0      0 1413456   1408  23048    0    0   685     4  348  256 13 51 32  4  0
11  0      0 1413456   1408  23048    0    0     0     0  348  256 13 51 32  4  0
 1  3      0 1413456   1408  23048    0    0   100   200  348  256 13 51 32  4  0
"""
TEXTS = {"X3": X3, "X6": X6, "sar": SAR, "pretty": PRETTY, "vmstat": VMSTAT}


def per_line(change: Callable[[int, str], str]) -> Callable[[str], str]:
    return lambda text: "\n".join(change(number, line) for number, line in enumerate(text.split("\n"), 1))


def is_row(line: str) -> bool:
    return len(line.split()) > 4 and any(map(str.isdigit, line.split()[-1])) and "Linux" not in line


def as_table(text: str) -> str:
    return "\n".join(
        f"| {' | '.join(line.split())} |" if line.strip() and "Linux" not in line else line
        for line in text.split("\n")
    )


def wrapped(width: int) -> Callable[[str], str]:
    def wrap(text: str) -> str:
        lines: list[str] = []
        for line in text.split("\n"):
            lines += textwrap.wrap(
                line, width, drop_whitespace=True, break_long_words=False, expand_tabs=False
            ) or [""]
        return "\n".join(lines)

    return wrap


def broken(width: int) -> Callable[[str], str]:
    """Lines as a terminal breaks them: at a column, inside words."""
    return lambda text: "\n".join(
        line[at : at + width] for line in text.split("\n") for at in range(0, max(len(line), 1), width)
    )


DRESSES: dict[str, Callable[[str], str]] = {
    "quoted": per_line(lambda n, line: f"> {line}"),
    "quoted twice": per_line(lambda n, line: f">> {line}"),
    "quoted with initials": per_line(lambda n, line: f"JD> {line}"),
    "quoted with bars": per_line(lambda n, line: f"| {line}"),
    "indented": per_line(lambda n, line: f"    {line}"),
    "tabs for blanks": lambda text: re.sub(r"  +", "\t", text),
    "one blank": lambda text: re.sub(r"[ \t]+", " ", text),
    "no-break blanks": lambda text: text.replace("  ", "\u00a0 "),
    "stripped": per_line(lambda n, line: line.strip()),
    "double-spaced": lambda text: text.replace("\n", "\n\n"),
    "no blank lines": lambda text: re.sub(r"\n\n+", "\n", text),
    "Windows": lambda text: text.replace("\n", "\r\n"),
    "html": lambda text: f"<html><pre>{html.escape(text)}</pre></html>",
    "html breaks": lambda text: f"<p>{text.replace('  ', '&nbsp; ')}</p>".replace("\n", "<br>\n"),
    "html of no-break blanks": lambda text: text.replace(" ", "&nbsp;").replace("\n", "<br>\n"),
    "html on one line": lambda text: f"<p>{text}</p>".replace("\n", "<br/>"),
    "fenced": lambda text: f"Hello,\n\n```text\n{text}\n```\n\nThanks,\nme\n",
    "fenced without breaks": lambda text: f"```{text}```",
    "bbcode": lambda text: f"[CODE]{text}[/CODE]",
    "jira": lambda text: f"{{code:title=x|borderStyle=solid}}\n{text}{{code}}",
    "escaped markdown": lambda text: text.replace("_", "\\_").replace("%", "\\%"),
    "cells": as_table,
    "numbered": per_line(lambda n, line: f"{n:6}\t{line}"),
    "grep -n": per_line(lambda n, line: f"{n}:{line}"),
    "syslog": per_line(lambda n, line: f"Nov 20 12:00:00 db1 iostat[47{n:02}]: {line}"),
    "journal": per_line(lambda n, line: f"2026-11-20T12:00:00.{n:06}+00:00 db1 iostat[47]: {line}"),
    "containers": per_line(lambda n, line: f"iostat_1  | {line}"),
    "hosts": per_line(lambda n, line: f"web1: {line}"),
    "bullets": per_line(lambda n, line: f"* {line}"),
    "dashes": per_line(lambda n, line: f"- {line}"),
    "a diff": per_line(lambda n, line: f"+{line}"),
    "shell comments": per_line(lambda n, line: f"# {line}"),
    "coloured": per_line(lambda n, line: re.sub(r"(\d+\.\d+)", "\x1b[32;22m\\1\x1b[0m", line)),
    "a typescript": lambda text: f"Script started on Fri\n\x1b]0;me@host\x07{text}\nexit\nScript done\n",
    "nul bytes": lambda text: text.replace("%", "%\0"),
    "quoted-printable": lambda text: quopri.encodestring(text.encode()).decode(),
    "quoted and then quoted-printable": lambda text: quopri.encodestring(
        "".join(f"> {line}\n" for line in text.split("\n")).encode()
    ).decode(),
    "quoted-printable and then quoted": lambda text: "".join(
        f"> {line}\n" for line in quopri.encodestring(text.encode()).decode().split("\n")
    ),
    "quoted-printable with its line feeds": lambda text: (
        quopri.encodestring(text.encode())
        .decode()
        .replace("=\n", "=\0")
        .replace("\n", "=0A=\n")
        .replace("\0", "\n")
    ),
    "a list in JSON": lambda text: (
        '"stdout_lines": [\n' + per_line(lambda n, line: f'    "{line}",')(text) + "\n]"
    ),
    "a string in JSON": lambda text: (
        '{"rc": 0, "stdout": "' + text.replace("\t", "\\t").replace("\n", "\\n") + '"}'
    ),
    "=20 at the ends": lambda text: text.replace("\n", "=20\n"),
    "bars on both sides": per_line(lambda n, line: f"│ {line:220} │"),
    "wrapped by mail": wrapped(72),
    "wrapped and quoted": lambda text: "\n".join(f"> {line}" for line in wrapped(74)(text).split("\n")),
    "broken by a terminal": broken(80),
    "broken at 100": broken(100),
    "on one line": lambda text: " ".join(text.split()),
    "remarks": per_line(
        lambda n, line: f"{line}   <-- look at 100%" if is_row(line) and n % 3 == 0 else line
    ),
    "marked": per_line(lambda n, line: f"=> {line}" if is_row(line) and n % 2 else line),
    "bold": per_line(lambda n, line: f"**{line.strip()}**" if is_row(line) and n % 2 else line),
    "prose": lambda text: (
        f"We see 12 disks with 3.5 MB/s since 12:24:01.\n\n{text}\nsda is at 100%\nRegards, Joe\n+49 30 1234 5678\n"
    ),
}
IGNORED = ["line", "time", "interval_s", "since_boot", "segment"]


@cache
def bare_reading(name: str) -> Reading:
    return reading(TEXTS[name])


def test_a_row_that_lacks_a_value_is_not_made_whole_of_the_halves_of_a_number():
    header = "12:25:10          DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     svctm     %util"
    row = "12:25:11     dev254-0    813.00   6553.60   3174.40             0.55      0.68      0.09      7.60"
    text = (
        f"Linux 6.18.44 (vm) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n{header}\n{row}\n{row.replace(':11', ':12')}\n"
    )
    for width in range(60, len(row)):
        found = reading(broken(width)(text))
        assert "disk" not in found.tables, width
        assert found.notes


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("name", TEXTS)
def test_a_dressed_capture_reads_as_the_bare_one(name: str, dress: str):
    text = DRESSES[dress](TEXTS[name])
    bare, dressed = bare_reading(name), reading(text)
    for tables, others in ((bare.tables, dressed.tables), (bare.averages, dressed.averages)):
        assert set(tables) == set(others)
        for family, table in tables.items():
            pd.testing.assert_frame_equal(
                others[family].drop(columns=IGNORED),
                table.drop(columns=IGNORED),
                check_categorical=False,
                check_like=True,
            )
    assert not dressed.unread
    solid = sum(bool(line.strip(" \t\r\0")) for line in text.split("\n"))
    assert sum(dressed.counts.values()) == solid, "every line is counted once"


def test_the_stamps_of_a_log_collector_are_the_times_of_reports():
    at = iter(f"2026-11-20T12:00:{second:02}.5+00:00 db1 x[1]: " for second in [0] * 8 + [5] * 40)
    read = reading(per_line(lambda n, line: next(at) + line)(X3))
    begin = pd.Timestamp("2026-11-20 12:00:00.5+00:00")
    assert read.disk["time"].tolist() == [begin] * 2 + [begin + pd.Timedelta(seconds=5)] * 2
    assert read.disk["interval_s"].tolist()[2:] == [5, 5]


def of_hosts(text: str, mark: str) -> list[list[str]]:
    """The lines of two hosts with the host in front, as pdsh prints them."""
    return [
        [f"{host}{mark}{line}" for line in text.replace("(db1)", f"({host})").split("\n")]
        for host in ("db1", "db2")
    ]


@pytest.mark.parametrize("mark", [": ", " | "])
@pytest.mark.parametrize("text", [X3, VMSTAT], ids=["iostat", "vmstat"])
def test_lines_of_hosts_among_each_other_are_refused(text: str, mark: str):
    first, second = of_hosts(text, mark)
    by_line = [line for pair in zip(first, second, strict=True) for line in pair]
    with pytest.raises(
        UnknownFormat, match=r"several hosts stand among each other \(db1, db2\); .*grep -w '\^db1'"
    ):
        reading("\n".join(by_line))


def test_reports_of_hosts_among_each_other_are_refused_and_whole_runs_are_not():
    first, second = of_hosts(X3 + X3[X3.index("avg-cpu") :], ": ")
    assert reading("\n".join([*first, *second, *first, *second])).disk["host"].unique().tolist() == [
        "db1",
        "db2",
    ]
    by_report = [*first[:8], *second[:8], *first[8:13], *second[8:13], *first[13:]]
    with pytest.raises(UnknownFormat, match="several hosts"):
        reading("\n".join(by_report))


def test_a_weak_prefix_is_taken_off_only_below_its_header():
    read = reading(f"17 {X3.split(chr(10))[5]}\n18 {X3.split(chr(10))[6]}\n\n{VMSTAT}")
    assert read.disk["reads_per_s"].tolist() == [1112.36]
    assert read.tables["queue"]["run_queue"].tolist() == [2, 11, 1]


def test_a_margin_cut_by_less_takes_the_cut_word_with_it():
    text = "\n".join(f"{line[:77]}>" if len(line) > 78 else line for line in X3.split("\n"))
    read = reading(text)
    assert read.disk["write_kb_per_s"].tolist() == [10405.57, 91.97, 3604, 3604]
    assert "queue_depth" not in read.disk
    assert not read.unread


def test_numbers_cut_at_a_margin_are_not_read():
    row = X3.split("\n")[6]
    read = reading("\n".join(X3.split("\n")[5:8]).replace(row, row[:-1]) + "\n")
    assert read.unread == [2]
    assert read.disk["device"].tolist() == ["dm-0"]


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("> > a", "a"),
        (">a", "a"),
        ("a > b", "a > b"),
        ("<b>sda</b> 1.00", "sda 1.00"),
        ("<KEY> sda", "<KEY> sda"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("&gt; x &amp; y", "x & y"),
        ("r\\_await", "r_await"),
        ("a\x08b", "b"),
        ("**sda** 1", "sda 1"),
        ("(******)", "(******)"),
        ("```", "```"),
        ("[code]", "[code]"),
        ("[root@h ~]# [b]x[/b]", "[root@h ~]# x"),
        ("[COLOR=red]1 be/4 a[/COLOR][COLOR=red]23 be/7 b[/COLOR]", "1 be/4 a\n23 be/7 b"),
        ("[COLOR=red]sda 1.0[/COLOR][COLOR=red] 2.0 3.0[/COLOR]", "sda 1.0 2.0 3.0"),
        ("[COLOR=red]1 2[/COLOR][COLOR=red] 3 4[/COLOR]", "1 2 3 4"),
        ("avgrq\u2013sz \u2212nan", "avgrq-sz -nan"),
        ("zero\u200bwidth", "zerowidth"),
        ("sda 1.2 \ufeff  3.4 \u200e5", "sda 1.2 ?  3.4 5"),
    ],
)
def test_undressing_one_line(text: str, bare: str):
    assert undress(text) == bare


def test_rules_of_equal_signs_are_no_soft_breaks():
    assert clean(b"====\na>\n====\nb\n").data == b"====\na>\n====\nb\n"


def test_numbers_and_spans_of_laid_out_lines():
    text = Text.of_pieces([Piece("a", 1), Piece("b", 1), Piece("c", 2, 3)])
    assert (text.line(1), text.numbers.tolist(), text.spans.tolist()) == ("b", [1, 1, 2], [1, 1, 3])


@given(st.binary(max_size=400))
def test_any_bytes_are_cleaned(data: bytes):
    text = clean(data)
    assert len(text) == len(text.starts) == len(text.ends) == len(text.is_blank)
    assert all(0 <= a <= b <= len(text.data) for a, b in zip(text.starts, text.ends, strict=True))
    assert b"\0" not in text.data


@pytest.mark.parametrize(
    ("data", "left"),
    [
        (b"%util\n 4.10\0\n", b"%util\n 4.10\n"),
        (b'{"util": 4.10\0, "await": 1.0\0}', b'{"util": 4.10, "await": 1.0}'),
        (b"\0\0\0Linux\0 6.1", b"Linux 6.1"),
        (b"1\0002 1\0\0\0002 4\0.5 4.\0005 4,\0005 4\0,5", b"1?2 1?2 4?.5 4.?5 4,?5 4,5"),
        (b"1\0", b"1"),
        (b"\0001", b"1"),
        (b"", b""),
    ],
)
def test_a_nul_behind_a_number_is_nothing_and_one_within_a_number_is_a_loss(data, left):
    assert without_nuls(data) == left


@given(st.lists(st.sampled_from([b"1", b"\0", b".", b",", b" ", b"x"]), max_size=30), st.integers(0, 30))
def test_nuls_are_the_same_wherever_a_stretch_ends(parts, inside):
    data = b"x" * (STRETCH_BYTES - inside) + b"".join(parts)
    expected = re.sub(rb"\0", b"", re.sub(rb"(?<=[\d.,])\0+(?=[\d.])", b"?", data))
    assert without_nuls(data) == expected


COLOURED = (
    b"\x1b[1mavg\x1b[0m\x07 \x1b]0;me\x1b\\ sda\x1b[K\n\x1b[32;22m1.00\x1b[m \x1b(B2\x1b[31m\x1b[1;4m3\n" * 4
)


@pytest.mark.parametrize("inside", [0, 1, 2, 7, 20, 33, 200])
def test_colours_are_taken_off_wherever_a_part_ends(inside: int):
    whole = clean(COLOURED).data
    assert b"\x1b" not in whole
    assert b"\x07" not in whole
    above = b"a line of text\n" * 300_000
    above = above[: (1 << 22) - inside - 1] + b"\n"
    assert clean(above + COLOURED).data == above + whole


_COLOURED = """Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)

Device            r/s     w/s     rkB/s     wkB/s  %util
<sda>             <1.10>    <8.60>     <44.20>    <120.44>   <1.37>
<md127>           <0.20>  <152.40>      <3.20>   <9753.60>  <97.64>
"""


@pytest.mark.parametrize("escape", ["", "^[", "\ufffd", "\\033", "\\u001b"])
def test_colours_that_lost_their_escape(escape: str):
    text = _COLOURED.replace("<", f"{escape}[34;1m").replace(">", f"{escape}[0m")
    read = reading(text)
    assert read.disk["device"].tolist() == ["sda", "md127"]
    assert read.disk["util_pct"].tolist() == [1.37, 97.64]


def test_line_ends_that_cat_marks_are_no_cut_margin():
    plain = _COLOURED.replace("<", "").replace(">", "")
    read = reading(plain.replace("\t", "^I").replace("\n", "$\n"))
    assert read.disk["util_pct"].tolist() == [1.37, 97.64]
    assert read.sections[0].host == "db1"


@pytest.mark.parametrize("mark", ["*", "`"])
def test_a_marked_number_is_a_number(mark: str):
    plain = _COLOURED.replace("<", "").replace(">", "")
    read = reading(plain.replace("9753.60", f"{mark}9753.60{mark}").replace("97.64", f"{mark}97.64{mark}"))
    assert read.disk["util_pct"].tolist() == [1.37, 97.64]
    assert read.disk["write_kb_per_s"].tolist() == [120.44, 9753.6]


def test_a_bar_in_front_of_the_lines_of_sar():
    text = """│12:00:01          DEV       tps     rkB/s     wkB/s     %util
│12:10:01          sda     15.48     45.31    213.66      1.58
│12:20:01          sda     13.02     25.64    180.42      1.27
"""
    assert reading(text).disk["util_pct"].tolist() == [1.58, 1.27]


def test_a_header_whose_line_feed_was_written_as_two_characters_heads_its_row():
    header = "Device:  rrqm/s  wrqm/s  r/s  w/s  rkB/s  wkB/s  avgrq-sz  avgqu-sz  await  r_await  w_await  svctm  %util"
    row = "dm-0 0.00 0.00 127.90 0.70 2035.20 14.00 31.87 1.01 7.83 7.80 13.00 7.52 96.70"
    disk = reading(f"{header}\\n{row}\n").tables["disk"]
    assert (disk["device"].tolist(), disk["util_pct"].tolist()) == (["dm-0"], [96.7])


def test_an_encoded_line_feed_ends_its_line():
    text = "a =0A=\n=0A=\nsda  1.=\n5=0A=\nsdb=3D=0D=0A=\nc=\n"
    cleaned = clean(text.encode(), [], None)
    kept = [(cleaned.line(n).strip(), int(cleaned.numbers[n])) for n in range(len(cleaned))]
    assert [pair for pair in kept if pair[0]] == [("a", 1), ("sda  1.5", 3), ("sdb=", 5), ("c=", 6)]


FREE = "  total used free shared buffers cached\nMem: 7900000 7850000 50000 0 12000 5600000\nSwap: 8000000 3700000 4300000\n"


@pytest.mark.parametrize("mark", ["- ", "# ", "  {number}. "])
def test_a_mark_that_each_line_has_is_none_of_any_block(mark):
    lines = (FREE + X3).splitlines()
    marked = [mark.format(number=number) + line for number, line in enumerate(lines, 1)]
    read, plain = reading("\n".join(marked)), reading(FREE + X3)
    assert [fact.text for fact in read.context] == [fact.text for fact in plain.context] != []
    assert len(read.disk) == len(plain.disk)
    # a line without it shows that the others are a list
    assert not reading("\n".join([*marked, "so far the list"])).context
