"""Names to pseudonyms, and texts with the names in them replaced."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from iodiag.anonymize.allowed_words import is_own, is_plain
from iodiag.anonymize.collect_names import (
    Name,
    groups_of,
    is_kernel_name,
    judged_kind,
    kind_of_device,
    of_device,
    part_of,
)
from iodiag.model.topology import device_names

_IP = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d)")
_WORD = re.compile(r"[^\W_]+")
_HEAD = 3
_MARKED_KINDS = ("host", "file", "group")
"""What sentences always put in backticks, or before a line's number, so that a word of theirs is none."""


class Pseudonyms:
    """The pseudonyms of one run: `host-1`, `disk-3`; with a key `host-5f0c21d4`, the same in every run.

    With a key a pseudonym is the beginning of the HMAC-SHA256 of the name, so that who has no key cannot
    try names out. `is_judged_under`: sentences are composed of pseudonyms, but for the kernel's names.
    """

    def __init__(self, names: Iterable[Name] = (), key: str | None = None) -> None:
        self.key = key
        self.is_judged_under = False
        self._inputs: list[str] = []
        self._of: dict[str, str] = {}
        self._of_folded: dict[str, str] = {}
        self._count: dict[str, int] = {}
        self._taken: set[str] = set()
        self._made: dict[str, set[bool]] = {}
        self._borrowed: set[str] = set()
        self._marked_only: set[str] = set()
        self._finders: dict[bool, _Finder] = {}
        self.add(names)

    def add(self, names: Iterable[Name]) -> None:
        """Give pseudonyms to more names; those that have one keep it."""
        found = list(names)
        wanted = [*found, *(Name("group", (g,)) for name in found for g in groups_of(name))]
        # no pseudonym may be another thing's name
        self._taken |= {_folded(s) for name in wanted for s in (*name.spellings, *name.parts)}
        for name in wanted:
            self._add(name)
        for name in found:
            for part in filter(_is_name, name.parts):
                if part not in self._of and (whole := self._of.get(name.spellings[0])):
                    self._give(part, whole)
                    self._borrowed.add(part)
                    self._marked_only |= {_folded(part)} if is_own(part) else set()
        self._finders.clear()

    def _add(self, name: Name) -> None:
        """One thing's spellings, under one pseudonym where none of them is another thing's elsewhere.

        What the kernel calls a device, and what somebody does, are not the same on every host: of each of
        the two a pseudonym stands for one thing alone.
        """
        spellings = [spelling for spelling in name.spellings if _is_name(spelling)]
        own = [s for s in spellings if not (name.is_device and is_kernel_name(s))]
        self._mark(name.kind, own)
        known = {spelling: self._known(spelling, name) for spelling in spellings}
        whole = known.get(spellings[0]) if spellings else None
        fresh: set[tuple[str, bool]] = set()
        for spelling in spellings:
            is_chosen = spelling in own
            pseudonym = known[spelling]
            if pseudonym is None:
                alike = [whole] if whole else [*known.values()]
                free = (p for p in alike if p and (is_chosen not in self._made[p] or (p, is_chosen) in fresh))
                pseudonym = next(free, None) or self._minted(name, spelling, is_chosen)
                fresh.add((pseudonym, is_chosen))
            whole = whole or pseudonym
            self._made.setdefault(pseudonym, set()).add(is_chosen)
            if spelling in self._borrowed or spelling not in self._of:
                self._give(spelling, pseudonym)
                self._borrowed.discard(spelling)

    def _mark(self, kind: str, own: Iterable[str]) -> None:
        words = {_folded(spelling) for spelling in own if is_own(spelling)}
        self._marked_only = self._marked_only | words if kind in _MARKED_KINDS else self._marked_only - words

    def _known(self, spelling: str, name: Name) -> str | None:
        same = device_names(spelling) if name.is_device else ()
        known = [self._of[s] for s in (spelling, *same) if s in self._of and s not in self._borrowed]
        return next(iter(known), None)

    def _give(self, spelling: str, pseudonym: str) -> None:
        self._of[spelling] = pseudonym
        self._of_folded.setdefault(_folded(spelling), pseudonym)

    def _minted(self, name: Name, spelling: str, is_chosen: bool) -> str:
        if name.is_device and is_chosen:
            stem, rest = part_of(spelling, self._of)
            if stem:
                self.add([] if stem in self._of else [replace(name, spellings=(stem,), parts=())])
                whole = self._of[stem]
                return whole + (f"p{rest}" if rest.isdigit() and whole[-1].isdigit() else rest)
        kind = judged_kind(spelling, name.kind) if name.is_device and is_chosen else name.kind
        if self.key is not None:
            return self._keyed(self.key, kind, spelling)
        while True:
            self._count[kind] = self._count.get(kind, 0) + 1
            pseudonym = f"{kind}-{self._count[kind]}"
            if pseudonym not in self._taken:
                return pseudonym

    def _keyed(self, key: str, kind: str, name: str) -> str:
        """The name's own; another one where two devices have the same, which hosts' callers refuse.

        Hosts are other hosts in other letter case, as everywhere: which case a run saw first must not count.
        """
        own = name if kind == "host" else _folded(name)
        for text in (own, *(f"{name} {again}" for again in range(100))):
            code = hmac.new(key.encode(), text.encode("utf-8", "replace"), hashlib.sha256)
            pseudonym = f"{kind}-{code.hexdigest()[:8]}"
            if kind == "host" or pseudonym not in self._made:
                break
        return pseudonym

    def name(self, name: str, kind: str = "name") -> str:
        """The pseudonym of one whole name; one not heard of before gets one."""
        if self.is_judged_under and name in self._made:
            return name
        if name not in self._of:
            is_device = kind == kind_of_device(name)
            self.add([of_device(name, ()) if is_device else Name(kind, (name,))])
        return self._of.get(name, name)

    def __contains__(self, name: object) -> bool:
        return name in self._of

    def device(self, name: str) -> str:
        """The pseudonym of a device."""
        return self.name(name, kind_of_device(name))

    def to_judge(self, name: str) -> str:
        """What a device is judged under: rules know what the kernel's names mean, and no others."""
        return name if is_kernel_name(name) else self.device(name)

    def spellings(self, name: str) -> tuple[str, ...]:
        """What is called by a pseudonym, or by a name that has none."""
        return tuple(spelling for spelling, other in self._of.items() if other == name) or (name,)

    def count_of_doubtful(self) -> int:
        """How many names are also words of iodiag's that a sentence need not mark as names."""
        return sum(is_own(name) and _folded(name) not in self._marked_only for name in self._of)

    def prose(self, text: str) -> str:
        """A sentence of iodiag with the names in it replaced, and words that are not iodiag's left out.

        One that was composed of pseudonyms has names of the kernel's alone. Otherwise a host or a file called
        by a word of iodiag (`backup`) is one only where the sentence marks it, any other name everywhere.
        """
        return self._shown(text, is_prose=True)

    def _shown(self, text: str, is_prose: bool = False) -> str:
        parts = self._parts(text, is_prose)
        return "".join(part if is_name else _WORD.sub(_own_or_hidden, part) for part, is_name in parts)

    def remark(self, text: str) -> str:
        """A note on an input, or an error: known names replaced, words that are not iodiag's left out."""
        return re.sub(r"(['\"]).*?\1", "'…'", self._shown(re.sub(r"(left out: ).*", r"\1…", text)))

    def add_inputs(self, inputs: Iterable[str]) -> None:
        """Make known what the inputs of a call are called, for errors that name them or files in them."""
        self._inputs += [name for name in inputs if name != "-"]
        self.add(Name("file", (name,)) for name in inputs)

    def problem(self, text: str) -> str:
        """An error: files inside an input are its own, whatever they are called."""
        for name in sorted(self._inputs, key=len, reverse=True):
            place = re.escape(name) + r"(?::(?!\d+: )(?=\S)|[/\\]).*?(?=:\d+: |: |; |$)"
            text = re.sub(place, lambda found: self.name(found[0], "file"), text)
        return self.remark(text)

    def header(self, text: str) -> str:
        """A line of columns' names, which are words of the tool whatever somebody's things are called."""
        return text if not _plain_part(text)[1] else self.line(text)

    def line(self, text: str) -> str:
        """A line of an input: names replaced, and all left out from the first word that no tool prints."""
        kept = ""
        for part, is_name in self._parts(text):
            plain, is_cut = (part, False) if is_name else _plain_part(part)
            kept += plain
            if is_cut:
                return f"{kept}… (the rest of {len(text)} characters is left out)"
        return kept

    def _parts(self, text: str, is_prose: bool = False) -> Iterator[tuple[str, bool]]:
        """The text in pieces: pseudonyms, and what stands between them."""
        position = 0
        for start, end in self._finder(is_prose).find(text):
            if is_prose and not self._is_name_at(text, start, end):
                continue
            yield from self._addresses(text[position:start])
            yield self._found(text[start:end]), True
            position = end
        yield from self._addresses(text[position:])

    def _is_name_at(self, text: str, start: int, end: int) -> bool:
        """Whether a word of a sentence is a name there, where names of its kind are always marked."""
        is_either = not self.is_judged_under and _folded(text[start:end]) in self._marked_only
        is_marked = text.count("`", 0, start) % 2 == 1 or re.match(r":\d", text[end:])
        return bool(is_marked) or not is_either

    def _finder(self, is_prose: bool) -> _Finder:
        is_composed = is_prose and self.is_judged_under
        if is_composed not in self._finders:
            names = [n for n in self._of if is_kernel_name(n)] + [*self._made] if is_composed else [*self._of]
            self._finders[is_composed] = _Finder(
                _folded(name) for name in names if not re.fullmatch(r"[\d:.,-]+", name)
            )
        return self._finders[is_composed]

    def _found(self, text: str) -> str:
        if self.is_judged_under and text in self._made:
            return text
        return self._of.get(text) or self._of_folded.get(_folded(text), text)

    def _addresses(self, text: str) -> Iterator[tuple[str, bool]]:
        position = 0
        for found in _IP.finditer(text):
            yield text[position : found.start()], False
            if found[0] not in self._of:
                self._give(found[0], self._minted(Name("ip", ()), found[0], True))
            yield self._of[found[0]], True
            position = found.end()
        yield text[position:], False


