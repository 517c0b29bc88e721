"""Which words of a quoted line stay as they are: those that tools print on every host.

The list is in allowed_words.txt: any other word may be somebody's, and hides the rest of its line.
"""

from __future__ import annotations

import re
from importlib.resources import files

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
