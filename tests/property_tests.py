"""How many examples a property test tries: a quarter of them in the default run, all in the slow one."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

FEWEST = 5


def load_profile(is_whole: bool) -> None:
    """Set the number for tests that state none; a busy machine makes no test fail."""
    settings.register_profile("iodiag", deadline=None, max_examples=100 if is_whole else 25)
    settings.load_profile("iodiag")


def examples(whole: int, fewest: int = FEWEST, **more: Any) -> settings:
    """The settings of a test that tries so many examples in the slow run, and `fewest` at least in any."""
    return settings(max_examples=max(fewest, whole * settings.default.max_examples // 100), **more)
