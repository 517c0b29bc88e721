"""Measures the rules on labelled captures and prints what it finds as Markdown.

    python tests/evaluation/run.py FOLDER...
    cd tests && python -m evaluation FOLDER...

A folder is searched for cases: truth.json, label.json or case.toml beside the captures.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation import as_markdown, generated, measure
from evaluation.corpus import Case, cases
from evaluation.said import Said, listen
from iodiag import __version__

BEGIN, END = "<!-- begin of figures: made by tests/evaluation/run.py --page -->", "<!-- end of figures -->"


def figures(said: list[Said], controls: list[Said], *, with_plateaus: bool, with_names: bool = True) -> str:
    """All tables, with headings; `said` of at least one case, `controls` of the generated ones.

    Without names, cases that were posted by others are called just that.
    """
    settled = Counter(item.case.trouble for item in {id(item.case): item for item in said}.values())
    named, asked = right_causes(said)
    parts = [
        f"iodiag {__version__}, {datetime.now(UTC):%Y-%m-%d}: {len(said)} labelled captures of "
        f"{settled.total()} cases; {settled[True]} cases with trouble, {settled[False]} without, "
        f"{settled[None]} that the label leaves open.\n",
        "### Trouble or none\n",
        as_markdown.alarms_table(list(measure.alarm_figures(said))),
        f"In {as_markdown.share(named, asked)} captures with trouble a finding names a cause that the label "
        "accepts. An alert names none.\n",
        *_with_controls(said, controls),
        "### Per rule\n",
        as_markdown.rules_table(measure.rule_figures(said)),
        "### By origin\n",
        as_markdown.origins_table(measure.origin_figures(said)),
        "### What was missed, and what was said wrongly\n",
        _misses(said, with_names=with_names),
    ]
    if with_plateaus:
        parts += ["### Plateaus\n", as_markdown.plateaus_table(list(measure.plateaus(said)))]
    return "\n".join(parts)


def _with_controls(said: list[Said], controls: list[Said]) -> Iterator[str]:
    if not controls:
        return
    together = list(measure.alarm_figures([*said, *controls]))
    healthy = together[0].counts.wrong + together[0].counts.silent
    settled = healthy + together[0].counts.right + together[0].counts.missed
    yield "### Healthy and busy, generated\n"
    yield as_markdown.controls_table(list(measure.control_figures(controls)))
    yield "### At a stated prevalence\n"
    yield (
        "Recall is of the labelled cases; false alarms are of the healthy ones among them and of the "
        f"generated ones: {healthy} of {settled} cases are healthy ({100 * healthy / settled:.0f} %).\n"
    )
    yield as_markdown.prevalence_table(together)


def right_causes(said: list[Said]) -> tuple[int, int]:
    """On how many captures with trouble a trouble is found that the label accepts, and of how many."""
    troubled = [item for item in said if item.case.trouble]
    right = [item for item in troubled if (item.case.expected | item.case.any_of) & item.fired_here()]
    return len(right), len(troubled)


def _misses(said: list[Said], *, with_names: bool) -> str:
    lines = []
    for item in said:
        case = item.case
        missed = case.expected_in(item.route) - item.fired_here()
        wrong = case.excluded & item.fired()
        words = [f"missed {rule}{' (abstained)' * (rule in item.undetermined)}" for rule in sorted(missed)]
        words += [f"said {rule}{' at warning' * (rule in item.warned())}" for rule in sorted(wrong)]
        if not case.expected and case.any_of and not case.any_of & item.fired():
            words.append(f"found none of {', '.join(sorted(case.any_of))}")
        if case.trouble is False and item.names_trouble:
            words.append("named a trouble where storage is fine")
        if case.trouble and not item.names_trouble:
            words.append("named no trouble")
        if words:
            lines.append(f"- {_name(case, with_names)}, `{item.route}`: {'; '.join(words)}")
    return "\n".join(lines or ["Nothing."]) + "\n"


def _name(case: Case, with_names: bool) -> str:
    return "a posted capture" if case.origin == "posted" and not with_names else case.name


def put_into(page: Path, text: str, begin: str = BEGIN, end: str = END) -> None:
    """Replace what stands between the marks of a page."""
    before, has_begin, rest = page.read_text(encoding="utf-8").partition(begin)
    _, has_end, after = rest.partition(end)
    if not (has_begin and has_end):
        raise SystemExit(f"{page}: lacks the marks {begin} and {end}")
    page.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--plateaus", action="store_true", help="add the table of thresholds (minutes)")
    parser.add_argument("--page", type=Path, help="put the figures between the marks of this page")
    parser.add_argument(
        "--controls", type=int, default=0, metavar="N", help="add N generated healthy cases of each kind"
    )
    options = parser.parse_args(arguments)
    said = list(listen(cases(options.folders)))
    if not said:
        parser.error("no case (truth.json, label.json, case.toml) in these folders")
    with TemporaryDirectory() as folder:
        generated.write(Path(folder), options.controls)
        controls = list(listen(cases([Path(folder)])))
    text = figures(said, controls, with_plateaus=options.plateaus, with_names=options.page is None)
    if options.page is None:
        print(text)
    else:
        put_into(options.page, text)


if __name__ == "__main__":
    main()
