"""The same input gives the same bytes, whatever the surroundings; two runs differ only in `generated`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

SAMPLES = Path(__file__).parents[2] / "samples"
INPUTS = [
    str(path) for path in sorted((SAMPLES / "cases" / "slow-member").iterdir()) if path.suffix == ".txt"
]
SURROUNDINGS = (
    {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "1"},
    {"TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8", "PYTHONHASHSEED": "4242"},
)


def written(folder: Path, surroundings: dict[str, str]) -> dict[str, bytes]:
    """Every file that a run writes, without the moment of its making."""
    folder.mkdir()
    outputs = [word for ending in ("json", "md", "html") for word in ("-o", f"r.{ending}")]
    subprocess.run(
        [sys.executable, "-m", "iodiag", "analyze", *INPUTS, *outputs, "--quiet"],
        cwd=folder,
        env={**os.environ, **surroundings},
        check=True,
    )
    generated = re.search(rb'"generated": "([^"]+)"', (folder / "r.json").read_bytes())
    assert generated is not None
    day, clock = generated[1].removesuffix(b"Z").split(b"T")
    moment = re.compile(b"%b.{1,4}%b(?::\\d\\d)?" % (day, clock[:5]))
    return {path.name: moment.sub(b"", path.read_bytes()) for path in sorted(folder.iterdir())}


def test_the_same_bytes_in_any_zone_locale_and_folder_and_for_any_hash_seed(tmp_path: Path):
    first, second = (written(tmp_path / str(n), around) for n, around in enumerate(SURROUNDINGS))
    assert len(first) >= 3
    assert first.keys() == second.keys()
    for name, data in first.items():
        assert data == second[name], name
