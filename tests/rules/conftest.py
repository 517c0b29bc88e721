"""What every test of a rule needs: text in, report out."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import iodiag
from iodiag.model.report import Report
from iodiag.rules.selection import NOT_CHOSEN


def analyzed(text: str, *context: str, **options: Any) -> Report:
    """The report on a capture and on what was pasted beside it, each an input of its own.

    It has the outcomes of the rules that ran alone.
    """
    texts = {"capture.txt": text} | {f"context-{n}.txt": t for n, t in enumerate(context, 1)}
    captures = [iodiag.read(io.BytesIO(body.encode()), name=name) for name, body in texts.items()]
    report = iodiag.analyze(captures, **options)
    values = (value for f in report.findings for e in f.evidence for value in e.values.values())
    assert not any(isinstance(value, bool) for value in values), "a JSON report gives none back"
    return replace(report, outcomes=tuple(o for o in report.outcomes if o.reason != NOT_CHOSEN))


@pytest.fixture
def report_of() -> Callable[..., Report]:
    """`report_of(text, *context_texts, **options)`, the options being those of iodiag.analyze."""
    return analyzed
