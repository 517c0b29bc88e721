"""Puts the pages' templates into the wheel compiled, so that no report has to compile them."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledTemplates(BuildHookInterface):
    """Runs for the wheel; a tree that is used as it is compiles its templates when it needs them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compiles the templates and names them among the wheel's files."""
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root) / "src"))
        from iodiag.report import _templates

        self.folder = tempfile.TemporaryDirectory()
        for path in _templates.compile_into(Path(self.folder.name)):
            place = path.relative_to(self.folder.name)
            build_data["force_include"][str(path)] = f"iodiag/report/{place.as_posix()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Takes the compiled templates away again."""
        if version != "editable":
            self.folder.cleanup()
