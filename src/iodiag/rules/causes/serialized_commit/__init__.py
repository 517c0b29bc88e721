"""Commits wait for the flush of the log.

What it detects: a device whose cache flushes follow one another without a gap (flushes per second times
their latency between 0.6 and 2) while the CPU has time to spare. Where the source has no flush columns, the
same occupancy is what Little's law leaves over on kernels from 5.5 on, a guess where the kernel is unknown,
and nothing on older ones; beside writes larger than 16 kB it may as well be discards, and both are named.
Counted flushes are believed from one sample on; that none is counted shows nothing where small writes come
one at a time, as a disk without a write cache gets none. Flushes that each follow the same small number of
writes, and with these fill the time while about one task waits by iowait, are that task's, and a notice.
Flushes with more than a fifth of the time between them are a notice as well where iowait counts no task that
waits as long: there is room for more commits.
Small writes one at a time that keep a device busy for half of the time, each of them slow, are told as
commits or other synchronous writes, from one sample on; below 80 % busy as a notice. A process list full of
COMMIT, settings that make each commit durable, and runnable tasks that come in crowds are further witnesses;
without any device they carry the finding alone, which then names the disk that takes nearly all writes.

Why it matters: every commit waits for the one before, so throughput is bound by the latency of
one flush. The CPU idles, iowait stays low, and the disk looks lightly loaded.

When it is wrong: a background log writer flushes just the same while nobody waits for it (then the
CPU is busy). Lock contention, think time and replication acknowledgements also leave the CPU idle.
A single client that syncs each write fills the chain by itself; group commit does not help it. One that
writes past the cache one at a time without ever syncing looks the same; larger or parallel writes help it.

References: MySQL manual, innodb_flush_log_at_trx_commit and binlog_group_commit_sync_delay;
PostgreSQL manual, synchronous_commit and pg_test_fsync(1); block/blk-flush.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from iodiag.analysis.array.equal_rates import ALIKE_RATE
from iodiag.analysis.host.databases import ALL_RELAX, ALL_SHARE, relaxing_settings, sharing_settings, shown
from iodiag.analysis.host.process_of_device import busiest_writer, is_flusher
from iodiag.analysis.load.load_sentences import other_state_evidence
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, Weighs, cite, cite_fact, in_samples, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.view.view import View
from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, ToClear
from iodiag.rules.causes.serialized_commit.commits import (
    THRESHOLDS,
    Chain,
    Judgement,
    has_time,
    is_durable,
    judge,
    would_show,
)


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding per host: the chain is one, however many disks mirror it."""
    judgement = judge(view, limits)
    names = {chain.series.name for chain in judgement.chains}
    others = tuple(series.name for series in view.devices if series.name not in names)
    if judgement.confidence is None:
        yield from _not_found(view, judgement, limits)
        return
    yield _finding(view, judgement, limits)
    told = tuple(name for name in others if would_show(view, name, limits))
    if told:
        yield RULE.clear("its flush chain is not busy", *told)
    if untold := tuple(name for name in others if name not in told):
        yield RULE.undetermined(_UNTOLD, *untold)


def _not_found(view: View, judgement: Judgement, limits: Limits) -> Iterator[Outcome]:
    """Clear only where flushes are counted: crowds of tasks show commits, their absence does not."""
    names = tuple(series.name for series in view.devices)
    untold = tuple(name for name in names if not would_show(view, name, limits))
    if judgement.status != "clear":
        yield Outcome(RULE.id, judgement.status, names, judgement.reason)
        return
    if not names or untold:
        yield RULE.undetermined(_UNTOLD, *untold)
    if told := tuple(name for name in names if name not in untold):
        yield RULE.clear(judgement.reason, *told)


_UNTOLD = (
    "no flush is counted, and a disk without a write cache gets none: iostat -x of a recent sysstat, or a "
    "list of sessions, would settle it"
)


