"""Captures whose lines are strings: JSON logs of containers and services, lists of scripts."""

from __future__ import annotations

import json

import pytest

from text_reading import reading

CAPTURE = """\
Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          12.00    0.00    3.00   20.00    0.00   65.00

Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util
sda             10.00   20.00    160.00    320.00     0.00     0.00   0.00   0.00    1.00    2.00   0.05    16.00    16.00   0.50   1.50

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          10.00    0.00    3.00   22.00    0.00   65.00

Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util
sda             11.00   21.00    176.00    336.00     0.00     0.00   0.00   0.00    1.00    2.00   0.05    16.00    16.00   0.50   1.60
"""  # noqa: E501
LINES = CAPTURE.splitlines()


def _docker(at: int, line: str) -> str:
    members = {"log": f"{line}\n", "stream": "stdout", "time": f"2026-11-20T12:00:{at:02}.5Z"}
    return json.dumps(members)


def _journal(at: int, line: str) -> str:
    micros = str(1_795_176_000_500_000 + at * 1_000_000)
    return json.dumps({"__REALTIME_TIMESTAMP": micros, "_HOSTNAME": "db1", "PRIORITY": "6", "MESSAGE": line})


def _cloud(indent: int | None) -> str:
    events = [{"timestamp": 1795177441000 + at, "message": line} for at, line in enumerate(LINES)]
    return json.dumps({"events": events, "nextForwardToken": "f/1"}, indent=indent)


WRITTEN = {
    "containers": "\n".join(_docker(*each) for each in enumerate(LINES)),
    "journal": "\n".join(_journal(*each) for each in enumerate(LINES)),
    "several lines an object": "\n".join(_docker(*each) for each in enumerate(CAPTURE.split("\n\n"))),
    "one object": json.dumps({"time": "2026-11-20T12:00:00Z", "msg": CAPTURE}),
    "strings of several lines": "".join(f"  - {json.dumps(part)}\n" for part in CAPTURE.split("\n\n")),
    "cloud": _cloud(2),
    "list of Python": f"stdout = {LINES!r}",
    "list of JSON": json.dumps({"rc": 0, "stdout_lines": LINES}, indent=4),
    "text and list": json.dumps({"stdout": CAPTURE, "stdout_lines": LINES}, indent=4),
    "string of Python": f"out = {CAPTURE!r}",
    "list of YAML": "".join(f"  - {json.dumps(line)}\n" for line in LINES),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_every_row_is_read_once(name: str) -> None:
    read, plain = reading(WRITTEN[name] + "\n"), reading(CAPTURE)
    values = [column for column in plain.disk if column.endswith(("_s", "_ms", "_pct", "_kb", "depth"))]
    values.remove("interval_s")
    assert read.disk["device"].tolist() == ["sda", "sda"]
    assert read.disk[values].equals(plain.disk[values])
    assert read.tables["cpu"]["iowait_pct"].tolist() == [20.0, 22.0]
    assert not read.unread


@pytest.mark.parametrize("name", ["containers", "journal"])
def test_a_line_has_the_time_at_which_it_was_logged(name: str) -> None:
    times = reading(WRITTEN[name] + "\n").disk["time"].dt.strftime("%H:%M:%S").tolist()
    assert times == ["12:00:03", "12:00:09"]


def test_a_log_without_a_capture_is_left_alone() -> None:
    text = "".join(json.dumps({"level": "info", "msg": f"request {n} took 5 ms"}) + "\n" for n in range(9))
    assert not reading(text).tables
