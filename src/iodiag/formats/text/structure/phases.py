"""Phases of a text: reports of one tool under different words, as in "Before:" and "With the patch:"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.text.rows.single_row_parser import is_kernel_name
from iodiag.formats.text.structure.banners import Command
from iodiag.formats.text.structure.blocks import CLASS, Walk

LABEL_LENGTH = 60
MOST_LINES = 20
"""Of the words between two reports, so many of the last lines count."""

_WORD = re.compile(r"[^\W\d_]{2,}")
_PROMPT = re.compile(r"\[?[\w.-]{1,64}@[^#$]{1,128}[#$]\s")
_NUMBER = re.compile(r"\d+")
_VERSION_OR_NUMBER = re.compile(r"((?:linux|kernel)\W+\d[\w.+-]*)|\d+", re.I)
# what pagers, editors and shells put between the lines of a capture, and what is left of a row
_PAGER = r"-{2,}\s?\w+\s?-{2,}(?:\(\d+%\))?|\(?END\)?|lines \d+-\d+.*|page \d+(?: of \d+)?"
_FENCE = r"(?:`{3,}|~{3,})\s?\w*|(?:\[/?\w+\]|</?\w+>|\{\w+(?::\w+)?\})+"
_CUT_ROW = r"\d\d?:\d\d:\d\d(?:\s[AP]M)?\s+\S+"
_NO_WORDS = re.compile(f"{_PAGER}|{_FENCE}|{_CUT_ROW}", re.I)
_MOST_OF_A_PROMPT = 3
_MOST_NUMBERS = 2
_LONGEST_MARK = 300


def is_prose(line: str) -> bool:
    """Whether a line that is nothing else holds words of whoever wrote the text."""
    bare = line.strip()
    if len(bare) <= _LONGEST_MARK:
        is_prompt = bare.endswith(("$", "#", "%")) and len(bare.split()) <= _MOST_OF_A_PROMPT
        if is_prompt or _NO_WORDS.fullmatch(bare) or is_kernel_name(bare):
            return False
    return bool(_WORD.search(bare))


def label_of(found: Walk, lines: Sequence[int], command: Command | None) -> str:
    """What names a phase: the last paragraph of the words above it, else its command, else what is there.

    `command` is the one that begins it, if any; it goes before rows of numbers that another program printed.
    """
    worded = [line for line in lines if _WORD.search(found.text.line(line))]
    if command is not None and all(_is_of_program(found, line) for line in worded):
        return cut(" ".join((command.tool, *command.words)))
    worded = worded or list(lines[-1:])
    first = len(worded) - 1
    while first > 0 and worded[first] - worded[first - 1] == 1:
        first -= 1
    paragraph = [found.text.line(line).strip() for line in worded[first:]]
    if paragraph and paragraph[-1].endswith(":"):
        paragraph = _sentence(found, worded[-1])
    return cut(" ".join(paragraph))


def _is_of_program(found: Walk, index: int) -> bool:
    """Whether a line runs a program such as `top`, or is what it prints: without a blank line below a prompt.

    So is one several of whose words are numbers.
    """
    words = found.text.words(index)
    if words[-1].endswith(":"):
        return False
    if sum(word[0].isdigit() for word in words) > _MOST_NUMBERS:
        return True
    for above in range(index, max(index - MOST_LINES, -1), -1):
        if found.text.is_blank[above] or found.classes[above] == CLASS["header"]:
            return False
        if _PROMPT.match(found.text.line(above).strip()):
            return True
    return False


def _sentence(found: Walk, last: int) -> list[str]:
    """The lines of a sentence that ends on a line: a small letter goes on from the line of words above."""
    lines = [found.text.line(last).strip()]
    while last > 0 and lines[0][:1].islower():
        last -= 1
        above = found.text.line(last).strip()
        is_row = len(_NUMBER.findall(above)) > _MOST_NUMBERS
        if is_row or not is_prose(above) or above.endswith((".", ":", ";", "!", "?")):
            break
        lines.insert(0, above)
    return lines


_HOST = re.compile(
    r"(?:(?i:on|from) )?(?:(?i:the) )?"
    r"((?i:system|host|server|node|machine|vm|guest|virtual|physical)[ -]?#?(?:\d{1,4}|[A-Za-z]))"
    r"(?::|(?: (?:[A-Z]|v?\d)[\w.-]*){1,4}:)?"
)
_OTHER_HOST = re.compile(
    r"(?:(?i:on|from) )?(?:(?i:all|the|an) ?)*((?i:other (?:node|host|server|machine|vm|guest|system)s?)):?"
)
_IN_BRACKETS = re.compile(r"\(([^(),]{1,40})(?:, [^()]{1,60})?\)")
_RUN = re.compile(r"\s*[#$>%]\s*\S")


def host_heading(found: Walk, index: int) -> str:
    """The host that a line of words alone names, as "System 1:" and "Other nodes:" do; "" for no heading.

    What runs there may follow its name, as in "Server1 Ubuntu 14:": capitalised words and versions alone.
    A name that stands above with or without a space is spelled as there. Where one stands in brackets, and
    keeps them here, so does the next: any words in brackets above a prompt.
    """
    line = found.text.line(index).strip(" \t*#=-")
    above = [origin.heading for origin in found.origins]
    bracketed = _IN_BRACKETS.fullmatch(line)
    words = bracketed[1] if bracketed else line
    named = _HOST.fullmatch(words) or _OTHER_HOST.fullmatch(words)
    if named is None:
        below = found.text.line(index + 1) if index + 1 < len(found.text) else ""
        is_next = bracketed is not None and any(heading.startswith("(") for heading in above)
        return f"({bracketed[1]})" if bracketed and is_next and _RUN.match(below) else ""
    name = f"({named[1]})" if bracketed else named[1]
    return next((other for other in above if other.replace(" ", "") == name.replace(" ", "")), name)


def cut(words: str) -> str:
    """Words on one line, none of them beyond the length of a label."""
    words = " ".join(words.split())
    return words if len(words) <= LABEL_LENGTH else words[: LABEL_LENGTH - 1].rstrip() + "…"


def wording(found: Walk, lines: Sequence[int]) -> tuple[str, ...]:
    """The words by which one phase is told from the next.

    A line of many numbers is a program's, such as the load that `top` prints: its numbers do not count, but
    for a kernel's version.
    """
    texts = [found.text.line(line).strip() for line in lines]
    return tuple(
        _VERSION_OR_NUMBER.sub(lambda at: at[1] or "0", text)
        if len(_NUMBER.findall(text)) > _MOST_NUMBERS
        else text
        for text in texts
    )
