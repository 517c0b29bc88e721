"""Hook of mkdocs: the gallery's reports and table, the pictures of charts, and the rules in the sidebar.

Nothing that this writes is stored in the repository.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import iodiag
from iodiag.model.finding import ROLES
from iodiag.report import contents, wording
from iodiag.report.charts.report_charts import chart_files
from iodiag.rules import all_rules

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

CASES = Path(__file__).parents[1] / "samples" / "cases"
PAGE, MARK = "gallery.md", "<!-- the table is made by .ci/gallery.py -->"
CHARTS, PICTURE = "charts.md", re.compile(r"<!-- picture: (\S+) (\w+) -->")
COMPARED = ("raid5-small-writes", "raid10-small-writes")
_rows: list[str] = []
_pictures: dict[str, str] = {}


def on_config(config: MkDocsConfig) -> None:
    """Put every rule below the list of rules, by role."""
    by_role: list[dict[str, Any]] = [
        {
            role.capitalize(): [
                {rule.id: f"rules/{rule.id}.md"} for rule in all_rules().values() if rule.role == role
            ]
        }
        for role in ROLES
    ]
    assert config.nav is not None
    at = next(n for n, entry in enumerate(config.nav) if "Rules" in entry)
    config.nav[at] = {
        "Rules": [{"All rules": "rules/index.md"}, *(each for each in by_role if any(each.values()))]
    }


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Analyze every worked case, and add its report as a page of its own and the explained charts."""
    from mkdocs.structure.files import File

    reports = {"compared": iodiag.compare(*(iodiag.read(CASES / name) for name in COMPARED))}
    _rows[:] = ["| case | what was done | what the report says |", "|---|---|---|"]
    for folder in sorted(path.parent for path in CASES.glob("*/case.toml")):
        report = reports[folder.name] = iodiag.analyze(folder)
        address = f"gallery/{folder.name}.html"
        files.append(File.generated(config, address, content=report.to_html()))
        done = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))["origin"].partition(": ")[2]
        screen = contents.document(report, False).screen
        said = f"**{screen.state}.** {wording.plain(screen.sentence)}"
        cells = (f"[{folder.name}]({address})", done, said)
        _rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    for name, kind in PICTURE.findall((Path(config.docs_dir) / CHARTS).read_text(encoding="utf-8")):
        drawn = (chart for charts in chart_files(reports[name], name, full=True).values() for chart in charts)
        chart = next(chart for chart in drawn if chart.name.endswith(f"-{kind}.png"))
        files.append(File.generated(config, f"images/{chart.name}", content=chart.png))
        _pictures[f"{name} {kind}"] = f"![{wording.visible(chart.description)}](images/{chart.name})"
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the table and the pictures where the pages want them."""
    if page.file.src_uri == CHARTS:
        return PICTURE.sub(lambda mark: _pictures[f"{mark[1]} {mark[2]}"], markdown)
    return markdown.replace(MARK, "\n".join(_rows)) if page.file.src_uri == PAGE else markdown
