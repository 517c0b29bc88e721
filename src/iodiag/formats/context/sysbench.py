"""sysbench 0.4, 0.5 and 1.0: lines per interval and the summary of OLTP and file I/O tests.

A run of interval lines with one number of threads becomes one fact (means over its lines), a
summary another. Response times are the percentile that the run was told to report, 95 unless
it says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import MAX_BLOCK_LINES, Values, fact, first_numbers, parse_number
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact

_INTERVAL = r"^\s*\[\s*(\d{1,9})s\s*\]\s*(.*)$"
_BANNER = r"^\s*sysbench (\d+\.\d[\w.-]*)\b.*$"
_NUMBER = r"(\d{1,12}(?:\.\d{1,6})?)"
_PARTS = {
    "threads": (rf"\b(?:threads|thds):\s*{_NUMBER}"),
    "transactions_per_s": (rf"\btps:\s*{_NUMBER}"),
    "queries_per_s": (rf"\bqps:\s*{_NUMBER}"),
    "events_per_s": (rf"\beps:\s*{_NUMBER}"),
    "reads_per_s": (rf"\breads(?:/s)?:\s*{_NUMBER}(?!\S* ?[MKG]i?B)|\(r/w/o:\s*{_NUMBER}"),
    "writes_per_s": (rf"\bwrites(?:/s)?:\s*{_NUMBER}(?!\S* ?[MKG]i?B)|\(r/w/o:\s*[\d.]+/{_NUMBER}"),
    "fsyncs_per_s": (rf"\bfsyncs:\s*{_NUMBER}/s"),
    "read_mb_per_s": (rf"\breads:\s*{_NUMBER} ?Mi?B/s"),
    "written_mb_per_s": (rf"\bwrites:\s*{_NUMBER} ?Mi?B/s"),
    "response_ms": (rf"\b(?:response time|latency|lat)(?: ?\(ms, ?[\d.]+%\))?:\s*{_NUMBER}(?:ms)?"),
    "percentile": (r"\((?:ms, ?)?(\d{1,3}(?:\.\d+)?)%\)"),
}
_SUMMARY = {
    "threads": (rf"^Number of threads:\s*{_NUMBER}"),
    "transactions_per_s": (rf"^transactions:\s+\d+\s+\({_NUMBER} per sec\.?\)"),
    "queries_per_s": (rf"^(?:queries|read/write requests):\s+\d+\s+\({_NUMBER} per sec\.?\)"),
    "reads_per_s": (rf"^reads/s:\s+{_NUMBER}"),
    "writes_per_s": (rf"^writes/s:\s+{_NUMBER}"),
    "fsyncs_per_s": (rf"^fsyncs/s:\s+{_NUMBER}"),
    "requests_per_s": (rf"^{_NUMBER} Requests/sec executed"),
    "read_mb_per_s": (rf"^read, MiB/s:\s+{_NUMBER}"),
    "written_mb_per_s": (rf"^written, MiB/s:\s+{_NUMBER}"),
    "duration_s": (rf"^total time:\s+{_NUMBER}s"),
    "events": (rf"^total number of events:\s+{_NUMBER}"),
    "latency_min_ms": (rf"^min:\s+{_NUMBER}(?:ms)?$"),
    "latency_ms": (rf"^avg:\s+{_NUMBER}(?:ms)?$"),
    "latency_max_ms": (rf"^max:\s+{_NUMBER}(?:ms)?$"),
    "response_ms": (rf"^(?:approx\.\s+)?[\d.]+(?:th)?\s*percentile:\s+{_NUMBER}(?:ms)?$"),
    "percentile": (rf"^(?:approx\.\s+)?{_NUMBER}(?:th)?\s*percentile:\s+[\d.]+"),
}
_KNOWN = (
    r"^(?:\[\s*\d+s\s*\]|sysbench \d|Running the test|Number of |Report (?:intermediate|checkpoint)|"
    r"Target transaction rate|Random(?:iz| number)|Initializing|Threads started|Doing OLTP|Using |"
    r"Extra file|\d+ files, |[\d.]+[KMGT]i?[bB] total|Block size|Read/Write ratio|Periodic FSYNC|"
    r"Calling fsync|Test execution summary|OLTP test statistics|SQL statistics|queries performed|read:|"
    r"write:|other:|total:|transactions:|deadlocks:|queries:|read/write requests:|other operations:|"
    r"ignored errors:|reconnects:|General statistics|Response time|Latency|Throughput|File operations|"
    r"Operations performed|Read |reads/s|writes/s|fsyncs/s|read, MiB|written, MiB|total (?:time|number)|"
    r"per-request stat|min:|avg:|max:|sum:|approx|[\d.]+(?:th)? ?percentile|Threads fairness|events \(|"
    r"execution time|[\d.]+ Requests/sec|Maximum requests|Not limit|Limit|Done\.|Time limit|"
    r"Additional request|WARNING|Prime numbers|CPU speed|events per second|queue length)"
)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    first = re.match(_INTERVAL, lines[0].text)
    if first and len(_values(first[2])) < 2:
        return None
    used = _extent(lines)
    block = [line for line in lines[:used] if line.text.strip()]
    facts = [*_intervals(block, source), *_summary(block, source)]
    return ContextBlock(used, facts=tuple(facts), layout="sysbench") if facts else None


def _extent(lines: Sequence[Line]) -> int:
    """How far lines of sysbench go, blank ones between them; a second banner begins a new run."""
    used = 1
    for at, line in enumerate(lines[1:MAX_BLOCK_LINES], 1):
        text = line.text.strip()
        if re.match(_BANNER, text) or (text and not re.match(_KNOWN, text)):
            break
        if text:
            used = at + 1
        elif at - used > 3:
            break
    return used


def _intervals(lines: Sequence[Line], source: str) -> list[Fact]:
    """One fact per run of interval lines with the same number of threads."""
    runs: list[tuple[float | None, list[dict[str, float]], list[Line]]] = []
    for line in lines:
        match = re.match(_INTERVAL, line.text)
        values = _values(match[2]) if match else {}
        if len(set(values) - {"percentile"}) < 2:
            continue
        threads = values.get("threads")
        if not runs or runs[-1][0] != threads:
            runs.append((threads, [], []))
        runs[-1][1].append(values)
        runs[-1][2].append(line)
    return [_interval_fact(values, own, source) for _, values, own in runs]


def _values(text: str) -> dict[str, float]:
    found = {}
    for name, pattern in _PARTS.items():
        match = re.search(pattern, text)
        value = parse_number(next((group for group in match.groups() if group), None)) if match else None
        if value is not None:
            found[name] = value
    return found


def _interval_fact(rows: Sequence[dict[str, float]], lines: Sequence[Line], source: str) -> Fact:
    names = [name for name in _PARTS if all(name in row for row in rows)]
    values: Values = {name: round(sum(row[name] for row in rows) / len(rows), 3) for name in names}
    return fact("sysbench", _sentence(values), {**values, "intervals": len(rows)}, source, lines)


def _summary(lines: Sequence[Line], source: str) -> list[Fact]:
    values, own = first_numbers(_SUMMARY, lines)
    if not {"events", "latency_ms", "response_ms", "transactions_per_s", "requests_per_s"} & set(values):
        return []
    values.setdefault("requests_per_s", _event_rate(values))
    text = _sentence({**values, "intervals": None})
    return [fact("sysbench", text, {**values, "is_summary": 1}, source, own)]


def _event_rate(values: Values) -> float | None:
    events, duration = values.get("events"), values.get("duration_s")
    if isinstance(events, float) and isinstance(duration, float) and duration > 0:
        return round(events / duration, 3)
    return None


def _sentence(values: Values) -> str:
    said = "sysbench"
    said += f" with {values['threads']:g} threads" if values.get("threads") is not None else ""
    for name, word in (
        ("transactions_per_s", "transactions/s"),
        ("requests_per_s", "requests/s"),
        ("reads_per_s", "reads/s"),
        ("fsyncs_per_s", "fsyncs/s"),
    ):
        if values.get(name) is not None:
            said += f": {values[name]} {word}"
            break
    if values.get("response_ms") is not None:
        said += f", p{values.get('percentile') or 95.0:g} response {values['response_ms']} ms"
    return said


FORMAT = ContextFormat(
    id="sysbench",
    title="sysbench: interval lines and summary",
    example=(
        "[ 10s ] thds: 4 tps: 21.10 qps: 422.00 (r/w/o: 295.40/84.40/42.20) lat (ms,95%): 312.09\n"
        "[ 20s ] thds: 4 tps: 22.00 qps: 440.00 (r/w/o: 308.00/88.00/44.00) lat (ms,95%): 297.05\n"
    ),
    starts=re.compile(
        r"^\s*\[\s*\d{1,9}s\s*\]\s*(?:threads|thds|tps|reads|eps):|^\s*sysbench \d+\.\d"
        r"|^\s*Latency \(ms\):\s*$|^\s*OLTP test statistics:|^\s*(?:General|SQL) statistics:\s*$"
        r"|^\s*Test execution summary:"
    ),
    read=_read,
    releases="0.4.12 to 1.0.20",
    not_read="tests of memory, threads and mutexes",
)
