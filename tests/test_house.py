"""The house keeps its own rules: who may import whom, how large functions grow, what starts fast."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import iodiag

ROOT = Path(iodiag.__file__).parent
LAW = {
    "errors": set(),
    "table": set(),
    "model": {"table"},
    "sources": {"model"},
    "formats": {"model", "table", "sources"},
    "hosts": {"model", "table"},
    "analysis": {"model", "table"},
    "rules": {"model", "table", "analysis"},
    "verdict": {"model", "analysis"},
    "report": {"model"},
    "reading": {"model", "table", "sources", "formats", "hosts"},
    "judging": {"model", "formats", "hosts", "analysis", "rules", "verdict", "anonymize"},
    "comparison": {"model", "table", "analysis", "rules", "judging"},
    "api": {"model", "sources", "hosts", "reading", "judging", "comparison", "anonymize"},
    "fleet": {
        *(
            "model",
            "table",
            "sources",
            "formats",
            "hosts",
            "analysis",
            "rules",
            "reading",
            "judging",
            "report",
            "anonymize",
        )
    },
    "anonymize": {"model", "table"},
    "cli": {"model", "sources", "formats", "rules", "report", "judging", "api", "fleet", "anonymize"},
    "__init__": set(),
    "__main__": {"cli"},
}
"""What a room may import besides itself and `errors`."""

OUTSIDE = {
    "table": {"numpy", "pandas"},
    "model": {"numpy", "pandas"},
    "sources": {"fsspec", "zstandard"},
    "formats": {"numpy", "pandas", "pyparsing"},
    "hosts": {"numpy", "pandas"},
    "analysis": {"numpy", "pandas"},
    "rules": {"numpy"},
    "verdict": {"numpy"},
    "report": {"PIL", "jinja2", "markupsafe", "matplotlib", "rich"},
    "judging": {"pandas"},
    "comparison": {"numpy", "pandas"},
    "fleet": {"distributed", "numpy", "pandas", "pyarrow", "rich"},
    "cli": {"click"},
}
MOST_LINES_OF_A_FUNCTION = 50
MOST_LINES_OF_A_COMMAND = 70
"""A command's function lists its options, too."""

ORDER_OF_ANALYSIS = ("measure", "view", "states", "array", "host", "load")
"""Each room of `analysis` imports only those before it."""

ROOMS_OF_FORMATS = ("context", "exports", "sa", "tables")
ROLES = ("causes", "context", "elsewhere", "readings", "symptoms")


@pytest.fixture(scope="module")
def trees():
    """Every file of the package by its path below the package."""
    return {path.relative_to(ROOT): ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}


