"""Every sample's page in a real browser: Chromium without a window, driven by browser/check.mjs."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
from pathlib import Path
from typing import Any

import pytest

import iodiag
from report.test_fleet import fleet_report
from sample_files import CASES, FILES, SAMPLES, name_of

# the pages are checked by one browser, so by one process
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

HERE = Path(__file__).parent / "browser"
ALONE = [path for path in FILES if path.parent not in CASES]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
EXPLORED = SAMPLES / "cases" / "slow-member"
COMPARED = ("raid5-small-writes", "raid10-small-writes")


@pytest.fixture(scope="module")
def browser() -> str:
    """Where Chromium is, once everything else that it takes is known to be there."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    if shutil.which("node") is None:
        pytest.skip("no node on this machine")
    if not (HERE / "node_modules" / "axe-core").is_dir():
        pytest.skip(f"`npm ci --prefix {HERE}` was not run")
    return CHROMIUM


@pytest.fixture(scope="module")
def checked(browser, tmp_path_factory) -> dict[str, Any]:
    """What the browser found wrong, by the name of the sample; one browser for all of them."""
    folder = tmp_path_factory.mktemp("pages")
    pages = {"explored": _written(folder / "explored.html", iodiag.analyze(iodiag.read(EXPLORED)))}
    sides = (iodiag.read(SAMPLES / "cases" / name) for name in COMPARED)
    pages["compared"] = _written(folder / "compared.html", iodiag.compare(*sides))
    pages["fleet"] = _written(folder / "fleet.html", fleet_report())
    for at, path in enumerate([*CASES, *ALONE]):
        captures, _ = iodiag.read_many([path])
        pages[name_of(path)] = _written(folder / f"{at}.html", iodiag.analyze(captures))
    script = ["node", HERE / "check.mjs", browser, *pages.values()]
    done = subprocess.run([str(word) for word in script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    by_name = {key: {name: found[key][page] for name, page in pages.items()} for key in ("pages", "screens")}
    return found | by_name | {"bytes": {name: Path(page).stat().st_size for name, page in pages.items()}}


def _written(path: Path, report: Any) -> str:
    path.write_text(report.to_html(), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["compared", "fleet", *map(name_of, [*CASES, *ALONE])])
def test_a_page_is_quiet_fits_and_is_open_to_everybody(checked, name):
    assert checked["pages"][name] == []


def test_the_policy_of_a_page_refuses_everything_else(checked):
    assert checked["policy"] == {
        "refused": ["connect-src", "frame-src", "img-src", "object-src", "script-src-elem", "style-src-elem"],
        "ran": False,
    }


def test_a_chart_can_be_pointed_at_zoomed_and_switched(checked):
    assert [name for name, holds in checked["explored"].items() if not holds] == []


def test_pages_are_a_few_screens_and_small(checked):
    screens = {name: height for name, height in checked["screens"].items() if name != "fleet"}
    assert statistics.median(screens.values()) <= 4
    assert screens["cases/slow-member"] <= 6
    assert screens["compared"] <= 5
    assert max(checked["bytes"].values()) <= 250_000