def _finding(view: View, judgement: Judgement, limits: Limits) -> Finding:
    cpu = judgement.witnesses.cpu
    values: Values = cpu.template_values() if cpu else {}
    rows = cpu.rows if cpu else None
    if judgement.chains:
        values |= judgement.chains[0].template_values() | _alike(judgement.chains)
        rows = judgement.chains[0].rows
    carrier = judgement.carrier
    values |= carrier.template_values() if carrier else {}
    room = " while {available:.1f} % of the CPU is free" if cpu else ""
    room += (_CARRIED + _FLAT * judgement.is_at_ceiling) * bool(carrier) + "."
    is_signature = bool(judgement.chains) and judgement.chains[0].is_signature
    unsure = ("whether the writes are commits or other synchronous writes",) if is_signature else ()
    return RULE.finding(
        severity="notice"
        if judgement.confidence == "low" or has_time(view, judgement, limits)
        else "warning",
        confidence=judgement.confidence,
        devices=tuple(chain.series.name for chain in judgement.places),
        **(time_fields(rows) if rows is not None else {}),
        summary=say(_said(judgement) + room, values),
        evidence=(
            *(item for chain in judgement.chains[:4] for item in _of_chain(chain, judgement.may_discard)),
            *_of_carrier(carrier),
            *_of_host(view, judgement, limits),
            *_outside(judgement, limits),
            *_who_writes(view),
        ),
        **_EITHER if judgement.may_discard else _of_commits(view, judgement),
        cannot_know=(
            *unsure,
            "who waits for the flushes, and for how long: only the application's side shows that",
        ),
    )


def _who_writes(view: View) -> Iterator[Evidence]:
    """The process that writes most, and the tasks that a list shows to wait (state D)."""
    if (writer := busiest_writer(view)) is not None:
        yield cite_fact(writer, "of the processes listed {process} writes most: {write_kb_per_s:.0f} kB/s")
    listed = (fact for fact in view.facts_of("top-processes", "ps") if fact.word("state") == "D")
    for fact in [fact for fact in listed if not is_flusher(fact.word("process"))][:_TASKS]:
        yield cite_fact(fact, weighs="context")


_TASKS = 3
"""Waiting tasks that are named."""


def _of_commits(view: View, judgement: Judgement) -> dict[str, Any]:
    share, relax = sharing_settings(view), relaxing_settings(view)
    remedy = (*_OF_CEILING * judgement.is_at_ceiling, *_remedies(share, relax))
    who = _WHO_SYNCS * any(chain.is_loop for chain in judgement.chains[:1])
    refutes = (
        "sessions that wait for locks, the network or a replica instead of the log",
        "a device whose flushes the application does not wait for",
    )
    return {"remedy": remedy, "confirm": (*who, *_commands(view)), "refutes": refutes}


_WHO_SYNCS = ("pidstat -d 1", "strace -f -c -e trace=fsync,fdatasync -p PID")


_EITHER: dict[str, Any] = {
    "title": "Requests are in flight that no column shows",
    "remedy": (
        "Tell them apart first: iostat -x of a recent sysstat counts discards (d/s) and flushes (f/s).",
        "Discards: mount without the option discard, and trim at quiet times (fstrim.timer).",
        "Flushes: sync less often, or use a device with a protected cache.",
    ),
    "confirm": ("iostat -xyt 1 30 DEVICE", "grep -w discard /proc/mounts"),
    "refutes": ("flushes and discards that are counted, and that leave as many in flight unexplained",),
}

_CARRIED = "; {device} takes nearly all writes: {writes}/s of {write_kb:.1f} kB, {write_await} ms each"
_FLAT = ", {util:.0f} % busy, at a rate that is flat to {flat:.1f} % in {count} samples, as at a ceiling"
_OF_CEILING = (
    "Find the limit of the log's device in IOPS and MB/s (of the volume, the instance, the disk): at a flat "
    "rate it takes no more commits of this kind; fewer or larger flushes, or a higher limit, do.",
)


def _of_carrier(carrier: Chain | None) -> Iterator[Evidence]:
    if carrier is not None:
        text = (
            "{device}: {writes} writes/s of {write_kb:.1f} kB at {write_await} ms, nearly all that is written"
        )
        if carrier.flat_pct >= 0:
            text += "; {low} to {high} requests/s in {count} samples, {util:.0f} % busy"
        yield cite(carrier.rows, text, carrier.template_values(), worst="util_pct")


def _commands(view: View) -> tuple[str, ...]:
    """Commands: of the database that the capture shows alone, and without what it holds already."""
    is_mysql, is_pg = shown(view)
    given = [words for kind, words in _GIVEN.items() if view.facts_of(kind)]
    other = () if is_mysql == is_pg else ("pg_", "psql") if is_mysql else ("mysql",)
    known = (*(_INNODB if is_mysql else ()), *RULE.confirm)
    return tuple(text for text in known if not text.startswith(other) and not any(w in text for w in given))


_GIVEN = {"processlist": "PROCESSLIST", "pg-activity": "pg_stat_activity", "innodb-status": "INNODB STATUS"}
_INNODB = ("mysql -e \"SHOW GLOBAL STATUS LIKE 'Innodb_os_log_%'\"", "mysql -e 'SHOW ENGINE INNODB STATUS'")


