"""A configuration file of any content ends in one line that names the file and what is wrong in it."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from iodiag.cli import cli
from iodiag.cli._config import MOST_BYTES
from property_tests import examples

LADDER = Path(__file__).parents[2] / "samples" / "seeds" / "util-ladder.txt"
BUSY = '"true-saturation.busy_util"'
FAULTS = {
    "[[[": "is not valid TOML",
    "a=" + "[" * 5000: "nested too deeply",
    "rules = 3": "rules: 3 is not a list",
    "rules = true": "rules: True is not a list",
    "rules = [1]": "rules: [1] is not a list",
    "rules = 'true-saturation'": "rules: 'true-saturation' is not a list",
    "rules = ['true-saturatio']": "rules: no rule is called",
    "skip-rules = 7": "skip-rules: 7 is not a list",
    "skip-rules = [[1]]": "skip-rules: [[1]] is not a list",
    "thresholds = [1]": "thresholds: [1] is not a table",
    "thresholds = 'x'": "thresholds: 'x' is not a table",
    f"[thresholds]\n{BUSY} = {'9' * 400}": "threshold true-saturation.busy_util",
    f"[thresholds]\n{BUSY} = {'9' * 5000}": "is not valid TOML",
    f"[thresholds]\n{BUSY} = nan": "nan is not a number",
    f"[thresholds]\n{BUSY} = -1": "threshold true-saturation.busy_util: -1 is not between 0 and 1e+12",
    f"[thresholds]\n{BUSY} = 1e308": "threshold true-saturation.busy_util: 1e+308 is not between 0 and 1e+12",
    f"[thresholds]\n{BUSY} = 2020-01-01": "threshold true-saturation.busy_util",
    "[thresholds]\n'no.such' = 1": "thresholds: no threshold is called",
    "tool = 3": "tool: 3 is not a table",
    "[tool]\niodiag = 3": "tool.iodiag: 3 is not a table",
    "thresholds = 0x" + "f" * 5000: "thresholds: a huge number is not a table",
    "rules." + "a." * 3000 + "b = 1": "rules: {'a': {'a': ",
    "a" * 60_000 + " = 1": "unknown key 'aaa",
    "ignore = [1]": "ignore: write a list of tables",
    "'a\\u001b' = 1": "unknown key",
}


def configured(path: Path) -> Result:
    return CliRunner().invoke(cli, ["analyze", str(LADDER), "--quiet", "--config", str(path)])


def said(path: Path) -> str:
    """The one line of a configuration that is refused."""
    done = configured(path)
    assert done.exit_code == 2, done.output
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"iodiag: {path}: ")
    assert len(done.stderr) < 300 + len(str(path))
    return done.stderr


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_is_one_line_with_file_and_key(text: str, tmp_path: Path):
    path = tmp_path / "c.toml"
    path.write_text(text)
    assert FAULTS[text] in said(path)


@pytest.mark.parametrize("place", ["/dev/zero", "/dev/null", "/nonexistent.toml", "pipe", "."])
def test_only_a_regular_file_is_read(place: str, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    said(tmp_path / place if place in ("pipe", ".") else Path(place))


def test_a_large_file_is_not_read_whole(tmp_path: Path):
    with (tmp_path / "c.toml").open("wb") as handle:
        handle.truncate(MOST_BYTES * 4096)
    assert "is larger than 64 KiB" in said(tmp_path / "c.toml")


VALUES = st.recursive(
    st.sampled_from(["1", "-1.5", "inf", "true", "'x'", "2020-01-01", "10:00:00", "''", "'true-saturation'"]),
    lambda inner: (
        st.lists(inner, max_size=2).map(lambda found: f"[{', '.join(found)}]")
        | inner.map("{{a = {}}}".format)
    ),
    max_leaves=3,
)


@examples(100)
@given(st.sampled_from(["rules", "skip-rules", "thresholds", "ignore", "tool", "tool.iodiag"]), VALUES)
def test_no_value_of_a_key_is_a_traceback(key: str, value: str):
    with TemporaryDirectory() as folder:
        path = Path(folder, "c.toml")
        path.write_text(f"{key} = {value}\n")
        done = configured(path)
    assert done.exit_code in (0, 2), (key, value, done.exception)
