"""Sets the exam and prints the marks as Markdown.

python tests/evaluation/exam --seed 1 --count 4
python tests/evaluation/exam --only "IOPS cap" --show 2
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from evaluation.exam.marks import marked
from evaluation.exam.questions import MECHANISMS, questions
from evaluation.exam.tables import failures, page


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--count", type=int, default=2, metavar="K", help="captures of each mechanism and number of samples"
    )
    parser.add_argument("--only", action="append", choices=tuple(MECHANISMS), help="this mechanism alone")
    parser.add_argument(
        "--show", type=int, default=0, metavar="N", help="print N captures of each mechanism that failed"
    )
    options = parser.parse_args(arguments)
    marks = list(marked(questions(options.seed, options.count, options.only)))
    print(page(marks))
    for part in failures(marks, options.show):
        print(part)


if __name__ == "__main__":
    main()