def imports_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Modules and names imported at run time; what stands below TYPE_CHECKING is for the checker alone."""
    for_types = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for part in node.body
        for child in ast.walk(part)
    }
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def test_a_room_imports_only_what_the_law_names(trees):
    offenders = []
    for path, tree in trees.items():
        room = path.parts[0].removesuffix(".py")
        for module, _ in imports_of(tree):
            top, *rest = module.split(".")
            if top == "iodiag":
                target = rest[0] if rest else "__init__"
                # a Report renders itself: its methods import the renderer, the renderer the Report
                is_rendering = (
                    room == "model" and path.name in ("report.py", "fleet.py") and target == "report"
                )
                if target not in LAW[room] | {room, "errors", "__init__"} and not is_rendering:
                    offenders.append(f"{path} imports {module}")
            elif top not in sys.stdlib_module_names and top not in OUTSIDE.get(room, set()):
                offenders.append(f"{path} imports {module}")
    assert not offenders


def test_the_rooms_of_analysis_import_in_one_order(trees):
    offenders = [
        f"{path} imports {module}"
        for path, tree in trees.items()
        if path.parts[0] == "analysis" and len(path.parts) > 2
        for module, _ in imports_of(tree)
        if module.startswith("iodiag.analysis.")
        if module.split(".")[2] not in ORDER_OF_ANALYSIS[: ORDER_OF_ANALYSIS.index(path.parts[1]) + 1]
    ]
    assert not offenders


def test_no_private_module_is_imported_from_another_package(trees):
    modules = {".".join(["iodiag", *path.with_suffix("").parts]) for path in trees}
    offenders = []
    for path, tree in trees.items():
        package = ".".join(["iodiag", *path.parts[:-1], ""])
        for module, name in imports_of(tree):
            target = f"{module}.{name}" if f"{module}.{name}" in modules else module
            parts = target.split(".")
            owners = [".".join([*parts[:at], ""]) for at, part in enumerate(parts) if re.match("_[^_]", part)]
            if any(not package.startswith(owner) for owner in owners):
                offenders.append(f"{path} imports {target}")
    assert not offenders


def test_functions_stay_small(trees):
    offenders = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                is_command = any("command" in ast.unparse(d) for d in node.decorator_list)
                size = (node.end_lineno or node.lineno) - node.body[0].lineno + 1
                if size > (MOST_LINES_OF_A_COMMAND if is_command else MOST_LINES_OF_A_FUNCTION):
                    offenders.append(f"{path}:{node.lineno} {node.name} has {size} lines")
    assert not offenders


def test_no_module_binds_a_name_twice(trees):
    """The second value replaces the first in all functions, also in those written for the first."""
    offenders = []
    for path, tree in trees.items():
        bound = Counter(
            target.id
            for node in tree.body
            if isinstance(node, (ast.Assign, ast.AnnAssign))
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        )
        offenders += [f"{path} binds {name}" for name, times in bound.items() if times > 1]
    assert not offenders


def test_every_package_says_what_belongs_there(trees):
    packages = {path.parent for path in trees}
    silent = [
        str(p)
        for p in packages
        if (p / "__init__.py") not in trees or not ast.get_docstring(trees[p / "__init__.py"])
    ]
    assert not silent


@pytest.mark.parametrize(
    ("folder", "rooms", "name"), [("formats", ROOMS_OF_FORMATS, "FORMAT"), ("rules", ROLES, "RULE")]
)
def test_one_public_module_holds_one_format_or_rule(folder, rooms, name, trees):
    offenders = []
    for path, tree in trees.items():
        is_module = len(path.parts) == 3 and not path.name.startswith("_")
        is_folder = len(path.parts) == 4 and path.name == "__init__.py"
        if path.parts[0] != folder or path.parts[1] not in rooms or not (is_module or is_folder):
            continue
        targets = [
            target.id
            for node in tree.body
            if isinstance(node, (ast.Assign, ast.AnnAssign))
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        ]
        if targets.count(name) != 1:
            offenders.append(str(path))
    assert not offenders


def test_a_rules_id_is_its_file_and_its_page_is_whole():
    from iodiag.rules import all_rules, page

    offenders = []
    for rule in all_rules().values():
        if rule.detect.__module__.split(".")[-1] != rule.id.replace("-", "_"):
            offenders.append(f"{rule.id} lies in {rule.detect.__module__}")
        parts = ("What it detects", "Why it matters", "When it is wrong", "References")
        offenders += [f"{rule.id} lacks {part!r}" for part in parts if part not in page(rule.id)]
        if not (rule.title and rule.remedy):
            offenders.append(f"{rule.id} lacks a title or a remedy")
        offenders += [
            f"{rule.id}.{name} lacks its source or meaning"
            for name, threshold in rule.thresholds.items()
            if not (threshold.source and threshold.meaning)
        ]
    assert not offenders


def test_a_rules_role_is_its_room():
    from iodiag.rules import ROOMS, all_rules

    offenders = [
        f"{rule.id} in {rule.detect.__module__} is a {rule.role}"
        for rule in all_rules().values()
        if rule.role != ROOMS[rule.detect.__module__.split(".")[2]]
    ]
    assert not offenders


def test_rules_explain_and_replace_rules_that_exist_and_never_in_a_circle():
    from iodiag.rules import all_rules
    from iodiag.rules.precedence import named_by

    rules = list(all_rules().values())
    known = {rule.id for rule in rules}
    offenders = []
    for relation in (lambda rule: rule.explains, lambda rule: rule.replaces):
        counted = named_by(rules, relation)
        for rule in rules:
            offenders += [
                f"{rule.id} names {name!r}" for name in relation(rule) if name not in {*known, "symptom"}
            ]
            offenders += [
                f"{rule.id} and {name} name each other in a circle"
                for name in known.intersection(relation(rule))
                if rule.id not in counted[name]
            ]
    assert not offenders


def test_no_rule_is_named_outside_of_the_rules(trees):
    """What a rule is to the others it says itself: whoever lists rules must be edited for each new one."""
    from iodiag.rules import all_rules

    offenders = [
        f"{path}:{node.lineno} names {node.value}"
        for path, tree in trees.items()
        if path.parts[0] != "rules"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in all_rules()
    ]
    assert offenders == []


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


LIGHT = (
    ("analyze", "cases/raid5-small-writes"),
    ("analyze", "cases/commit-stall"),
    ("analyze", "sar/12.7.7-du-iso.txt"),
    ("analyze", "sa/0x2175-sysstat-12.6.1.bin"),
    ("analyze", "iostat-json/12.5.2-xs.json"),
    ("inspect", "cases/raid5-small-writes/iostat.txt"),
)
"""Commands that load no heavy library."""


def test_a_capture_is_read_judged_and_told_without_pandas_and_matplotlib():
    samples = Path(__file__).parents[1] / "samples"
    code = (
        "import sys\n"
        "from iodiag.cli import cli\n"
        f"for words in {[[command, str(samples / name)] for command, name in LIGHT]}:\n"
        "    cli.main(words, standalone_mode=False)\n"
        "    print('HEAVY', *sorted({'pandas', 'matplotlib', 'jinja2', 'pyarrow'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = [line for line in done.stdout.splitlines() if line.startswith("HEAVY")]
    assert heavy == ["HEAVY"] * len(LIGHT)


def test_reading_loads_nothing_that_judges():
    sample = str(Path(__file__).parents[1] / "samples" / "cases" / "raid5-small-writes")
    code = (
        f"import sys, iodiag\niodiag.read({sample!r})\n"
        "print(*sorted({name.split('.')[1] for name in sys.modules if name.startswith('iodiag.')}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"reading", "formats"} <= loaded
    assert not loaded & {"analysis", "rules", "verdict", "comparison", "report", "fleet"}


def test_public_names_are_complete():
    for name in iodiag.__all__:
        assert getattr(iodiag, name) is not None
    assert not [name for name in iodiag.__all__ if name not in dir(iodiag)]
