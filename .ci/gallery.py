"""Hook of mkdocs: the reports of the gallery, its table, and the rules in the sidebar, made from the code.

Nothing that this writes is stored in the repository.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import iodiag
from iodiag.model.finding import ROLES
from iodiag.report import contents, wording
from iodiag.rules import all_rules

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

CASES = Path(__file__).parents[1] / "samples" / "cases"
PAGE, MARK = "gallery.md", "<!-- the table is made by .ci/gallery.py -->"
_rows: list[str] = []


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
    """Analyze every worked case and add its report as a page of its own."""
    from mkdocs.structure.files import File

    _rows[:] = ["| case | what was done | what the report says |", "|---|---|---|"]
    for folder in sorted(path.parent for path in CASES.glob("*/case.toml")):
        report = iodiag.analyze(folder)
        address = f"gallery/{folder.name}.html"
        files.append(File.generated(config, address, content=report.to_html()))
        done = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))["origin"].partition(": ")[2]
        screen = contents.document(report, False).screen
        said = f"**{screen.state}.** {wording.plain(screen.sentence)}"
        cells = (f"[{folder.name}]({address})", done, said)
        _rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the table where the page wants it."""
    return markdown.replace(MARK, "\n".join(_rows)) if page.file.src_uri == PAGE else markdown
