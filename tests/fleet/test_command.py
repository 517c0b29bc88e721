"""What the command says, and with which status it ends."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest
from click.testing import CliRunner

from fleet.conftest import everything, finish, start
from iodiag.cli import cli
from iodiag.fleet import progress
from sample_files import SAMPLES


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rule", "nope"], "no rule is called 'nope'"),
        (["--set", "true-saturation.nope=1"], "no threshold is called"),
        (["--tz", "Mars/Olympus"], "is not a time zone"),
        (["--since", "25:99"], "is not a time"),
        (["--inventory", "missing.csv"], "missing.csv"),
        (["--jobs", "0"], "--jobs"),
    ],
)
def test_a_wrong_option_ends_before_anything_is_written(fleet, tmp_path, arguments, said):
    out = tmp_path / "out"
    result = CliRunner().invoke(cli, ["fleet", str(fleet.inputs), "-o", str(out), *arguments])
    assert result.exit_code in (2, 3)
    assert said in result.output
    assert not out.exists()


@pytest.mark.parametrize(
    ("names", "status", "said"),
    [
        (["missing"], 3, "missing: there is no such file"),
        (["empty"], 2, "there are no files in the inputs"),
        (["words"], 3, "no input held samples of any host"),
    ],
)
def test_inputs_without_samples_end_with_a_line(tmp_path, names, status, said):
    (tmp_path / "empty").mkdir()
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "letter.txt").write_text("Dear all,\nnothing is slow.\n")
    inputs = [str(tmp_path / name) for name in names]
    result = CliRunner().invoke(cli, ["fleet", *inputs, "-o", str(tmp_path / "out"), "--jobs", "1"])
    assert result.exit_code == status
    assert said in result.output.strip().splitlines()[-1]


def test_the_data_set_is_no_input_of_itself(fleet, tmp_path):
    from fleet.conftest import run_here
    from iodiag.fleet.discover import inputs_of

    run_here(fleet.inputs / "mail0002", tmp_path / "out")
    assert everything(tmp_path / "out")
    assert inputs_of([str(tmp_path)], str(tmp_path / "out")) == ([], [])
    assert inputs_of([str(tmp_path)])[0]


def test_a_long_run_says_a_line_a_minute(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    told = progress.Lines()
    told.begin("host-days judged", 1000)
    for _ in range(7):
        now[0] += 25
        told.step(50)
    assert capsys.readouterr().err.splitlines() == [
        "iodiag: 150 of 1,000 host-days judged, 2.0 per s, 7 min left",
        "iodiag: 300 of 1,000 host-days judged, 2.0 per s, 6 min left",
    ]


def test_what_came_out_is_told_first_and_inputs_passed_over_by_reason(fleet, tmp_path):
    given = tmp_path / "given"
    shutil.copytree(fleet.inputs / fleet.planted[0].host, given / "web1")
    for name in ("a", "b", "c", "d"):
        (given / f"{name}.txt").write_text(f"notes of {name}\n")
    result = CliRunner().invoke(cli, ["fleet", str(given), "-o", str(tmp_path / "out"), "--jobs", "1"])
    first, second, *others = result.output.splitlines()
    assert "See " in first
    assert " host-days in " in second
    (unknown,) = (line for line in others if "4 inputs (" in line)
    assert "holds nothing that iodiag knows" in unknown
    assert unknown.count("holds nothing") == 1


def test_a_fleet_is_judged_by_its_devices_and_days_asked_for(tmp_path):
    for name, kind in (("slow-member", "web1"), ("full-write-cache", "web2")):
        shutil.copytree(SAMPLES / "cases" / name, tmp_path / "given" / kind)
    given = str(tmp_path / "given")
    out = tmp_path / "out"
    options = ["--since", "2026-11-21", "--device", "sda", "--cpus", "2", "--interval", "1", "--jobs", "1"]
    result = CliRunner().invoke(cli, ["fleet", given, "-o", str(out), *options])
    assert result.exit_code == 0, result.output
    assert f"1 host-days in {out}" in result.output
    assert "web1/iostat.txt: unknown: has no samples of the days asked for" in result.output
    assert set(pd.read_parquet(out / "tables" / "disk")["device"]) == {"sda"}
    assert set(pd.read_parquet(out / "devices.parquet")["device"]) == {"sda"}
    wrong = CliRunner().invoke(
        cli, ["fleet", given, "-o", str(tmp_path / "no"), "--device", "x", "--jobs", "1"]
    )
    assert wrong.exit_code == 3
    assert "--device x: no such device has samples" in wrong.output


def refused(*arguments: object) -> str:
    """The line that a run ends with in place of a data set."""
    result = CliRunner().invoke(cli, ["fleet", *map(str, arguments), "--jobs", "1"])
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    return result.output


@pytest.mark.slow
def test_a_data_set_without_names_needs_one_key(fleet, tmp_path):
    host = fleet.planted[0].host
    given, out = fleet.inputs / host, tmp_path / "out"
    with_key = (given, "-o", out, "--jobs", 1, "--anonymize-key", "k1")
    assert finish(start(*with_key))[0] == 0
    first = everything(out)
    status, said = finish(start(*with_key))
    assert (status, everything(out)) == (0, first)
    assert "0 of them new" in said
    assert not [name for name, data in first.items() if host.encode() in name.encode() + data]
    for more in (("--anonymize",), ("--anonymize-key", "k2"), ()):
        assert "has pseudonyms of another key" in refused(given, "-o", out, *more)
    assert "has real names" in refused(given, "-o", fleet.out, "--anonymize")
