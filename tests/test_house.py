"""The house keeps its own rules: who may import whom, how large things grow, what starts fast."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import iodiag

ROOT = Path(iodiag.__file__).parent
LAW = {
    "errors": set(),
    "model": {"errors", "model"},
    "sources": {"errors", "model", "sources"},
    "formats": {"errors", "model", "sources", "formats"},
    "derive": {"errors", "model", "derive"},
    "rules": {"errors", "model", "derive", "rules"},
    "report": {"errors", "model", "report"},
    "pipeline": {"errors", "model", "sources", "formats", "derive", "rules"},
    "comparison": {"errors", "model", "derive", "rules", "pipeline"},
    "fleet": {"errors", "model", "sources", "formats", "derive", "report", "pipeline", "fleet"},
    "anonymize": {"errors", "model", "anonymize"},
    "cli": {
        "errors",
        "anonymize",
        "model",
        "sources",
        "formats",
        "derive",
        "rules",
        "report",
        "pipeline",
        "comparison",
        "fleet",
        "cli",
    },
    "__init__": set(),
    "__main__": {"cli"},
}
OUTSIDE = {
    "errors": set(),
    "model": {"numpy", "pandas"},
    "sources": {"fsspec", "zstandard"},
    "formats": {"numpy", "pandas", "pyparsing"},
    "derive": {"numpy", "pandas"},
    "rules": {"numpy", "pandas"},
    "report": {"PIL", "jinja2", "markupsafe", "matplotlib", "rich"},
    "pipeline": {"pandas", "numpy"},
    "comparison": set(),
    "anonymize": set(),
    "fleet": {"distributed", "numpy", "pandas", "pyarrow", "rich"},
    "cli": {"click"},
    "__init__": set(),
    "__main__": set(),
}
MOST_LINES = {"rules": 200, "formats": 400}
FILES = sorted(ROOT.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports_of(tree: ast.Module) -> set[str]:
    """Modules imported at run time; what stands below TYPE_CHECKING is for the checker alone."""
    for_types: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for_types.update(child for part in node.body for child in ast.walk(part))
    found = set()
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_imports_only_what_its_layer_may(path):
    layer = layer_of(path)
    for module in imports_of(ast.parse(path.read_text())):
        top, *rest = module.split(".")
        if top == "iodiag":
            target = rest[0] if rest else "__init__"
            is_report = path.name in ("report.py", "fleet.py") and layer == "model"
            is_rendering = is_report and target == "report"
            is_version = target == "__init__"
            assert target in LAW[layer] or is_rendering or is_version, f"{path} imports {module}"
        elif top not in sys.stdlib_module_names:
            assert top in OUTSIDE[layer], f"{path} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_stay_small(path):
    text = path.read_text()
    assert len(text.splitlines()) <= MOST_LINES.get(layer_of(path), 500)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            is_command = any("command" in ast.unparse(d) for d in node.decorator_list)
            size = (node.end_lineno or node.lineno) - node.body[0].lineno + 1
            assert size <= (70 if is_command else 50), f"{path}:{node.lineno} {node.name} has {size} lines"


@pytest.mark.parametrize(("folder", "name"), [("formats", "FORMAT"), ("rules", "RULE")])
def test_one_public_module_holds_one_format_or_rule(folder, name):
    for path in (ROOT / folder).glob("[!_]*.py"):
        targets = [
            target.id
            for node in ast.parse(path.read_text()).body
            if isinstance(node, (ast.Assign, ast.AnnAssign))
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        ]
        assert targets.count(name) == 1, path


def test_a_rules_id_is_its_file_and_its_page_is_whole():
    from iodiag.rules import all_rules, page

    for rule in all_rules().values():
        assert rule.detect.__module__ == f"iodiag.rules.{rule.id.replace('-', '_')}"
        text = page(rule.id)
        for part in ("What it detects", "Why it matters", "When it is wrong", "References"):
            assert part in text, f"{rule.id} lacks {part!r}"
        assert rule.title
        assert rule.remedy
        for threshold in rule.thresholds.values():
            assert threshold.source
            assert threshold.meaning


def test_precedence_names_rules_that_exist():
    from iodiag.rules import _precedence, all_rules

    for table in (_precedence.REPLACES, _precedence.EXPLAINS):
        assert {*table, *(loser for losers in table.values() for loser in losers)} <= set(all_rules())


def test_help_imports_nothing_heavier_than_click():
    code = (
        "import sys\n"
        "from iodiag.cli import cli\n"
        "cli.main(['--help'], standalone_mode=False)\n"
        "print('MODULES', *sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.rsplit("MODULES", 1)[1].split())
    third_party = {
        name
        for name in loaded
        if name not in sys.stdlib_module_names and not name.startswith(("_", "sitecustomize"))
    }
    assert third_party <= {"iodiag", "click", "colorama"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("analyze", "cases/raid5-small-writes"),
        ("analyze", "cases/commit-stall"),
        ("analyze", "sar/12.7.7-du-iso.txt"),
        ("analyze", "sa/0x2175-sysstat-12.6.1.bin"),
        ("analyze", "iostat-json/12.5.2-xs.json"),
        ("inspect", "cases/raid5-small-writes/iostat.txt"),
    ],
    ids=" ".join,
)
def test_a_capture_is_read_judged_and_told_without_pandas_and_matplotlib(arguments):
    command, name = arguments
    samples = str(Path(__file__).parents[1] / "samples" / name)
    code = (
        "import sys\n"
        "from iodiag.cli import cli\n"
        f"cli.main({[command, samples]}, standalone_mode=False)\n"
        "print('HEAVY', *sorted({'pandas', 'matplotlib', 'jinja2', 'pyarrow'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY"


def test_public_names_are_complete():
    for name in iodiag.__all__:
        assert getattr(iodiag, name) is not None
    assert not [name for name in iodiag.__all__ if name not in dir(iodiag)]
