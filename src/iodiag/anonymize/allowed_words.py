"""Which words stay as they are: those that tools print on every host, and in sentences those of iodiag.

Both are lists of what is allowed, allowed_words.txt and the package's own texts: any other word may be
somebody's. In a quoted line it hides the rest of the line, in a sentence it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_WORDS = frozenset(files("iodiag.anonymize").joinpath("allowed_words.txt").read_text("utf-8").split())
_SHAPES = re.compile(
    r"""
    [a-z]                                              # one letter names nobody
    | raid(0|1|4|5|6|10)(_\w{1,3})? | [rwd]p?(50|90|95|99|999)? | [uaf_]{2,}
    | \d+([kmgtpe]i?b?|b|s|ms|us|ns|m|min|h|d|x|e|p|th|st|nd|rd)
    | v?\d+(rc|beta|p)\d+ | [a-z]?x?\d{1,2}k? | 0x\d{1,4}
    """,
    re.VERBOSE | re.IGNORECASE,
)
_RELEASE = re.compile(
    r"\d+|(el|fc|deb|bpo|lp|amzn|cm|ubuntu|uek|rc|pve|azl|oe)\d*|x86|64|amd64|i686|aarch64|arm64|ppc64le|s390x"
    r"|generic|default|cloud|lts|aws|azure|gcp|kvm|rt|rpi|virtual|server|lowlatency|debug|desktop",
    re.IGNORECASE,
)

_TIME = re.compile(r"\d+(T\d+|Z)", re.IGNORECASE)
_DOCSTRING = re.compile(r'""".*?"""', re.DOTALL)
_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_FILLED_IN = re.compile(r"\{[^{}]*\}")


def is_plain(word: str) -> bool:
    """Whether a word is one that tools print, or a number with its unit."""
    return word.isdigit() or word.lower() in _WORDS or _SHAPES.fullmatch(word) is not None


def release_of(kernel: str) -> str:
    """A kernel's release up to the first part that somebody may have chosen himself."""
    kept = ""
    for separator, part in re.findall(r"([-+._~]?)([^-+._~]*)", kernel):
        if part and not _RELEASE.fullmatch(part):
            return f"{kept}{separator}…"
        kept += separator + part
    return kept


def is_own(word: str) -> bool:
    """Whether a word is one that sentences of iodiag are made of, or a time."""
    return word.lower() in _own_words() or _TIME.fullmatch(word) is not None


@cache
def _own_words() -> frozenset[str]:
    """The words of all texts in the package's modules, without what is filled in."""
    return frozenset(
        word.lower()
        for module in _modules(files("iodiag"))
        for text in _LITERAL.findall(_DOCSTRING.sub("", module.read_text("utf-8")))
        for word in re.findall(r"[^\W_]+", _FILLED_IN.sub(" ", text))
    )


def _modules(folder: Traversable) -> Iterator[Traversable]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _modules(entry)
        elif entry.name.endswith(".py"):
            yield entry
