"""What rules see of a capture given as text."""

from __future__ import annotations

import io

import iodiag
from iodiag.analysis.view.view import View
from iodiag.judging.options import Options
from iodiag.judging.run import prepared


def views_of(*texts: str) -> list[View]:
    """The view of each host in some texts, each an input of its own."""
    captures = [
        iodiag.read(io.BytesIO(text.encode()), name=f"input-{number}.txt")
        for number, text in enumerate(texts, 1)
    ]
    return prepared(captures, Options())[1]


def view_of(*texts: str) -> View:
    """The view of the only host in some texts."""
    (view,) = views_of(*texts)
    return view
