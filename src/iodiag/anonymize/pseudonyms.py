"""Names to pseudonyms, and texts with the names in them replaced."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator

from iodiag.anonymize.allowed_words import is_own, is_plain
from iodiag.anonymize.gathering import Name, groups_of

_IP = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d)")
_WORD = re.compile(r"[^\W_]+")
_HEAD = 3


class Pseudonyms:
    """The pseudonyms of one run: `host-1`, `disk-3`; with a key `host-5f0c21d4`, the same in every run.

    With a key a pseudonym is the beginning of the HMAC-SHA256 of the name, so that who has no key cannot
    try names out.
    """

    def __init__(self, names: Iterable[Name] = (), key: str | None = None) -> None:
        self.key = key
        self._inputs: list[str] = []
        self._of: dict[str, str] = {}
        self._count: dict[str, int] = {}
        self._taken: set[str] = set()
        self._marked_only: set[str] = set()
        self._said: set[str] = set()
        self._borrowed: set[str] = set()
        self._finder = _Finder(())
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
            for part in filter(_is_name, map(_folded, name.parts)):
                if part not in self._of and (whole := self._of.get(_folded(name.spellings[0]))):
                    self._of[part] = whole
                    self._borrowed.add(part)
                    self._marked_only |= {part} if is_own(part) else set()
        self._finder = _Finder(n for n in self._of if not re.fullmatch(r"[\d:.,-]+", n))

    def _add(self, name: Name) -> None:
        spellings = [_folded(spelling) for spelling in name.spellings if _is_name(spelling)]
        if not spellings:
            return
        known = (self._of[s] for s in spellings if s in self._of and s not in self._borrowed)
        pseudonym = next(known, None) or self._minted(name.kind, spellings[0])
        for spelling in spellings:
            if spelling in self._borrowed or spelling not in self._of:
                self._of[spelling] = pseudonym
                self._borrowed.discard(spelling)
        self._said.update(spellings[: name.is_said])
        self._marked_only = (self._marked_only | set(filter(is_own, spellings))) - self._said

    def _minted(self, kind: str, name: str) -> str:
        if self.key is not None:
            code = hmac.new(self.key.encode(), name.encode("utf-8", "replace"), hashlib.sha256)
            return f"{kind}-{code.hexdigest()[:8]}"
        while True:
            self._count[kind] = self._count.get(kind, 0) + 1
            pseudonym = f"{kind}-{self._count[kind]}"
            if pseudonym not in self._taken:
                return pseudonym

    def name(self, name: str, kind: str = "name") -> str:
        """The pseudonym of one whole name; one not heard of before gets one."""
        if _folded(name) not in self._of:
            self.add([Name(kind, (name,))])
        return self._of.get(_folded(name), name)

    def prose(self, text: str) -> str:
        """A sentence of iodiag with the names in it replaced, and words that are not iodiag's left out.

        A host or a user called by a word of iodiag (`backup`) is one only where the sentence marks it.
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
        for start, end in self._finder.find(text):
            name = _folded(text[start:end])
            if is_prose and name in self._marked_only and text.count("`", 0, start) % 2 == 0:
                continue
            yield from self._addresses(text[position:start])
            yield self._of[name], True
            position = end
        yield from self._addresses(text[position:])

    def _addresses(self, text: str) -> Iterator[tuple[str, bool]]:
        position = 0
        for found in _IP.finditer(text):
            yield text[position : found.start()], False
            if found[0] not in self._of:
                self._of[found[0]] = self._minted("ip", found[0])
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
