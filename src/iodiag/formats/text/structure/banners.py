"""The little grammars of sysstat's own lines: the banner and the visible command.

Built once, on first use; they run on the few lines that look the part, never on rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import pyparsing as pp

from iodiag.formats.clock import DATE

TOOLS = ("iostat", "sar", "vmstat", "mpstat", "sadf", "pidstat")

# in figures, or as in India: Thursday 04 September 2014
_NAMED_DATE = r"(?:[^\W\d_]{2,12},?\s+)?\d{1,2}\s+[^\W\d_]{3,12}\s+\d{4}"
_DATE = f"(?:{DATE}|{_NAMED_DATE})"


class Banner(NamedTuple):
    """The first line of a sysstat report: `Linux 5.14.0 (host) 11/20/26 _x86_64_ (2 CPU)`."""

    kernel: str
    host: str
    date: str
    cpus: int | None


@dataclass(frozen=True)
class Command:
    """A command that stands in a capture: its tool, its words, and the interval it asks for.

    `when` is the time that `watch` prints beside it. `is_excerpt` is set where the words behind it say that
    only a part of what it printed follows, `is_loop` where a shell runs it again and again.
    """

    tool: str
    words: tuple[str, ...]
    interval_s: float | None
    count: int | None
    when: str = ""
    is_excerpt: bool = False
    is_loop: bool = False

    def has_flag(self, letter: str) -> bool:
        """Whether a one-letter option is given, alone or bundled (`-xy`)."""
        return any(re.fullmatch(rf"-[A-Za-z]*{letter}[A-Za-z]*", word) for word in self.words)


@cache
def _banner_grammar() -> pp.ParserElement:
    space = pp.Suppress(pp.Optional(pp.White(" \t")))
    sysname = pp.Word(pp.alphas + "-")
    kernel = pp.Word(pp.printables)("kernel")
    host = pp.Optional(pp.Suppress("(") + pp.Regex(r"[^()]*")("host") + pp.Suppress(")"))
    date = pp.Regex(_DATE)("date")
    arch = pp.Optional(pp.Regex(r"_[\w-]+?_?(?=[\s(]|$)")("arch"))
    cpus = pp.Optional(pp.Suppress("(") + pp.Word(pp.nums)("cpus") + pp.Suppress("CPU") + pp.Suppress(")"))
    return sysname + kernel + host + date + space + arch + cpus


_LOOKS_LIKE_BANNER = re.compile(rf"^\s*[A-Z][A-Za-z/-]{{2,20}}\s+\S{{1,80}}\s.{{0,200}}?{_DATE}")
_UNDATED_BANNER = re.compile(
    r"\s*Linux\s+(?P<kernel>\d\.\d\S{0,80})(?:\s+\((?P<host>[^()]{0,200})\))?(?:\s+_\w{1,20}_)?"
    r"(?:\s+\((?P<cpus>\d{1,6}) CPU\))?\s*"
)
_REST_OF_BANNER = re.compile(r"\s*(?:_\S+_\s+)?\(\d+ CPU\)\s*")


def is_rest_of_banner(text: str) -> bool:
    """Whether a line is the end of a banner that mail has wrapped."""
    return bool(_REST_OF_BANNER.fullmatch(text))


def banner(text: str) -> Banner | None:
    """The banner that a line holds, or None."""
    if len(text) > 400 or not _LOOKS_LIKE_BANNER.match(text):
        return None
    try:
        found = _banner_grammar().parse_string(text).as_dict()
    except pp.ParseException:
        return None
    may_be_prose = re.fullmatch(_NAMED_DATE, found["date"]) is not None
    if not ("arch" in found or ("host" in found and not may_be_prose)):
        return None
    cpus = int(found["cpus"]) if "cpus" in found else None
    return Banner(found["kernel"], found.get("host", "").strip(), found["date"], cpus)


def undated_banner(text: str) -> Banner | None:
    """A banner whose date was cut off; where no header follows, such words are just a kernel's version."""
    found = _UNDATED_BANNER.fullmatch(text) if len(text) <= 400 else None
    if not found:
        return None
    cpus = int(found["cpus"]) if found["cpus"] else None
    return Banner(found["kernel"], (found["host"] or "").strip(), "", cpus)


@cache
def _command_grammar() -> pp.ParserElement:
    sign = r"(?:[$#%➜:]|~|\]|\b(?:ba|c|k)?sh(?:ell)?>)"
    prompt = pp.Optional(pp.Suppress(pp.Regex(rf".{{0,120}}?{sign}>?\s+(?=(?:sudo\s|\S*/)?\w)")))
    before = r"sudo|nohup|watch|env|stdbuf\s+-\S+|timeout\s+[\d.]+[smh]?|time|[A-Z_][A-Z0-9_]*=\S*"
    wrapper = pp.Suppress(pp.ZeroOrMore(pp.Regex(before)))
    tool = pp.Regex(r"(?:/\S*/)?(?:" + "|".join(TOOLS) + r")\b")("tool")
    word = pp.Regex(
        r"-{1,2}[A-Za-z][\w=,:.{}-]*|\d{1,2}(?::\d\d){1,2}|\d+(?:\.\d+)?(?![\w>])|[A-Za-z_/{}$][\w/{},.:*$-]*"
    )
    words = pp.ZeroOrMore(word)("words")
    end = pp.Suppress(pp.Optional(pp.Regex(r"(?:\d?>|[|;&`:)\"'(]).*"))) + pp.StringEnd()
    return (prompt + wrapper + tool + words + end) | (wrapper + tool + words + end)


