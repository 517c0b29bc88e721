"""fio 2 and 3: what a load generator measured itself, from its JSON and its normal output.

One fact per job and direction that did any I/O. Latencies are fio's completion plus submission
(`lat`), in ns (3.x) or µs (2.x) in JSON; bandwidth is in KiB/s. `fsync_ms` is the mean of what
fio lists as sync.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from iodiag.formats.context._common import MAX_BLOCK_LINES, bare_name, fact, json_object, number, size_kb
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact

Values = dict[str, float | str | None]

_JOB = (
    r"^\s*(?P<job>\S.{0,200}?): \(g=\d+\): rw=(?P<rw>\w+), (?:bs=(?P<bs>.{1,120}?), )?"
    r"ioengine=(?P<engine>[\w/-]+), iodepth=(?P<depth>\d{1,6})"
)
_RESULT = r"^\s*(?P<job>\S.{0,200}?): \(groupid=\d+, jobs=(?P<jobs>\d{1,6})\): err="
_NUMBER = r"\d{1,14}(?:\.\d{1,6})?"
_DIRECTION = r"^\s*(?P<way>read|write|trim)\s*: (?P<rest>(?:IOPS|io)=.*)$"
_IOPS = rf"(?i)\biops=\s*({_NUMBER})([kM]?)"
_BANDWIDTH = rf"(?i)\bbw=\s*({_NUMBER}\s?[kKMGT]?)i?B/s"
_RUNTIME = rf"({_NUMBER})msec\b"
_LATENCY = (
    rf"^\s*(?P<what>lat|sync) \((?P<unit>[num]sec)\): min=\s*{_NUMBER}[kM]? ?, max=\s*{_NUMBER}[kM]? ?, "
    rf"avg=\s*(?P<mean>{_NUMBER})"
)
_DISK = r"^\s*(?P<name>[\w!-]{2,64}): ios=\d+/\d+, .*\butil=[\d.]+%"
_OWN = (
    r"^\s*(?:fio-\d|Starting \d|Jobs: |\.\.\.$|slat |clat |lat |bw |iops\s|cpu\s|IO depths|submit|complete|"
    r"issued|latency\s|fsync/|sync |\|\s|Run status|READ:|WRITE:|TRIM:|Disk stats|clat percentiles|"
    r"sync percentiles|lat percentiles|bandwidth|fio: |note: |mixed|io_u|[\w-]+: Laying out|"
    r".{1,200}: \(g=\d+\): rw=)"
)
_TO_MS = {"nsec": 1e-6, "usec": 1e-3, "msec": 1.0}


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    if '"fio version"' in lines[0].text:
        return _read_json(lines, source)
    return _read_normal(lines, source)


def _read_json(lines: Sequence[Line], source: str) -> ContextBlock | None:
    decoded = json_object(lines, '"fio version"', prefix="{")
    jobs = decoded.value.get("jobs") or decoded.value.get("client_stats") if decoded else None
    if decoded is None or not isinstance(jobs, list):
        return None
    shared = decoded.value.get("global options")
    disks = decoded.value.get("disk_util")
    names = [d.get("name") for d in disks if isinstance(d, dict)] if isinstance(disks, list) else []
    facts = []
    for job, own in zip(jobs, _lines_of_jobs(lines[: decoded.used], len(jobs)), strict=True):
        if isinstance(job, dict) and job.get("jobname") != "All clients":
            facts += list(_json_facts(job, _mapping(shared), names, source, own))
    return ContextBlock(decoded.used, facts=tuple(facts), layout="json") if facts else None


def _lines_of_jobs(lines: Sequence[Line], count: int) -> list[Sequence[Line]]:
    """The lines of each job, from its name on; all of them where they can't be told apart."""
    starts = [at for at, line in enumerate(lines) if re.match(r'\s*"jobname"\s*:', line.text)]
    if len(starts) != count:
        return [lines] * count
    return [lines[first:last] for first, last in pairwise([*starts, len(lines)])]


def _lines_of_rate(lines: Sequence[Line], way: str) -> Sequence[Line]:
    """The lines from a direction's IOPS to its mean total latency, which follows it."""
    text = iter(lines)
    found: list[Line] = []
    for pattern in (rf'"{way}"\s*:', r'"iops"\s*:', r'"lat(?:_ns)?"\s*:', r'"mean"\s*:'):
        line = next((line for line in text if re.search(pattern, line.text)), None)
        if line is None:
            break
        found.append(line)
    return found[1:] or found or lines[:1]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _json_facts(
    job: Mapping[str, Any],
    shared: Mapping[str, Any],
    disks: Sequence[Any],
    source: str,
    lines: Sequence[Line],
) -> Iterator[Fact]:
    options = {**shared, **_mapping(job.get("job options"))}
    filename = str(options.get("filename", ""))
    block = size_kb(str(options.get("bs", "")).split(",")[0])
    basis: Values = {
        "job": str(job.get("jobname", "")),
        "rw": str(options.get("rw") or options.get("readwrite") or "") or None,
        "block_size_kb": block,
        "iodepth": number(str(options.get("iodepth", ""))),
        "jobs": number(str(options.get("numjobs", ""))),
        "device": bare_name(filename) if filename.startswith("/dev/") else _only(disks),
        "fsync_ms": _mean_ms(_mapping(job.get("sync"))),
    }
    for way in ("read", "write", "trim"):
        result = _mapping(job.get(way))
        iops = result.get("iops")
        if isinstance(iops, int | float) and iops > 0:
            bandwidth, runtime = result.get("bw"), result.get("runtime")
            measured: Values = {
                "direction": way,
                "iops": float(iops),
                "kb_per_s": float(bandwidth) if isinstance(bandwidth, int | float) else None,
                "latency_ms": _mean_ms(result),
                "duration_s": runtime / 1000 if isinstance(runtime, int | float) else None,
            }
            yield _fact({**basis, **measured}, source, _lines_of_rate(lines, way))


