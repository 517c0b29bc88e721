"""Names that a capture brings, hostile ones, all the way through the commands into each kind of output."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from iodiag.cli import cli
from report.builders import HOSTILE

# what can stand in a capture as one word
NAMES = [*dict.fromkeys("".join(text.split()) for text in HOSTILE if text.isprintable() and text.strip())][
    :12
]
NAMES += [
    "=cmd|'/c'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "../../etc/passwd",
    "..",
    "a\u202eb",
    "a\x1b[2Jb",
    "a\x9bb",
    "pci-0000:03:00.0-ata-1",
    "253:99999999",
]
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def capture(name: str) -> str:
    values = "100.00 800.00 0.00 8.00 9.50 95.00 9.50 99.00"
    rows = "".join(f"10:0{m}:01 {device} {values}\n" for m in range(1, 9) for device in ("sda", name))
    header = "10:00:01 DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util\n"
    return f"Linux 5.14.0 ({name}) \t11/20/26 \t_x86_64_\t(4 CPU)\n\n{header}{rows}"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_only_a_name_in_every_output(name: str, tmp_path: Path):
    text = capture(name)
    outputs = [
        word for ending in ("md", "html", "json", "sarif") for word in ("-o", str(tmp_path / f"r.{ending}"))
    ]
    done = CliRunner().invoke(cli, ["analyze", "-", *outputs], input=text)
    assert done.exit_code == 0, done.output
    assert not CONTROLS.search(done.stderr.replace("\n", ""))
    for path in tmp_path.iterdir():
        assert re.fullmatch(r"r\.(md|html|json|sarif)|r-[a-z0-9-]+\.png", path.name), (
            "no name of a capture names a file"
        )
        if path.suffix != ".png":
            assert not CONTROLS.search(path.read_text()), path.name
    page = (tmp_path / "r.html").read_text()
    assert "<script>alert" not in page
    assert "onload='" not in page
    json.loads((tmp_path / "r.json").read_text())
    json.loads((tmp_path / "r.sarif").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_no_output_drives_a_terminal(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True)
    commands = [["convert", "-", "--table", "disk", "--format", form] for form in ("csv", "jsonl")]
    commands += [["inspect", "-"], ["inspect", "-", "--json"], ["analyze", "-", "--format", "md"]]
    for command in commands:
        done = CliRunner().invoke(cli, command, input=capture(name))
        assert done.exit_code == 0, done.output
        assert not CONTROLS.search(done.stdout), command


@pytest.mark.parametrize("name", NAMES)
def test_no_cell_of_a_csv_begins_a_formula(name: str):
    done = CliRunner().invoke(cli, ["convert", "-", "--table", "disk"], input=capture(name))
    assert done.exit_code == 0, done.output
    for row in csv.reader(io.StringIO(done.stdout)):
        for cell in row:
            assert not re.match(r"[=@+]|-[^\d.]", cell), row
