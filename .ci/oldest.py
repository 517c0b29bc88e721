"""Prints the oldest allowed release of each package that iodiag needs, one per line, as pip's constraints.

python .ci/oldest.py > oldest.txt && pip install '.[parquet,fleet,remote,zstd]' -c oldest.txt
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

NEEDED = ("parquet", "fleet", "remote", "zstd")


def main() -> None:
    """Every `name>=release` of the package itself and of what its users may add, as `name==release`."""
    project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
    extras = (line for extra in NEEDED for line in project["optional-dependencies"][extra])
    for line in sorted({*project["dependencies"], *extras}):
        print(re.sub(r"\[.*?\]", "", line).replace(">=", "=="))


if __name__ == "__main__":
    main()
