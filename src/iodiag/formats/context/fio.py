"""fio 2 and 3: what a load generator measured itself, from its JSON and its normal output.

One fact per job and direction that did any I/O. Latencies are fio's completion plus submission
(`lat`), in ns (3.x) or µs (2.x) in JSON; bandwidth is in KiB/s. `fsync_ms` is the mean of what
fio lists as sync. Percentiles are of completion (`clat`), or of `lat` where it was asked for. Where there are
none, those of a job of one direction come from its latency bins, as the bins' upper edges.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import Any

from iodiag.formats.context._common import (
    Values,
    bare_name,
    describe,
    fact,
    json_object,
    origin,
    parse_number,
    size_kb,
    solid,
)
from iodiag.formats.context._latency import Bucket, of_histogram
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact
from iodiag.model.percentiles import SHARES, percentiles
from iodiag.model.topology import Device

_JOB = (
    r"^\s*(?P<job>\S.{0,200}?): \(g=\d+\): rw=(?P<rw>\w+), (?:bs=(?P<bs>.{1,120}?), )?"
    r"ioengine=(?P<engine>[\w/-]+), iodepth=(?P<depth>\d{1,6})"
)
_STATUS = r"^Jobs: (?P<jobs>\d{1,6}) \(f=\d{1,6}\): "
_STATUS_RATES = re.compile(r"\[([rwt]=[^\[\]]{1,80})\]")
_STATUS_RATE = re.compile(r"([rwt])=(\d{1,9}(?:\.\d{1,3})?[kKMG]?)")
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
_PERCENTILES = r"^\s*(?P<of>c?lat|sync) percentiles \((?P<unit>[num]sec)\):"
_PERCENTILE = r"(\d{1,3}\.\d{1,6})th=\[\s*(\d{1,15})\]"
_BINS = r"^\s*lat \((?P<unit>[num]sec)\)\s*: (?=[>\d])"
_BIN = r"(?<![=\d])(\d{1,7})=(\d{1,3}\.\d{1,3})%"
_DISK = (
    r"^\s*(?P<name>[\w!-]{2,64}): ios=(?P<reads>\d{1,15})/(?P<writes>\d{1,15}), .*\butil=[\d.]{1,9}%"
    r"(?:, aggrios=(?P<mean_reads>\d{1,15})/(?P<mean_writes>\d{1,15}),)?"
)
_DISKS = r"^\s*Disk stats \(read/write\):\s*$"
_OWN = (
    r"^\s*(?:fio-\d|Starting \d|Jobs: |\.\.\.$|slat |clat |lat |bw |iops\s|cpu\s|IO depths|submit|complete|"
    r"issued|latency\s|fsync/|sync |\|\s|Run status|READ:|WRITE:|TRIM:|Disk stats|clat percentiles|"
    r"sync percentiles|lat percentiles|bandwidth|fio: |note: |mixed|io_u|[\w-]+: Laying out|"
    r".{1,200}: \(g=\d+\): rw=)"
)
_TO_MS = {"nsec": 1e-6, "usec": 1e-3, "msec": 1.0}
_OF_SHARE = {f"{100 * share:.4g}": f"{name}_ms" for name, share in SHARES.items()}
_ROUNDED = 0.01
"""What a share in % is rounded to."""


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    if '"fio version"' in lines[0].text:
        return _read_json(lines, source)
    return _read_normal(lines, source)


def _read_json(lines: Sequence[Line], source: str) -> ContextBlock | None:
    decoded = json_object(lines, "fio version")
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
        "iodepth": parse_number(str(options.get("iodepth", ""))),
        "ioengine": str(options.get("ioengine", "")) or None,
        "direct": parse_number(str(options.get("direct", ""))),
        "jobs": parse_number(str(options.get("numjobs", ""))),
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
                **(_json_percentiles(result) or _json_bins(job)),
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


def _json_percentiles(result: Mapping[str, Any]) -> Values:
    """Percentiles of a direction in ms; 3.x prints those of `lat` where they were asked for instead."""
    for key, factor in (("clat_ns", 1e-6), ("lat_ns", 1e-6), ("clat", 1e-3), ("lat", 1e-3)):
        named = _mapping(_mapping(result.get(key)).get("percentile")).items()
        values = _kept(
            [(str(share), float(time)) for share, time in named if isinstance(time, int | float)], factor
        )
        if values:
            return values | ({"percentiles_of": "completion"} if key.startswith("clat") else {})
    return {}


def _kept(printed: Sequence[tuple[str, float]], factor: float) -> Values:
    """The percentiles that facts have, in ms, of those that fio printed."""
    named = [(_OF_SHARE.get(f"{parse_number(share) or 0:.6g}"), time) for share, time in printed]
    return {name: float(f"{time * factor:.6g}") for name, time in named if name and time > 0}


def _json_bins(job: Mapping[str, Any]) -> Values:
    """Percentiles by the latency bins of a job that did I/O of one direction alone."""
    busy = [done for way in ("read", "write", "trim") if (done := _mapping(job.get(way)).get("total_ios"))]
    bins = [
        (float(edge) * factor, float(share))
        for key, factor in (("latency_ns", 1e-6), ("latency_us", 1e-3), ("latency_ms", 1.0))
        for edge, share in _mapping(job.get(key)).items()
        if isinstance(share, int | float) and parse_number(edge)
    ]
    return _of_bins(bins, busy[0]) if len(busy) == 1 and isinstance(busy[0], int | float) else {}


def _of_bins(bins: Sequence[tuple[float, float]], requests: float) -> Values:
    """Percentiles by bins: (upper edge in ms, share in %); what is in none took longer than all edges."""
    if not bins:
        return {}
    edges = sorted(bins)
    beyond = max(0.0, 100.0 - sum(share for _, share in edges))
    bounds = pairwise([0.0, *(edge for edge, _ in edges)])
    found = [Bucket(*bound, share) for bound, (_, share) in zip(bounds, edges, strict=True)]
    found.append(Bucket(edges[-1][0], math.inf, beyond if beyond > _ROUNDED * len(edges) else 0.0))
    values = of_histogram([one._replace(requests=one.requests * requests / 100) for one in found])
    return {
        name: value
        for name, value in values.items()
        if name != "requests" and values[f"{name[:-3].removesuffix('_from')}_ms"] != math.inf
    }


def _read_normal(lines: Sequence[Line], source: str) -> ContextBlock | None:
    jobs: dict[str, Values] = {}
    found: list[_Result] = []
    options: Values = {}
    disks: list[tuple[re.Match[str], Line]] = []
    status: tuple[re.Match[str], Line] | None = None
    used = 0
    for at, line in solid(lines):
        text = line.text
        job, result, way = re.match(_JOB, text), re.match(_RESULT, text), re.match(_DIRECTION, text)
        disk = re.match(_DISK, text)
        if job:
            jobs[job["job"]] = _options(job)
        elif result:
            options = {"job": result["job"], **jobs.get(result["job"], {}), "jobs": float(result["jobs"])}
        elif running := re.match(_STATUS, text):
            status = (running, line)
        elif way and options:
            found.append(_Result({**options, "direction": way["way"], **_rates(way["rest"])}, [line]))
        elif found and at - used <= 3 and _take_times(found, line):
            pass
        elif disk:
            disks.append((disk, line))
        elif not re.match(_OWN, text):
            break
        used = at
    facts = [] if found or status is None else list(_while_running(jobs, *status, source))
    for each in found:
        own = [other for other in found if other.values["job"] == each.values["job"]]
        each.values.setdefault("device", _only([disk["name"] for disk, _ in disks]))
        if len(own) == 1 and not each.values.keys() & set(_OF_SHARE.values()):
            requests = float(each.values["iops"] or 0) * float(each.values["duration_s"] or 0)
            each.values.update(_of_bins(each.bins, requests))
        facts.append(_fact(each.values, source, each.lines))
    arrays = tuple(_arrays(disks, source))
    return ContextBlock(used, arrays, tuple(facts), layout="normal") if facts or arrays else None


def _while_running(
    jobs: Mapping[str, Values], status: re.Match[str], line: Line, source: str
) -> Iterator[Fact]:
    """What a run that is not over shows of itself: the last rates of its status line, without latencies."""
    if len(jobs) != 1:  # of several the line has sums
        return
    ((job, options),) = jobs.items()
    values = {**options, "jobs": float(status["jobs"]), "job": job}
    rates: dict[str, Values] = {}
    for group in _STATUS_RATES.findall(status.string):
        for way, number in _STATUS_RATE.findall(group):
            own = rates.setdefault(_WAYS[way], {})
            if group.endswith(" IOPS"):
                own["iops"] = float(number.rstrip("kM")) * _THOUSANDS.get(number[-1], 1.0)
            else:
                own["kb_per_s"] = size_kb(number)
    for way, own in rates.items():
        yield _fact({**values, "direction": way, **own}, source, [line])


_WAYS = {"r": "read", "w": "write", "t": "trim"}
_THOUSANDS = {"k": 1e3, "M": 1e6}


def _arrays(disks: Sequence[tuple[re.Match[str], Line]], source: str) -> Iterator[Device]:
    """md arrays over the disks whose lines follow theirs, where these have the means that fio prints."""
    for at, (array, line) in enumerate(disks):
        below = [*takewhile(lambda disk: disk["mean_reads"] is None, (disk for disk, _ in disks[at + 1 :]))]
        if array["mean_reads"] is None or len(below) < 2 or not array["name"].startswith("md"):
            continue
        sums = {way: sum(int(disk[way]) for disk in below) for way in ("reads", "writes")}
        if all(total // len(below) == int(array[f"mean_{way}"]) for way, total in sums.items()):
            members = tuple(disk["name"] for disk in below)
            yield describe(array["name"], origin("fio", source, line), kind="md", members=members)


@dataclass
class _Result:
    """What is known of a direction of a job; `of` and `unit` are those of the percentiles that follow."""

    values: Values
    lines: list[Line]
    of: str = ""
    unit: str = ""
    bins: list[tuple[float, float]] = field(default_factory=list)


def _take_times(found: Sequence[_Result], line: Line) -> bool:
    """Add a line's latencies to the direction above it; False where it has none."""
    now = found[-1]
    if latency := re.match(_LATENCY, line.text):
        key = "fsync_ms" if latency["what"] == "sync" else "latency_ms"
        now.values.setdefault(key, round(float(latency["mean"]) * _TO_MS[latency["unit"]], 6))
        now.lines.append(line)
    elif title := re.match(_PERCENTILES, line.text):
        now.of, now.unit = title["of"], title["unit"]
    elif shown := re.findall(_PERCENTILE, line.text):
        # below a title that is lost nothing says in which unit they are
        factor = _TO_MS.get(now.unit)
        values = _kept([(share, float(time)) for share, time in shown], factor) if factor else {}
        prefix = "fsync_" if now.of == "sync" else ""
        if values and now.of == "clat":
            now.values["percentiles_of"] = "completion"
        for name, value in values.items():
            now.values.setdefault(f"{prefix}{name}", value)
        now.lines += [line] if values else []
    elif bins := re.match(_BINS, line.text):
        factor = _TO_MS[bins["unit"]]
        now.bins += [(float(edge) * factor, float(share)) for edge, share in re.findall(_BIN, line.text)]
    else:
        return False
    return True


def _options(job: re.Match[str]) -> Values:
    size = re.search(r"(\d{1,9}(?:\.\d)?[kKMG]?i?)B?-", job["bs"] or "")
    return {
        "rw": job["rw"],
        "block_size_kb": size_kb(size[1].rstrip("i")) if size else None,
        "iodepth": float(job["depth"]),
        "ioengine": job["engine"],
    }


def _rates(text: str) -> Values:
    iops, bandwidth, runtime = re.search(_IOPS, text), re.search(_BANDWIDTH, text), re.search(_RUNTIME, text)
    return {
        "iops": float(iops[1]) * _THOUSANDS.get(iops[2], 1.0) if iops else None,
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
    # a mean of both times beside percentiles of one reads as a contradiction
    of = "of completion: " if values.get("percentiles_of") and values.get("latency_ms") else ""
    said += f" ({of}{told})" if (told := percentiles({**values, "max_ms": None})) else ""
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
        rf"|^\s*\S.{{0,200}}?: \(groupid=\d+, jobs=\d+\): err=|{_DISKS}"
    ),
    read=_read,
    releases="2.0 and later",
    not_read="terse output and the logs of single I/Os",
)