def _said(judgement: Judgement) -> str:
    sure = "wait" if judgement.confidence != "low" else "seem to wait"
    if not judgement.chains:
        return f"Commits {sure} for the log"
    first = judgement.chains[0]
    if first.is_signature:
        often = in_samples(len(first.series.samples))
        how = "one at a time" if first.occupancy <= _ONE else "with {occupancy} in flight"
        return (
            f"Commits or other synchronous writes {sure} for each other: {{device}} takes {{writes}} "
            f"writes/s of {{write_kb:.1f}} kB {how} {often}, {{write_await}} ms each"
        )
    who = "{device} has {occupancy:.2f} requests in flight"
    if is_set := bool(_alike(judgement.chains)):
        who = "{names} alike have {least:.2f} to {most:.2f} requests in flight each"
    if judgement.may_discard:
        text = " that no column shows, flushes or discards; "
        alone = "writes of {write_kb:.0f} kB take {write_await:ms}"
        return who + text + ("their writes take {quick:ms} to {slow:ms}" if is_set else alone)
    if first.is_inferred and is_set:
        return who + f" that no column shows, flushes or discards: commits {sure} for each other"
    if first.is_inferred:
        return f"Commits {sure} for each other: {{device}} has {{occupancy:.2f}} flushes in flight on average"
    if first.is_loop:
        text = (
            f"Synchronous writes {sure} for each other: {{device}} is flushed {{flushes}} times/s, once per "
        )
        return text + "{each:.2g} writes; write and flush take {write_await} and {flush_await} ms"
    often = "all the time" if first.occupancy >= 1 else "{share:.0f} % of the time"
    text = f"Commits {sure} for each other: {{device}} is flushing {often}"
    return text + " ({flushes} flushes/s, {flush_await} ms each)"


_ONE = 1.1
"""Writes in flight up to which they are called one at a time."""


def _alike(chains: Sequence[Chain]) -> Values:
    """What three and more equal devices have in flight alike, as legs of one set do; else nothing."""
    held, rates = ([getattr(one, name) for one in chains] for name in ("unseen", "writes_per_s"))
    if len(chains) < _LEGS or max(held) > _EQUAL * min(held) or max(rates) > ALIKE_RATE * min(rates):
        return {}
    names = ", ".join(one.series.name for one in chains[:4]) + ", ..." * (len(chains) > 4)
    waits = [one.write_await_ms for one in chains]
    ends: Values = {"least": min(held), "most": max(held), "quick": min(waits), "slow": max(waits)}
    return ends | {"names": names}


LARGEST_SMALL_KB = 64.0
"""The largest mean write that is called small, in kB."""

_LEGS, _EQUAL = 3, 1.3
"""Devices that are no chance, and times by which what they hold differs at the most."""


def _of_chain(chain: Chain, may_discard: bool) -> Iterator[Evidence]:
    values = chain.template_values()
    if chain.is_signature:
        text = "{device}: {writes} writes/s of {write_kb} kB at {write_await} ms: {occupancy} in flight"
        yield cite(chain.rows, text, values, worst="write_await_ms")
        yield from other_state_evidence(chain.series, chain.rows)
        return
    if chain.is_inferred:
        values["depth"] = weighted.mean(chain.rows, "depth")
        text = (
            "{device}: of {depth} in flight its reads and writes make all but {occupancy:.2f} by Little's "
            "law: flushes, from Linux 5.5 on"
        )
        text += ", or discards" * may_discard
        yield cite(chain.rows, text, values, worst="queue_depth")
    else:
        text = "{device}: {flushes} flushes/s at {flush_await} ms each keep {occupancy} flushes in flight"
        if chain.is_loop:
            text = "{device}: {flushes} flushes/s, one per {each} writes; with the {write_await} ms of these "
            text += "and {flush_await} ms of their own they fill {occupancy:.2f} of the time"
        yield cite(chain.rows, text, values, worst="flush_await_ms")
    text = "{device}: {writes} {kind}/s of {write_kb} kB at {write_await} ms"
    text += ": small log writes" if chain.write_kb <= LARGEST_SMALL_KB and not may_discard else ""
    yield cite(chain.rows, text, values, worst="write_await_ms")
    if chain.flush_await_ms > 0:
        text = "{device}: a commit that needs a flush of its own takes {flush_await} ms at the least"
        yield cite(chain.rows, text, values, weighs="context")


