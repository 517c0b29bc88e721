"""Lines of sadf's exports with separators (-d and -p): fields, stamps, restarts, a class per line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pandas as pd

from iodiag.formats.exports._sadf_tables import Part, parse_number, parse_stamp
from iodiag.formats.text.structure.blocks import CLASS, UNSEEN, Classes
from iodiag.formats.whole_files import line_starts, undress, unseen
from iodiag.model.capture import Source
from iodiag.table.table import Bools, Floats, Ints
from iodiag.table.texts import Texts

_SAMPLE_BYTES = 200_000
_MOST_HOSTS = 1000
_WHOLE_END = re.compile(rb"[.,]\d\d\Z|[^\d.,]\Z")
_CPUS = re.compile(rb"\((\d{1,6}) CPU\)")


@dataclass
class Lines:
    """An export's lines, undressed; `classes` and `reasons` fill up on the way.

    Every line of samples begins with host, interval and time stamp. `starts` and `ends` are the
    byte offsets of the lines, `counts` how many fields each has.
    """

    source: Source
    separator: bytes
    data: bytes
    starts: Ints
    ends: Ints
    counts: Ints
    decimal_comma: bool
    classes: Classes
    reasons: dict[int, str] = field(default_factory=dict)
    zones: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, source: Source, separator: bytes) -> Lines:
        data = undress(source.data)
        starts = line_starts(data)
        content = np.frombuffer(data, dtype=np.uint8)
        ends = np.append(starts[1:] - 1, len(data) - data.endswith(b"\n"))
        places = np.flatnonzero(content == separator[0])
        counts = np.searchsorted(places, ends) - np.searchsorted(places, starts) + 1
        counts[ends <= starts] = 0
        sample = data[:_SAMPLE_BYTES]
        mark = re.escape(separator)
        commas = len(re.findall(rb"%b-?\d++,\d{1,2}(?=%b|\s)" % (mark, mark), sample))
        points = len(re.findall(rb"%b-?\d++\.\d{1,2}(?=%b|\s)" % (mark, mark), sample))
        lines = cls(source, separator, data, starts, ends, counts, commas > points, unseen(len(starts)))
        if (
            data
            and not data.endswith(b"\n")
            and counts[-1] > 1
            and not _WHOLE_END.search(data[-80:].rstrip())
        ):
            lines.refuse([len(starts) - 1], "the input ends within this line: its last number may be cut off")
        return lines

    def text(self, line: int) -> str:
        return self.data[self.starts[line] : self.ends[line]].decode("utf-8", "replace")

    def fields(self, lines: Ints, width: int) -> pd.DataFrame:
        """The fields of lines that all have `width` of them, as words; columns are 0, 1, …"""
        if not len(lines):
            return pd.DataFrame({place: pd.Series(dtype="str") for place in range(width)})
        parts = (
            self.data[a:b]
            for a, b in zip(self.starts[lines].tolist(), self.ends[lines].tolist(), strict=True)
        )
        return pd.read_csv(
            io.BytesIO(b"\n".join(parts)),
            sep=self.separator.decode(),
            header=None,
            names=list(range(width)),
            dtype="str",
            quoting=csv.QUOTE_NONE,
            keep_default_na=False,
            na_filter=False,
            skip_blank_lines=False,
            encoding_errors="replace",
        )

    def decimals(self, lines: Ints) -> tuple[Ints, Ints]:
        """How many decimals the last field of lines has, and how many decimal signs stand in each."""
        content = np.frombuffer(self.data, dtype=np.uint8)
        signs = np.append(-1, np.flatnonzero(content == ord("," if self.decimal_comma else ".")))
        separators = np.append(-1, np.flatnonzero(content == self.separator[0]))
        starts, ends = self.starts[lines], self.ends[lines]
        before, count = np.searchsorted(signs, starts), np.searchsorted(signs, ends)
        last = signs[count - 1]
        is_in_last = last > separators[np.searchsorted(separators, ends) - 1]
        return np.where(is_in_last & (last >= starts), ends - last - 1, 0), count - before

    def floats_of(self, columns: pd.DataFrame) -> tuple[Floats, Bools]:
        """The values of columns of words, and which rows hold something that is no number."""
        values = np.empty(columns.shape)
        is_bad = np.zeros(len(columns), dtype=np.bool_)
        for place, name in enumerate(columns):
            values[:, place], bad = self._column(columns[name])
            is_bad |= bad
        return values, is_bad

    def _column(self, words: pd.Series[str]) -> tuple[Floats, Bools]:
        plain = words.str.replace(",", ".", regex=False) if self.decimal_comma else words
        try:
            values = plain.to_numpy(dtype=np.float64, copy=True)
            values[~np.isfinite(values)] = np.nan
            return values, np.zeros(len(words), dtype=np.bool_)
        except ValueError:
            codes, distinct = pd.factorize(words)
            found = [parse_number(word, self.decimal_comma) for word in distinct]
            values = np.array([np.nan if value is None else value for value in found])
            return values[codes], np.array([value is None for value in found])[codes]

    @staticmethod
    def words(column: pd.Series[str], called: Mapping[str, str] = MappingProxyType({})) -> Texts:
        """A column of words without the blanks around them; some are called otherwise."""
        codes, distinct = pd.factorize(column)
        stripped = [word.strip() for word in distinct]
        return Texts.coded(codes, [called.get(word, word) for word in stripped])

    def stamps(self, words: pd.Series[str]) -> Floats:
        """Seconds of a column of time stamps, NaN where a word is none; their zones are noted."""
        codes, distinct = pd.factorize(words)
        parsed = [parse_stamp(word) for word in distinct]
        self.zones.update(stamp[1] for stamp in parsed if stamp)
        seconds = np.array([stamp[0] if stamp else np.nan for stamp in parsed], dtype=np.float64)
        return seconds[codes]

    def refuse(self, lines: Sequence[int] | Ints, reason: str) -> None:
        """Class lines as not understood."""
        places = np.asarray(lines, dtype=np.int64)
        self.classes[places] = CLASS["unread"]
        self.reasons.update(dict.fromkeys(places.tolist(), reason))

    def refuse_cut_rows(self, parts: list[Part]) -> None:
        """Class as not understood what begins with a known host's name and is no row."""
        hosts = {str(host) for part in parts for host in part.hosts.categories}
        if not 0 < len(hosts) < _MOST_HOSTS:
            return
        names = b"|".join(re.escape(host.encode()) for host in sorted(hosts))
        beginning = re.compile(rb"(?:%b)%b" % (names, re.escape(self.separator)))
        rest = np.flatnonzero((self.classes == UNSEEN) & (self.counts > 1))
        begins = [line for line in rest.tolist() if beginning.match(self.data, int(self.starts[line]))]
        self.refuse(begins, "a row that is cut off or damaged")

    def restarts(self) -> dict[int, int | None]:
        """Line numbers of the host's restarts, with its CPUs; classes these and comments."""
        mark = re.escape(self.separator)
        word = rb"[^%b\n]*+%b" % (mark, mark)
        pattern = re.compile(rb"^%b-1%b%b(?:(LINUX-RESTART)|COM )[^\n]*+" % (word, mark, word), re.MULTILINE)
        found: dict[int, int | None] = {}
        for match in pattern.finditer(self.data):
            line = int(np.searchsorted(self.starts, match.start(), "right")) - 1
            self.classes[line] = CLASS["banner"]
            if match[1]:
                cpus = _CPUS.search(match[0])
                found[line + 1] = int(cpus[1]) if cpus else None
        return found


def with_segments(parts: list[Part], restarts: Mapping[int, int | None]) -> tuple[list[Part], dict[int, int]]:
    """The parts with their segments, and CPUs by segment: one begins at a restart and at another host."""
    if not parts:
        return [], {}
    lines = np.concatenate([part.lines for part in parts])
    order = np.argsort(lines, kind="stable")
    hosts = Texts.joined([part.hosts for part in parts]).codes[order]
    changes = lines[order][1:][hosts[1:] != hosts[:-1]]
    borders = np.union1d(np.fromiter(restarts, dtype=np.int64, count=len(restarts)), changes)
    cpus = {int(np.searchsorted(borders, line, "right")): n for line, n in restarts.items() if n is not None}
    return [part._replace(segment=np.searchsorted(borders, part.lines, "right")) for part in parts], cpus
