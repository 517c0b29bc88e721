"""By what each rule is verified: real posts, lab experiments, the simulated exam, or its sources alone.

    python tests/evaluation/verified.py [--page docs/evaluation.md] FOLDER...

A folder is searched for labelled captures, as `run.py` does it. A label alone verifies nothing: a rule counts
where a label wants it and the report has it.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation import as_markdown
from evaluation.corpus import cases
from evaluation.exam.marks import marked
from evaluation.exam.questions import MECHANISMS, question
from evaluation.run import put_into
from evaluation.said import Said, listen
from iodiag.rules import all_rules

BEGIN = "<!-- begin of verified: made by tests/evaluation/verified.py --page -->"
END = "<!-- end of verified -->"
SEED, SAMPLES, EACH = 32, 5, 3

Found = Mapping[str, set[str]]
"""By rule, what shows it: cases or mechanisms."""


def in_captures(said: Iterable[Said]) -> tuple[Found, Found]:
    """The posted captures, and the experiments, in which a rule is both wanted and found."""
    posts: dict[str, set[str]] = defaultdict(set)
    lab: dict[str, set[str]] = defaultdict(set)
    for item in said:
        into = posts if item.case.origin == "posted" else lab
        for rule in (item.case.expected | item.case.any_of) & item.fired_here():
            into[rule].add(item.case.name)
    return posts, lab


def in_simulation(mechanisms: Iterable[str] = MECHANISMS) -> Found:
    """The mechanisms of the exam that a rule names in a few captures, or leads where the cause stays open."""
    found: dict[str, set[str]] = defaultdict(set)
    asked = (question(mechanism, SAMPLES, SEED, number) for mechanism in mechanisms for number in range(EACH))
    for mark in marked(asked):
        is_elsewhere = mark.truth.sort == "elsewhere" and mark.is_found and mark.said and not mark.wrong
        is_led = mark.is_rightly_open and mark.said in mark.truth.names
        for rule in mark.named | ({mark.said} if is_elsewhere or is_led else set()):
            found[rule].add(mark.question.mechanism)
    return found


def verdict(posts: int, lab: int, simulated: int) -> str:
    """The strongest of what verifies a rule, in a word."""
    words = (("real posts", posts), ("lab", lab), ("simulation", simulated), ("literature only", True))
    return next(word for word, count in words if count)


def verified_table(posts: Found, lab: Found, simulated: Found) -> str:
    """Every rule with what verifies it, as Markdown."""
    none: set[str] = set()
    rows = []
    for rule in all_rules():
        each = [found.get(rule, none) for found in (posts, lab, simulated)]
        counts = [len(found) for found in each]
        rows.append(
            (
                f"[`{rule}`](rules/{rule}.md)",
                verdict(*counts),
                *(str(count or "–") for count in counts[:2]),
                ", ".join(sorted(each[2])) or "–",
            )
        )
    return as_markdown.table(("rule", "verified by", "posts", "lab cases", "simulated"), rows)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--page", type=Path, help="put the table between the marks of this page")
    options = parser.parse_args(arguments)
    text = verified_table(*in_captures(listen(cases(options.folders))), in_simulation())
    if options.page is None:
        print(text)
    else:
        put_into(options.page, text, BEGIN, END)


if __name__ == "__main__":
    main()
