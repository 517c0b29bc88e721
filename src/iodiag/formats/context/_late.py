"""Patterns that are compiled when they are first used.

The formats of context have two hundred, of which an input uses a few; to compile all takes longer than to
read a small capture.
"""

from __future__ import annotations

import re
from typing import Any, cast


class Late:
    """A pattern's text and flags; its methods are those of the compiled pattern."""

    def __init__(self, text: str, flags: re.RegexFlag) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.compiled(), name)
        # found without this function from now on
        setattr(self, name, value)
        return value

    def compiled(self) -> re.Pattern[str]:
        """The pattern itself."""
        return re.compile(self._text, self._flags)


def late(text: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Stands for `re.compile(text, flags)`; an error in the text shows when it is used."""
    return cast("re.Pattern[str]", Late(text, flags))
