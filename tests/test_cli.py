"""Every option of the command line, run as a user runs it."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import iodiag.cli
from command_line import program
from iodiag import __version__
from iodiag.cli import cli, command_names
from iodiag.rules import all_rules

SEEDS = Path(__file__).parents[1] / "samples" / "seeds"
LADDER = str(SEEDS / "util-ladder.txt")
SLOW = str(SEEDS.parent / "cases" / "slow-member" / "iostat.txt")
SAR = str(SEEDS / "raid5-small-writes-sar.txt")

TWO_SAMPLES = """\
Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(4 CPU)

10:00:01          DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util
10:10:01          sda    100.00    800.00      0.00      8.00      0.50      5.00      5.00     50.00
10:10:01          sdb    200.00   1600.00      0.00      8.00      0.80      4.00      4.00     80.00
10:20:01          sda    110.00    880.00      0.00      8.00      0.55      5.00      5.00     55.00
10:20:01          sdb    210.00   1680.00      0.00      8.00      0.84      4.00      4.00     84.00
10:30:01          sda    120.00    960.00      0.00      8.00      0.60      5.00      5.00     60.00
10:30:01          sdb    220.00   1760.00      0.00      8.00      0.88      4.00      4.00     88.00
"""


def run(*arguments: str, stdin: str | None = None):
    return CliRunner().invoke(cli, list(arguments), input=stdin)


def analyzed(*arguments: str, stdin: str | None = None) -> dict:
    done = run("analyze", *arguments, "--format", "json", "--quiet", stdin=stdin)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def samples_of(report: dict) -> dict[str, int]:
    return {device["name"]: device["samples"] for device in report["devices"]}


@pytest.fixture
def capture(tmp_path: Path) -> str:
    path = tmp_path / "sar.txt"
    path.write_text(TWO_SAMPLES)
    return str(path)


def test_version_and_help_name_every_command():
    assert __version__ in run("--version").output
    for name in command_names():
        assert name in run("-h").output
        assert run(name, "--help").exit_code == 0


def test_the_program_alone_shows_its_help():
    done = subprocess.run([sys.executable, "-m", "iodiag"], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == program("--help").stdout


@pytest.mark.parametrize(
    ("arguments", "status"), [((), 2), (("/nonexistent",), 3), ((LADDER, "--fail-on", "warning"), 1)]
)
def test_a_process_ends_as_the_program_does(arguments, status):
    """Other tests of the command line call the program in their own process."""
    command = [sys.executable, "-m", "iodiag", "analyze", *arguments, "--format", "json", "--quiet"]
    done = subprocess.run(command, capture_output=True, check=False)
    again = program(*command[3:])
    assert (done.returncode, done.stderr) == (again.returncode, again.stderr)
    assert done.returncode == status
    assert bool(done.stdout) == bool(again.stdout) == (status == 1)


def test_a_file_in_the_folder_of_commands_is_a_command(monkeypatch, tmp_path):
    text = "import click\n\n@click.command(short_help='Count to one.')\ndef {}():\n    click.echo('one')\n"
    for module in ("count_up", "_helper"):
        (tmp_path / f"{module}.py").write_text(text.format(module))
    monkeypatch.setattr(iodiag.cli, "__path__", [*iodiag.cli.__path__, str(tmp_path)])
    assert run("count-up").output == "one\n"
    assert re.search(r"count-up +Count to one\.", run("--help").output)
    assert "helper" not in run("--help").output
    assert run("_helper").exit_code == 2


def test_the_report_goes_to_standard_output_as_markdown():
    assert run("analyze", LADDER).output.startswith("# ")


def test_standard_input_is_a_capture():
    report = analyzed("-", stdin=TWO_SAMPLES)
    assert samples_of(report) == {"sda": 3, "sdb": 3}


def test_output_is_repeatable_and_the_ending_picks_the_format(tmp_path):
    places = [tmp_path / name for name in ("r.md", "r.html", "r.json", "r.txt")]
    options = [word for place in places for word in ("-o", str(place))]
    done = run("analyze", LADDER, *options, "--format", "md")
    assert done.exit_code == 0, done.output
    texts = [place.read_text() for place in places]
    assert texts[0].startswith("# ")
    assert texts[3].startswith("# ")
    assert texts[1].lower().startswith("<!doctype html>")
    assert json.loads(texts[2])["schema"] == "iodiag-report/1"
    charts = set(tmp_path.glob("r-*.png"))
    assert charts, "the charts of r.md stand beside it"
    assert set(tmp_path.iterdir()) - charts == set(places), "no temporary file is left"


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (("--since", "10:15"), 2),
        (("--until", "10:15"), 1),
        (("--since", "2026-11-20T10:15:00", "--until", "2026-11-20 10:25"), 1),
        (("--tz", "Europe/Berlin", "--since", "10:15"), 2),
        (("--tz", "Europe/Berlin", "--since", "2026-11-20T10:15+01:00"), 2),
        (("--tz", "Europe/Berlin", "--since", "2026-11-20T09:15Z"), 2),
        (("--tz", "Europe/Berlin", "--until", "2026-11-20T10:15Z"), 3),
        (("--since", "2026-11-20T10:15+05:00"), 2),
    ],
)
def test_since_and_until_narrow_the_window(capture, option, expected):
    assert samples_of(analyzed(capture, *option))["sda"] == expected


def test_a_report_of_a_part_of_its_captures_says_so(capture):
    asked = ("--device", "sdb", "--since", "10:15")
    assert analyzed(capture, *asked)["chosen"] == {"devices": ["sdb"], "since": "10:15", "until": None}
    told = "only `sdb` and what lies below, without peers to compare with; only samples from 10:15"
    assert told in run("analyze", capture, *asked).output
    assert "Looked at" not in run("analyze", capture).output


def test_tz_states_the_zone_of_clocks_that_state_none(capture):
    assert analyzed(capture, "--tz", "Europe/Berlin")["timezone"] == "Europe/Berlin"


def test_device_is_found_by_any_alias(capture, tmp_path):
    lsblk = tmp_path / "lsblk.txt"
    lsblk.write_text(
        "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\n"
        "sda    8:0    0   4G  0 disk\n"
        "sdb    8:16   0   4G  0 disk\n"
    )
    for name in ("sdb", "8:16", "dev8-16", "/dev/sdb"):
        assert list(samples_of(analyzed(capture, str(lsblk), "--device", name))) == ["sdb"]


def test_rule_and_skip_rule_choose_what_runs_and_outcomes_still_name_every_rule():
    only = analyzed(LADDER, "--rule", "svctm-misread")["outcomes"]
    rest = analyzed(LADDER, "--skip-rule", "svctm-misread")["outcomes"]
    for outcomes in (only, rest):
        assert {outcome["rule"] for outcome in outcomes} == set(all_rules())
        whole = [(outcome["rule"], outcome["status"]) for outcome in outcomes]
        assert len(whole) == len(set(whole))
    assert {one["rule"] for one in only if one["missing"] != ["choice of rules"]} == {"svctm-misread"}
    assert [one["rule"] for one in rest if one["missing"] == ["choice of rules"]] == ["svctm-misread"]


def test_set_and_config_change_a_threshold_and_set_wins(tmp_path):
    config = tmp_path / "iodiag.toml"
    config.write_text('skip-rules = ["svctm-misread"]\n[thresholds]\n"util-sampling-bias.least_util" = 7\n')
    report = analyzed(LADDER, "--config", str(config))
    assert report["thresholds"]["util-sampling-bias"]["least_util"] == 7
    assert "svctm-misread" not in report["thresholds"]
    report = analyzed(LADDER, "--config", str(config), "--set", "util-sampling-bias.least_util=9")
    assert report["thresholds"]["util-sampling-bias"]["least_util"] == 9
    project = tmp_path / "pyproject.toml"
    project.write_text("[tool.iodiag.thresholds.util-sampling-bias]\nleast_util = 8\n")
    report = analyzed(LADDER, "--config", str(project))
    assert report["thresholds"]["util-sampling-bias"]["least_util"] == 8


def test_columns_name_rows_that_came_without_a_header():
    rows = "sda 1.50 2 3.25\nsdb 4 5.5 6\n"
    report = analyzed("-", "--columns", "Device: tps kB_read/s kB_wrtn/s", stdin=rows)
    assert report["devices"][0]["summary"]["write_kb_per_s"]["max"] == 3.25


def test_cpus_and_interval_fill_in_what_a_paste_does_not_say():
    vmstat = (SEEDS / "commit-stall-vmstat.txt").read_text()
    assert analyzed("-", "--cpus", "2", "--interval", "10", stdin=vmstat)["schema"]


def test_fail_on_exits_with_one_when_met():
    findings = analyzed(LADDER)["findings"]
    assert any(finding["severity"] == "warning" for finding in findings)
    assert program("analyze", LADDER, "--fail-on", "warning", "--quiet").returncode == 1
    assert program("analyze", LADDER, "--fail-on", "critical", "--quiet").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (("analyze",), 2, "INPUT"),
        (("analyze", LADDER, "--frobnicate"), 2, "frobnicate"),
        (("anlyze", LADDER), 2, "Did you mean analyze?"),
        (("analyze", LADDER, "--rule", "svctm-misreads"), 2, "did you mean svctm-misread?"),
        (("analyze", LADDER, "--set", "svctm-misread.nothing=1"), 2, "threshold"),
        (("analyze", LADDER, "--set", "nonsense"), 2, "RULE.THRESHOLD=VALUE"),
        (("analyze", LADDER, "--set", "util-sampling-bias.least_util=many"), 2, "not a number"),
        (("analyze", LADDER, "--config", "/nonexistent.toml"), 2, "/nonexistent.toml"),
        (("analyze", LADDER, "--since", "yesterdayish"), 2, "--since"),
        (("analyze", LADDER, "--since", "12:44:40Z"), 2, "is not a time"),
        (("analyze", LADDER, "--since", "2031-01-01"), 2, "the samples have no clock"),
        (("analyze", SLOW, "--since", "2031-01-01"), 2, "in that time; there are samples of 20"),
        (("analyze", LADDER, "--since", "14:00", "--until", "13:00"), 2, "no sample lies in that time"),
        (("analyze", LADDER, "--device", "sdzz"), 2, "--device sdzz: no such device has samples; there are "),
        (("compare", LADDER, LADDER, "--device", "sdzz"), 2, "no such device has samples"),
        (("analyze", LADDER, "--tz", "Mars/Olympus"), 2, "--tz"),
        (("analyze", LADDER, "-o", "report.xyz"), 2, "report.xyz"),
        (("analyze", LADDER, "-o", "/nonexistent/report.md"), 2, "/nonexistent/report.md"),
        (("analyze", LADDER, "--columns", "no such columns"), 2, "--columns"),
        (("analyze", "/nonexistent"), 3, "/nonexistent"),
        (("rules", "svctm-misreads"), 2, "did you mean svctm-misread?"),
        (("convert", str(SEEDS / "raid5-layers-iostat.txt")), 2, "cpu, disk"),
    ],
)
def test_an_error_is_one_clear_line_with_the_right_status(arguments, status, word):
    done = program(*arguments)
    assert done.returncode == status
    assert done.stderr.count(b"\n") == 1, done.stderr
    assert word in done.stderr.decode()
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("name", "data", "word"),
    [
        ("empty.txt", b"", "is empty"),
        ("blank.txt", b" \n\n", "is empty"),
        ("csv", b"db;-1;2026-11-20 12:26:15 UTC;LINUX-RESTART\t(2 CPU)\n", "holds restarts of the host"),
        (
            "sar",
            b"Linux 4.1 (db) \t09/19/19\n\n07:00:01     COM new disk\n",
            "holds restarts of the host or comm",
        ),
        (
            "rows",
            b"$ pidstat -u -t 2 9\nAverage:  0  731  -  12.5  3.1  0.0  0.2  15.6  -  mydumper\n" * 2,
            "holds rows of pidstat without a header",
        ),
        ("notes", b"The host was restarted; COM ports are fine.\n", "holds nothing that iodiag knows"),
        ("prose.txt", b"the server is slow\nplease help\n", "nothing that iodiag knows"),
        ("binary.bin", bytes(range(256)) * 40, "binary file"),
        ("truncated.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03abc", "damaged"),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path, name, data, word):
    path = tmp_path / name
    path.write_bytes(data)
    done = program("analyze", str(path))
    assert done.returncode == 3
    assert done.stderr.count(b"\n") == 1
    assert word in done.stderr.decode()
    assert str(path) in done.stderr.decode()


def test_a_directory_is_read_file_by_file(tmp_path):
    done = program("analyze", str(tmp_path))
    assert (done.returncode, done.stderr.count(b"\n")) == (3, 1)
    (tmp_path / "notes.txt").write_text("call me back\n")
    (tmp_path / "sar.txt").write_text(TWO_SAMPLES)
    assert samples_of(analyzed(str(tmp_path))) == {"sda": 3, "sdb": 3}


def test_one_bad_input_of_several_is_left_out_unless_strict(capture):
    done = program("analyze", capture, "/nonexistent", "--format", "json")
    assert done.returncode == 0
    assert b"left out" in done.stderr
    assert program("analyze", capture, "/nonexistent", "--strict").returncode == 3


def test_strict_refuses_a_line_that_was_not_understood(tmp_path):
    path = tmp_path / "sar.txt"
    path.write_text(TWO_SAMPLES + "10:40:01          sda    120.00    960.00      0.00      8.00      0.60\n")
    assert program("analyze", str(path), "--quiet").returncode == 0
    done = program("analyze", str(path), "--strict")
    assert done.returncode == 3
    assert f"{path}:10" in done.stderr.decode()


def test_quiet_keeps_standard_error_empty(capture, tmp_path):
    done = program("analyze", capture, "-o", str(tmp_path / "r.md"), "--quiet")
    assert (done.returncode, done.stderr, done.stdout) == (0, b"", b"")


def test_a_closed_pipe_ends_quietly(capture):
    process = subprocess.Popen(
        [sys.executable, "-m", "iodiag", "analyze", capture], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    process.wait()
    assert errors == b""


def test_file_names_cannot_drive_the_terminal(tmp_path):
    path = tmp_path / "a\x1b[31m\nb.txt"
    done = program("analyze", str(path))
    assert done.returncode == 3
    assert done.stderr.count(b"\n") == 1
    assert b"\x1b" not in done.stderr


def test_inspect_lists_what_is_there_and_what_is_not_understood():
    text = TWO_SAMPLES + "10:40:01          sda    120.00    960.00      0.00      8.00      0.60\n"
    output = run("inspect", "-", stdin=text).output
    assert "db1" in output
    assert "disk 6" in output
    assert "line 10" in output
    assert json.loads(run("inspect", "-", "--json", stdin=text).output)[0]["tables"] == {"disk": 6}


def test_convert_writes_each_format(capture, tmp_path):
    import pandas as pd

    table = pd.read_csv(io.StringIO(run("convert", capture).output))
    assert list(table["line"]) == [4, 5, 6, 7, 8, 9]
    lines = run("convert", capture, "--format", "jsonl").output.splitlines()
    assert json.loads(lines[0])["device"] == "sda"
    path = tmp_path / "disk.parquet"
    assert run("convert", capture, "--table", "disk", "-o", str(path)).exit_code == 0
    assert len(pd.read_parquet(path)) == 6


def test_convert_makes_formulas_inert():
    text = TWO_SAMPLES.replace("sdb", "=cmd")
    assert ",'=cmd," in run("convert", "-", stdin=text).output


def test_rules_prints_a_page_with_thresholds_and_their_source():
    listing = run("rules").output
    assert "util-sampling-bias" in listing
    page = run("rules", "util-sampling-bias").output
    assert "least_util = 5 %" in page
    assert "When it is wrong" in page
    assert json.loads(run("rules", "util-sampling-bias", "--json").output)[0]["id"] == "util-sampling-bias"


def test_convert_selects_rows_and_takes_what_an_input_lacks(tmp_path):
    rows = "".join(f"{disk} 10.00 40.00 50.00 400 500\n" for disk in ("sda", "sdb"))
    report = f"Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n{rows}\n"
    capture = tmp_path / "x.txt"
    capture.write_text(
        "Linux 5.14.0 (h1) \t11/20/26 \t_x86_64_\t(4 CPU)\n\n"
        + "".join(f"11/20/26 10:0{minute}:00\n{report}" for minute in range(3))
    )
    options = ("--table", "disk", "--device", "8:16", "--since", "10:01", "--until", "10:01", "--tz", "UTC")
    done = run("convert", str(capture), *options, "--quiet", "--no-color", "--format", "jsonl")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["device"] for row in found] == ["sdb"]
    assert found[0]["time"].startswith("2026-11-20T10:01:00")
    for wrong in (("--device", "sdx"), ("--since", "11:00")):
        done = run("convert", str(capture), "--table", "disk", *wrong)
        assert (done.exit_code, done.stdout) == (2, "")
        assert f"disk has no rows for {wrong[0]}" in done.stderr
    capture.write_text("Device r/s w/s rkB/s wkB/s aqu-sz %util\nsda 10.13 0.00 40.17 0.00 0.13 1.37\n")
    done = run("convert", str(capture), "--table", "disk", "--interval", "60", "--format", "jsonl")
    assert [json.loads(line)["interval_s"] for line in done.stdout.splitlines()] == [60.0]


def test_what_is_not_read_of_a_binary_file_is_addressed_in_bytes(tmp_path):
    data = (SEEDS.parent / "sa" / "lost-write-cache-12.6.1.bin").read_bytes()
    capture = tmp_path / "sa20"
    capture.write_bytes(data[: len(data) // 2])
    said = run("inspect", str(capture)).stdout
    assert re.search(r"not understood, byte \d+: the file ends inside a record", said)
    full = run("analyze", str(capture), "--full", "--format", "md").stdout
    assert f"| `{capture}@" in full
    assert f"| `{capture}:" not in full


def test_quiet_and_no_color_are_everywhere(tmp_path):
    for command in ("inspect", "convert", "fleet"):
        said = run(command, "--help").stdout
        assert "--quiet" in said
        assert "--no-color" in said


def test_fail_on_asks_findings_alone(tmp_path):
    from writers.captures import iostat

    capture = tmp_path / "x.txt"
    row = {"r/s": 572.0, "rkB/s": 5550.0, "r_await": 2.75, "w/s": 18.0, "wkB/s": 175.0, "w_await": 2.75}
    capture.write_text(iostat([{"sda": row | {"aqu-sz": 1.62, "%util": 98.9}}]))
    verdict = json.loads(run("analyze", str(capture), "--format", "json").stdout)["verdict"]
    assert (verdict["state"], verdict["rule"], verdict["severity"]) == ("open", None, "warning")
    assert run("analyze", str(capture), "--fail-on", "warning").exit_code == 0
