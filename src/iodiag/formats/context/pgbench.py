"""pgbench(1) of PostgreSQL 8.3 and later: progress lines, summary, statement latencies.

The latency of the statement END (or COMMIT) is what a commit took.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import fact, first_numbers, solid
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact

_NUMBER = r"(\d{1,12}(?:\.\d{1,9})?)"
_PROGRESS = rf"^\s*progress:\s+{_NUMBER} s, {_NUMBER} tps, lat {_NUMBER} ms(?: stddev (?:{_NUMBER}|NaN))?"
_SUMMARY = {
    "clients": (rf"^number of clients:\s+{_NUMBER}"),
    "threads": (rf"^number of threads:\s+{_NUMBER}"),
    "scale": (rf"^scaling factor:\s+{_NUMBER}"),
    "duration_s": (rf"^duration:\s+{_NUMBER} s"),
    "transactions": (rf"^number of transactions actually processed:\s+{_NUMBER}"),
    "failed_transactions": (rf"^number of failed transactions:\s+{_NUMBER}"),
    "latency_ms": (rf"^latency average\s*[:=]\s+{_NUMBER} ms"),
    "latency_stddev_ms": (rf"^latency stddev\s*[:=]\s+{_NUMBER} ms"),
    "connection_time_ms": (rf"^initial connection time\s*=\s+{_NUMBER} ms"),
    "transactions_per_s": (rf"^tps = {_NUMBER} \((?:excluding|without)"),
    "connected_transactions_per_s": (rf"^tps = {_NUMBER} \(including"),
    "commit_ms": (rf"^{_NUMBER}\s+(?:\d+\s+)?(?:END|COMMIT);?$"),
}
_KNOWN = (
    r"^(?:pgbench \(|starting vacuum|progress:|transaction type:|scaling factor:|query mode:|number of |"
    r"maximum number|duration:|latency |initial connection|tps = |statement latencies|- statement|"
    r"SQL script|average connection|client \d+)"
)
_STATEMENT = r"^\s*\d+\.\d{3}\s+(?:\d+\s+)?\S"


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    used = 0
    in_statements = False
    for at, line in solid(lines):
        text = line.text.strip()
        if at > 1 and text.startswith("pgbench ("):
            break
        in_statements = in_statements or "statement latencies" in text
        if re.match(_KNOWN, text) or (
            in_statements and (re.match(_STATEMENT, text) or text.startswith("- "))
        ):
            used = at
        else:
            break
    block = lines[:used]
    facts = [*_progress(block, source), *_summary(block, source)]
    return ContextBlock(used, facts=tuple(facts), layout="pgbench") if facts else None


def _progress(lines: Sequence[Line], source: str) -> list[Fact]:
    """The means over all progress lines."""
    found = [(match, line) for line in lines if (match := re.match(_PROGRESS, line.text))]
    if not found:
        return []
    rates = [float(match[2]) for match, _ in found]
    latencies = [float(match[3]) for match, _ in found]
    values = {
        "transactions_per_s": round(sum(rates) / len(rates), 3),
        "latency_ms": round(sum(latencies) / len(latencies), 3),
        "latency_max_interval_ms": max(latencies),
        "intervals": len(found),
    }
    text = f"pgbench: {values['transactions_per_s']} transactions/s over {len(found)} intervals"
    text += f", {values['latency_ms']} ms each"
    return [fact("pgbench", text, values, source, [line for _, line in found])]


def _summary(lines: Sequence[Line], source: str) -> list[Fact]:
    values, own = first_numbers(_SUMMARY, lines)
    rate = values.get("transactions_per_s", values.get("connected_transactions_per_s"))
    if rate is None:
        return []
    values["transactions_per_s"] = rate
    text = f"pgbench with {values.get('clients') or 0:g} clients: {rate} transactions/s"
    text += f", {values['latency_ms']} ms each" if "latency_ms" in values else ""
    text += f", {values['commit_ms']} ms per commit" if "commit_ms" in values else ""
    return [fact("pgbench", text, {**values, "is_summary": 1}, source, own)]


FORMAT = ContextFormat(
    id="pgbench",
    title="pgbench: progress and summary",
    example=(
        "progress: 10.0 s, 27.0 tps, lat 354.800 ms stddev 68.127, 0 failed\n"
        "number of clients: 10\n"
        "latency average = 364.581 ms\n"
        "tps = 27.190238 (without initial connection time)\n"
    ),
    starts=re.compile(
        r"^\s*pgbench \(|^\s*progress: \d+\.\d s, [\d.]+ tps|^\s*transaction type: |^\s*tps = [\d.]+ \("
        r"|^\s*number of clients: \d|^\s*starting vacuum\.\.\."
    ),
    read=_read,
    releases="PostgreSQL 8.3 and later",
    not_read="per-transaction logs (-l)",
)
