"""What people install: the wheel holds the package and nothing else, the sdist all that its tests need."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from iodiag import __version__

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from hatchling import build; print(getattr(build, sys.argv[1])(sys.argv[2]))"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    """The wheel and the sdist of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    paths = {}
    for kind in ("wheel", "sdist"):
        done = subprocess.run(
            [sys.executable, "-c", BUILD, f"build_{kind}", str(folder)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        paths[kind] = folder / done.stdout.split()[-1]
    return paths


@pytest.fixture(scope="module")
def wheel(built) -> dict[str, bytes]:
    with zipfile.ZipFile(built["wheel"]) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_the_package_its_data_and_manual_pages(wheel):
    info, data = f"iodiag-{__version__}.dist-info/", f"iodiag-{__version__}.data/data/share/man/man1/"
    assert {name for name in wheel if not name.startswith(("iodiag/", info, data))} == set()
    source = ROOT / "src" / "iodiag"
    expected = {
        f"iodiag/{path.relative_to(source)}"
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    sample = ROOT / "samples" / "cases" / "slow-member"
    expected |= {f"iodiag/cli/samples/cases/slow-member/{path.name}" for path in sample.iterdir()}
    assert {name for name in wheel if name.startswith("iodiag/")} == expected
    assert {"iodiag/py.typed", "iodiag/report/page.html", "iodiag/analysis/load/rate_limits.toml"} <= expected
    assert f"{data}iodiag.1" in wheel


def test_the_metadata_says_what_an_index_shows(wheel):
    text = wheel[f"iodiag-{__version__}.dist-info/METADATA"].decode()
    fields = Parser().parsestr(text)
    assert fields["Version"] == __version__
    assert fields["Requires-Python"] == ">=3.11"
    assert fields["License-Expression"] == "MIT"
    assert "Typing :: Typed" in fields.get_all("Classifier", [])
    assert {"parquet", "remote", "zstd", "fleet"} <= set(fields.get_all("Provides-Extra", []))
    points = wheel[f"iodiag-{__version__}.dist-info/entry_points.txt"].decode()
    assert "iodiag = iodiag.cli:main" in points


def test_the_sdist_holds_what_its_own_tests_need(built):
    with tarfile.open(built["sdist"]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    for needed in (
        "pyproject.toml",
        "README.md",
        "CONTRIBUTING.md",
        "tests/conftest.py",
        ".ci/mkdocs.yml",
        ".ci/gallery.py",
    ):
        assert needed in names
    assert any(name.startswith("samples/seeds/") for name in names)
    assert any(name.startswith("docs/man/") for name in names)
    assert not [name for name in names if name.startswith((".venv", "build/", "dist/"))]


def test_an_index_would_take_both(built):
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *map(str, built.values())],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
