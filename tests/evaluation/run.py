"""Measures the rules on labelled captures and prints a page of Markdown.

    python tests/evaluation/run.py FOLDER...
    cd tests && python -m evaluation FOLDER...

A folder is searched for cases: truth.json, label.json or case.toml beside the captures.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation import as_markdown, measure
from evaluation.corpus import cases
from evaluation.said import Said, listen


def page(said: list[Said], with_plateaus: bool) -> str:
    """All tables, with headings; `said` of at least one case."""
    count = len(measure.by_case(said))
    kinds = Counter(item.case.trouble for item in {id(item.case): item for item in said}.values())
    parts = [
        f"{count} labelled cases, {len(said)} captures; {kinds[True]} cases with trouble worth a warning, "
        f"{kinds[False]} without, {kinds[None]} that the label leaves open.\n",
        "### Trouble or none\n",
        as_markdown.alarms_table(list(measure.alarm_figures(said))),
        "### Per rule\n",
        as_markdown.rules_table(measure.rule_figures(said)),
        "### By origin\n",
        as_markdown.origins_table(measure.origin_figures(said)),
        "### What was missed, and what was said wrongly\n",
        _misses(said),
    ]
    if with_plateaus:
        parts += ["### Plateaus\n", as_markdown.plateaus_table(list(measure.plateaus(said)))]
    return "\n".join(parts)


def _misses(said: list[Said]) -> str:
    lines = []
    for item in said:
        missed = item.case.expected_in(item.route) - item.fired_here()
        wrong = item.case.excluded & item.fired()
        words = [f"missed {rule}{' (abstained)' * (rule in item.undetermined)}" for rule in sorted(missed)]
        words += [f"said {rule}{' at warning' * (rule in item.warned())}" for rule in sorted(wrong)]
        if not item.case.expected and item.case.any_of and not item.case.any_of & item.fired():
            words.append(f"found none of {', '.join(sorted(item.case.any_of))}")
        if item.case.trouble is False and item.names_trouble:
            words.append("named a trouble where storage is fine")
        if item.case.trouble and not item.names_trouble:
            words.append("named no trouble")
        if words:
            lines.append(f"- {item.case.name}, `{item.route}`: {'; '.join(words)}")
    return "\n".join(lines or ["Nothing."]) + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--plateaus", action="store_true", help="add the table of thresholds (minutes)")
    options = parser.parse_args(arguments)
    said = list(listen(cases(options.folders)))
    if not said:
        parser.error("no case (truth.json, label.json, case.toml) in these folders")
    print(page(said, options.plateaus))


if __name__ == "__main__":
    main()