class _Finder:
    """Finds known names in a text, the longest at each place, and none inside a longer word."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_head: dict[str, list[str]] = {}
        for name in sorted(names, key=len, reverse=True):
            self._by_head.setdefault(name[:_HEAD], []).append(name)
        heads = sorted(self._by_head, key=len, reverse=True)
        self._heads = re.compile("|".join(map(re.escape, heads))) if heads else None

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Where names stand, from the left, none overlapping another."""
        folded, position = _folded(text), 0
        while self._heads and (head := self._heads.search(folded, position)):
            start = head.start()
            end = max((start + len(n) for n in self._at(folded, start)), default=start + 1)
            if end > start + 1 or next(self._at(folded, start), ""):
                yield start, end
            position = end

    def _at(self, text: str, start: int) -> Iterator[str]:
        for size in range(_HEAD, 0, -1):
            for name in self._by_head.get(text[start : start + size], ()):
                if text.startswith(name, start) and _is_whole(text, start, start + len(name)):
                    yield name
                    break


def _is_name(text: str) -> bool:
    return re.search(r"\w", text) is not None


def _is_whole(text: str, start: int, end: int) -> bool:
    before = text[start - 1 : start] if text[start].isalnum() else ""
    after = text[end : end + 1] if text[end - 1].isalnum() else ""
    return not before.isalnum() and not after.isalnum()


def _folded(text: str) -> str:
    """Text in small letters, of the same length."""
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _own_or_hidden(word: re.Match[str]) -> str:
    return word[0] if is_plain(word[0]) or is_own(word[0]) else "…"


def _plain_part(text: str) -> tuple[str, bool]:
    """The text up to the first word that no tool prints, and whether there is one."""
    for word in re.finditer(r"\w+", text):
        if not is_plain(word[0]) and not all(map(is_plain, filter(None, word[0].split("_")))):
            return text[: word.start()], True
    return text, False