_NAMES_TOOL = re.compile(r"\b(?:" + "|".join(TOOLS) + r")\b")
_COLLECTED = re.compile(r"#\s*Collection Command:\s*(?=/|\w)")  # ExaWatcher
_BULLET = re.compile(r"[-*+•]\s|\d[.)]\s")  # of a list in notes
# a prompt and other commands above it on the line, as in `root@db1:~# dd … & iostat -x 1`; without a prompt
# the other has what no sentence has: an option, a path or a value
_BEHIND_ANOTHER = re.compile(
    r"(?:\[?[\w.-]{1,64}@[^#$]{1,64}[#$]\s.{1,250}?[;&|]\s{1,4}|"
    r"(?:[#$]\s)?(?:/[\w/.-]{1,60}/)?[a-z][\w.-]{0,30}\s(?=[^;&|]{0,250}(?:\w=\S|\s-\w|\S/\S))"
    r"[^;&|]{1,250}(?:;|&&?|\|\|?)\s{1,4}(?=\w{1,8}\s-))(?=(?:" + "|".join(TOOLS) + r")\s)"
)
_LOOP = re.compile(
    r".{0,120}?\b(?:while|until|for)\s.{1,120}?[;\s]do\s(?:.{0,120}?[;&\s])?(?=(?:/\S{1,80}/)?(?:"
    + "|".join(TOOLS)
    + r")\s)"
)
_WATCH = re.compile(r"\s*Every [\d.,]{1,12}s: (?P<command>\S.*?)(?:\s{2,}(?:\S+: )?(?P<when>\S.*))?")
# what a shell shows at the right edge, or a comment in a column of its own
_BESIDE = re.compile(r"(?P<command>.*\S)\s{3,}\S")
_IN_A_SENTENCE = re.compile(r"\s*`[^`]+`\W*\w+\W+\w")
_EXCERPT = re.compile(
    r"excerpt|snippet|\bpart(?:ial|s)?\b|some of|extract|trimmed|…|\.{3}|部分|节选|摘[录要]|抜粋|일부|auszug"
)
_NAMES_DEVICE = re.compile(r"\d|[{/]|sd|hd|vd|all|ALL|DEV|CPU")


def names_tool(text: str) -> bool:
    """Whether a line has the name of one of sysstat's tools in it."""
    return bool(_NAMES_TOOL.search(text))


def command(text: str) -> Command | None:
    """The sysstat command that a line shows, after a prompt or alone; None for prose about one."""
    if len(text) > 300 or not names_tool(text) or text.rstrip(" .").endswith("not found"):
        return None  # what a shell says of a tool that is not there is no run of it
    stripped = _COLLECTED.sub("", text).strip()
    stripped = stripped[2:] if _BULLET.match(stripped) else stripped
    stripped = stripped.strip().strip("`")
    if loop := _LOOP.match(stripped):
        again = command(f"$ {stripped[loop.end() :]}")
        return again and replace(again, is_loop=True)
    watched = _WATCH.fullmatch(stripped)
    stripped = watched["command"] if watched else stripped
    try:
        found = _command_grammar().parse_string(stripped)
    except pp.ParseException:
        behind = _BEHIND_ANOTHER.match(stripped)
        if behind:
            return command(f"$ {stripped[behind.end() :]}")
        aside = _BESIDE.match(stripped)
        return command(aside["command"]) if aside else None
    words = tuple(found["words"]) if "words" in found else ()
    tool = found["tool"].rsplit("/", 1)[-1]
    is_bare = bool(re.match(r"\s*(?:sudo\s+)?(?:/\S*/)?" + tool + r"\b", stripped)) and not watched
    options = [w for w in words if w.startswith("-")]
    numbers = [w for w in words if _PLAIN_NUMBER.fullmatch(w)]
    plain = [w for w in words if w not in options and w not in numbers]
    # "iostat reports …" and "iostat:" are prose; a command has options, numbers or a prompt, or stands alone
    is_heading = bool(plain) or stripped.endswith(":") or "(" in stripped
    if is_bare and not (options or numbers) and is_heading:
        return None
    if is_bare and not options and not all(map(_NAMES_DEVICE.search, plain)):
        return None  # "iostat from Intel 3710"
    if len(plain) > 3 and not _NAMES_DEVICE.search(" ".join(plain)):
        return None
    trailing = _trailing_numbers(words)
    # a sentence that names a tool need not name how long it ran: that is no run without an interval
    if not trailing and _IN_A_SENTENCE.match(text):
        return None
    return Command(
        tool=tool,
        words=words,
        interval_s=float(trailing[0]) if trailing and float(trailing[0]) > 0 else None,
        count=int(float(trailing[1])) if len(trailing) > 1 else None,
        when=watched["when"] or "" if watched else "",
        is_excerpt=is_bare and bool(_EXCERPT.search(stripped.lower())),
    )


_PLAIN_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
_TAKES_NUMBER = frozenset(("-P", "-I", "-i", "-f", "-o", "-g"))


def _trailing_numbers(words: tuple[str, ...]) -> list[str]:
    """The interval and count of a command; `-P 0` and the like belong to their option."""
    found: list[str] = []
    previous = ""
    for word in words:
        if _PLAIN_NUMBER.fullmatch(word):
            if previous not in _TAKES_NUMBER:
                found.append(word)
        elif found and not word.startswith("-"):
            break
        previous = word
    return found