def _only(names: Sequence[Any]) -> str | None:
    return str(names[0]) if len(names) == 1 and names[0] else None


def _mean_ms(result: Mapping[str, Any]) -> float | None:
    """The mean total latency of a direction; None where fio measured none."""
    for key, factor in (("lat_ns", 1e-6), ("lat", 1e-3), ("clat_ns", 1e-6), ("clat", 1e-3)):
        mean = _mapping(result.get(key)).get("mean")
        if isinstance(mean, int | float) and mean > 0:
            return float(mean) * factor
    return None


def _read_normal(lines: Sequence[Line], source: str) -> ContextBlock | None:
    jobs: dict[str, Values] = {}
    found: list[tuple[Values, list[Line]]] = []
    options: Values = {}
    disks: list[str] = []
    used = at = 0
    for at, line in enumerate(lines[:MAX_BLOCK_LINES]):
        text = line.text
        job, result, way = re.match(_JOB, text), re.match(_RESULT, text), re.match(_DIRECTION, text)
        latency, disk = re.match(_LATENCY, text), re.match(_DISK, text)
        if job:
            jobs[job["job"]] = _options(job)
        elif result:
            options = {"job": result["job"], **jobs.get(result["job"], {}), "jobs": float(result["jobs"])}
        elif way and options:
            found.append(({**options, "direction": way["way"], **_rates(way["rest"])}, [line]))
        elif latency and found and at - used <= 2:
            key = "fsync_ms" if latency["what"] == "sync" else "latency_ms"
            found[-1][0].setdefault(key, round(float(latency["mean"]) * _TO_MS[latency["unit"]], 6))
            found[-1][1].append(line)
        elif disk:
            disks.append(disk["name"])
        elif text.strip() and not re.match(_OWN, text):
            break
        elif not text.strip():
            continue
        used = at + 1
    for values, _ in found:
        values.setdefault("device", _only(disks))
    facts = tuple(_fact(values, source, own) for values, own in found)
    return ContextBlock(used, facts=facts, layout="normal") if facts else None


def _options(job: re.Match[str]) -> Values:
    size = re.search(r"(\d{1,9}(?:\.\d)?[kKMG]?i?)B?-", job["bs"] or "")
    return {
        "rw": job["rw"],
        "block_size_kb": size_kb(size[1].rstrip("i")) if size else None,
        "iodepth": float(job["depth"]),
    }


def _rates(text: str) -> Values:
    iops, bandwidth, runtime = re.search(_IOPS, text), re.search(_BANDWIDTH, text), re.search(_RUNTIME, text)
    factor = {"k": 1e3, "M": 1e6}.get(iops[2] if iops else "", 1.0)
    return {
        "iops": float(iops[1]) * factor if iops else None,
        "kb_per_s": size_kb(bandwidth[1].replace(" ", "")) if bandwidth else None,
        "duration_s": float(runtime[1]) / 1000 if runtime else None,
    }


def _fact(values: Values, source: str, lines: Sequence[Line]) -> Fact:
    said = "fio {job}" if values.get("job") else "fio"
    said += " ({rw})" if values.get("rw") else ""
    said += f": {values['direction']} {values.get('iops') or 0:.0f} IOPS"
    said += f" of {values['block_size_kb']:g} kB" if values.get("block_size_kb") else ""
    said += f" at depth {values['iodepth']:g}" if values.get("iodepth") else ""
    said += f", {values['latency_ms']:.3g} ms each" if values.get("latency_ms") else ""
    said += " on {device}" if values.get("device") else ""
    return fact("fio", said, values, source, lines)


FORMAT = ContextFormat(
    id="fio",
    title="fio: IOPS, bandwidth and latency per job",
    example=(
        "r: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, ioengine=libaio, iodepth=64\n"
        "fio-3.33\n"
        "r: (groupid=0, jobs=1): err= 0: pid=51: Fri Nov 20 13:06:35 2026\n"
        "  read: IOPS=3005, BW=11.7MiB/s (12.3MB/s)(529MiB/45016msec)\n"
        "     lat (usec): min=3107, max=74888, avg=21270.20, stdev=4246.05\n"
    ),
    starts=re.compile(
        r'"fio version"\s*:|^\s*\S.{0,200}?: \(g=\d+\): rw=\w'
        r"|^\s*\S.{0,200}?: \(groupid=\d+, jobs=\d+\): err="
    ),
    read=_read,
    releases="2.0 and later",
    not_read="terse output and the logs of single I/Os",
)