def _of_host(view: View, judgement: Judgement, limits: Limits) -> Iterator[Evidence]:
    cpu, bursts = judgement.witnesses.cpu, judgement.witnesses.run_queue_bursts
    if cpu:
        text = "{available:.1f} % of CPU time is unused (idle {idle:.1f} % plus iowait {iowait:.1f} %): "
        # a device that is hardly left idle takes no more, however much the CPU would
        is_full = any(chain.util >= limits.full_util / 100 for chain in judgement.chains[:1])
        # nor does the CPU tell how much more flushes allow that do not fill the time
        is_full |= judgement.is_at_ceiling or has_time(view, judgement, limits)
        text += _NO_ROOM if is_full else _ROOM
        yield cite(cpu.rows, text, cpu.template_values(), worst="idle_pct")
    if bursts:
        text = (
            "runnable tasks come in crowds (r = {runs} …): {empty:.0f} % of samples have one or none, "
            "{crowded:.0f} % have {crowd:.0f} or more; variance over mean is {dispersion:.1f}"
        )
        yield cite(bursts.rows, text, bursts.template_values(), worst="run_queue")


_NO_ROOM = "the CPU is not what limits"
_ROOM = (
    "up to {ceiling:.2f} times the work fits, not the {without_iowait:.2f} times that iowait alone suggests"
)


def _outside(judgement: Judgement, limits: Limits) -> Iterator[Evidence]:
    witnesses = judgement.witnesses
    if witnesses.sessions:
        values: Values = {
            "waiting": fmean(fact.number("sessions_in_commit") for fact in witnesses.sessions),
            "active": fmean(fact.number("active_sessions") for fact in witnesses.sessions),
            "listings": len(witnesses.sessions),
        }
        # listings of several moments show the same sessions again: they are averaged, never added up
        text = "{waiting:.0f} of {active:.0f} active sessions were in COMMIT (listings: {listings})"
        if len(witnesses.sessions) > 1:
            text = "{waiting:.1f} of {active:.1f} active sessions were in COMMIT (mean of {listings} lists)"
        weighs: Weighs = "for" if witnesses.in_commit >= limits.commit_share else "against"
        yield _cited(witnesses.sessions[0], text, values, weighs)
    for fact in witnesses.engine[:1]:
        yield cite_fact(fact, weighs="context")
    for fact in witnesses.settings[:2]:
        known = [name for name in _SETTINGS if name in fact.values]
        yield cite_fact(
            fact,
            ", ".join(f"{name} = {{{name}}}" for name in known),
            weighs="for" if is_durable(fact) else "against",
        )
    flushes = judgement.chains[0].flushes_per_s if judgement.chains else float("nan")
    for fact in witnesses.rates[-1:]:
        rate = fact.number("transactions_per_s")
        if flushes > 0:
            text = "{rate} transactions/s: {group} of them share each flush"
            yield _cited(fact, text, {"rate": rate, "group": rate / flushes}, "context")
        else:
            yield cite_fact(fact, weighs="context")


def _cited(fact: Fact, text: str, values: Values, weighs: Weighs) -> Evidence:
    """A sentence of several facts' numbers, at the address of one."""
    return replace(cite_fact(fact, weighs=weighs), text=say(text, values), values=values)


_SETTINGS = ("innodb_flush_log_at_trx_commit", "sync_binlog", "synchronous_commit", "fsync")


def _remedies(share: str, relax: str) -> tuple[str, ...]:
    return (
        "Put the log on a device whose flush is quick: a power-protected SSD, or a battery-backed cache.",
        "Batch: several records per transaction or fsync."
        + (f" Let commits share flushes: {share}." if share else ""),
        f"Only if losing about a second of commits at a crash is acceptable: {relax}.",
    )


RULE = Rule(
    id="serialized-commit",
    explains=("symptom", "flush-latency", "iowait-misread"),
    replaces=("low-concurrency-bound",),
    title="Commits wait for the flush of the log",
    why="Each commit waits for the flush before it, so one flush's latency bounds the whole application.",
    remedy=_remedies(ALL_SHARE, ALL_RELAX),
    needs=Needs(
        one_of=(
            {"disk": ("ios_per_s", "queue_depth|flushes_per_s")},
            {"cpu": ("idle_pct", "iowait_pct"), "queue": ("run_queue",)},
            {"cpu": ("idle_pct", "iowait_pct")},
        )
    ),
    thresholds=THRESHOLDS,
    confirm=(
        "fio --name=log --rw=write --bs=8k --fdatasync=1 --size=64m --directory=MOUNTPOINT",
        "pidstat -d 1 10",
        "mysql -e 'SHOW PROCESSLIST'",
        "pg_test_fsync",
        "psql -c 'SELECT wait_event, count(*) FROM pg_stat_activity GROUP BY 1'",
    ),
    references=("https://docs.kernel.org/block/writeback_cache_control.html",),
    pictures=("cpu",),
    to_clear=ToClear(columns=("write_kb_per_s", "util_pct", "await_ms|write_await_ms")),
    detect=detect,
)
