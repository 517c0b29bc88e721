"""The head of top: its numbers stand in front of their words."""

import io
import math

import pytest

import iodiag
from text_reading import reading

HEAD = """\
top - 09:14:{second:02} up 12 days,  3:41,  2 users,  load average: 6.31, 4.20, 1.87
Tasks: 190 total,   1 running, 189 sleeping,   0 stopped,   0 zombie
%Cpu(s):  3.0 us,  1.0 sy,  0.5 ni, {idle} id, 46.0 wa,  1.0 hi,  0.5 si,  0.0 st
{unit} Mem :  15888.4 total,   9312.5 free,   2200.1 used,   4375.7 buff/cache
{unit} Swap:   2048.0 total,   1024.0 free,   1024.0 used.  13307.9 avail Mem

    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
   2871 mysql     20   0 1466688 173192  62468 D   1.2   0.7   0:06.51 mysqld
"""
SHARES = ("user_pct", "system_pct", "nice_pct", "idle_pct", "iowait_pct")


def head(second=2, idle=48.0, unit="KiB"):
    return HEAD.format(second=second, idle=idle, unit=unit)


def read(text):
    return iodiag.read(io.BytesIO(text.encode()))


def row(capture, table, place=-1):
    return capture.tables[table].iloc[place].to_dict()


def test_each_number_is_of_its_word_and_in_its_unit():
    capture = read(head(unit="MiB"))
    memory, swap = row(capture, "memory"), row(capture, "swap")
    assert (memory["free_kb"], memory["used_kb"]) == (9312.5 * 1024, 2200.1 * 1024)
    assert memory["available_kb"] == 13307.9 * 1024
    assert (swap["free_kb"], swap["used_kb"]) == (1048576, 1048576)
    cpu = row(capture, "cpu")
    assert [cpu[name] for name in SHARES] == [3, 2.5, 0.5, 48, 46]
    assert (cpu["irq_pct"], cpu["softirq_pct"], cpu["cpu"]) == (1, 0.5, "all")
    assert [row(capture, name)["line"] for name in ("cpu", "memory", "swap")] == [3, 4, 4]
    assert {fact.kind: fact.ref.first for fact in capture.evidence} == {"uptime": 1, "top-processes": 8}
    assert capture.ledgers[0].counts == {"row": 3, "context": 4}


@pytest.mark.parametrize(
    "line",
    [
        "Cpu(s): 29.4% us,  2.4% sy,  0.0% ni, 20.0% id, 48.2% wa,  0.0% hi,  0.0% si",
        "Cpu(s): 29.4%us,  2.4%sy,  0.0%ni, 20.0%id, 48.2%wa,  0.0%hi,  0.0%si,  0.0%st",
        "%Cpu(s): 29.4 us,  2.4 sy,  0.0 ni, 20.0 id, 48.2 wa,  0.0 hi,  0.0 si,  0.0 st ",
        "%Cpu(s): 29,4 us,  2,4 sy,  0,0 ni, 20,0 id, 48,2 wa,  0,0 hi,  0,0 si,  0,0 st",
        "%Cpu(s): 48.2 wa, 29.4 us,  2.4 sy, 20.0 id,  0.0 ni",
    ],
    ids=["3.0", "3.2", "3.3", "commas", "another order"],
)
def test_shares_of_all_releases(line):
    cpu = row(read(line + "\n"), "cpu")
    assert [cpu[name] for name in SHARES] == [29.4, 2.4, 0, 20, 48.2]


def test_no_blank_stands_in_front_of_a_hundred():
    cpu = row(
        read("%Cpu(s):  0.0 us,100.0 sy,  0.0 ni,  0.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st\n"), "cpu"
    )
    assert (cpu["user_pct"], cpu["system_pct"], cpu["idle_pct"]) == (0, 100, 0)


def test_each_cpu_is_a_row_of_its_own():
    lines = [f"%Cpu{n}  :  {n}.0 us,  1.0 sy,  0.0 ni, 98.0 id,  0.0 wa" for n in range(3)]
    cpu = read("\n".join(lines) + "\n").tables["cpu"]
    assert cpu["cpu"].astype(str).tolist() == ["0", "1", "2"]
    assert cpu["user_pct"].tolist() == [0, 1, 2]
    assert cpu["report"].tolist() == [0, 0, 0]
    assert cpu["line"].tolist() == [1, 2, 3]


def test_the_page_cache_of_old_releases_stands_beside_swap():
    text = (
        "Mem:   8062288k total,  7900000k used,   150000k free,    20000k buffers\n"
        "Swap:  2097144k total,      100k used,  2097044k free,  3000000k cached\n"
    )
    memory = row(read(text), "memory")
    assert (memory["free_kb"], memory["buffers_kb"], memory["cached_kb"]) == (150000, 20000, 3000000)
    assert row(read(text), "swap")["used_kb"] == 100


@pytest.mark.parametrize(("unit", "kb"), [("KiB", 1), ("MiB", 1024), ("GiB", 1024**2), ("TiB", 1024**3)])
def test_the_unit_stands_in_front(unit, kb):
    text = f"{unit} Mem :     12.5 total,      2.5 free,      8.0 used,      2.0 buff/cache\n"
    assert row(read(text), "memory")["used_kb"] == 8 * kb


def test_a_number_that_lost_its_last_digits_is_none():
    memory = row(read("KiB Mem : 13190736+total, 1319073+free,   2200 used,   4375 buff/cache\n"), "memory")
    assert "free_kb" not in memory
    assert memory["used_kb"] == 2200


def test_only_where_threads_are_shown_are_tasks_counted():
    """In the usual view a process whose main thread sleeps counts as asleep, however many others run."""
    counted = "190 total,   4 running, 177 sleep,   9 d-sleep,   0 stopped,   0 zombie"
    threads, tasks = (
        read(head().replace(head().splitlines()[1], f"{label}: {counted}")) for label in ("Threads", "Tasks")
    )
    queue = row(threads, "queue")
    assert (queue["tasks"], queue["run_queue"], queue["blocked"], queue["line"]) == (190, 4, 9, 2)
    assert "queue" not in tasks.tables


def test_a_line_that_lost_its_end_is_not_read():
    text = "%Cpu(s): 29.4 us,  2.4 sy,  0.0 ni, 20.0 id, 48.2 wa,  0.0 hi,  0.0 si,  0.0\nst\n"
    assert read(head() + text).tables["cpu"]["line"].tolist() == [3]


def test_frames_that_follow_are_samples_and_the_first_is_none():
    capture = read(head(2, 40.0) + "\n" + head(5, 48.0) + "\n" + head(8, 48.0))
    cpu, memory = capture.tables["cpu"], capture.tables["memory"]
    assert cpu["since_boot"].tolist() == [True, False, False]
    assert cpu["interval_s"].tolist()[1:] == [3, 3]
    assert math.isnan(cpu["interval_s"].iloc[0])
    assert not memory["since_boot"].any()
    (note,) = capture.notes
    assert "top's first screen" in note.reason


@pytest.mark.parametrize(
    ("shares", "flags"), [([48.0] * 5, [True] * 5), ([48.0] * 4 + [40.0], [True] + [False] * 4)]
)
def test_screens_that_a_loop_starts_anew_are_averages_since_boot(shares, flags):
    screens = (f"Fri Nov 20 09:14:{n}0 UTC 2026\n{head(n, share)}" for n, share in enumerate(shares))
    cpu = read("\n".join(screens)).tables["cpu"]
    assert cpu["since_boot"].tolist() == flags
    assert cpu["is_brief"].tolist() == [not flag for flag in flags]
    assert cpu["interval_s"].isna().all()


def test_screens_of_one_top_are_samples_though_none_moves():
    cpu = read("\n".join(head(n, 48.0) for n in range(6))).tables["cpu"]
    assert cpu["since_boot"].tolist() == [True] + [False] * 5
    assert cpu["may_be_sample"].all()
    assert not cpu["is_brief"].any()


@pytest.mark.parametrize("is_loop", [True, False])
@pytest.mark.parametrize(("idle", "waits", "is_hung"), [(0.0, 94.0, True), (2.0, 46.0, False)])
def test_a_host_that_hangs_stands_still_now_and_one_that_is_busy_may_on_average(
    idle, waits, is_hung, is_loop
):
    date = "Fri Nov 20 09:14:{}0 UTC 2026\n" if is_loop else "\n"
    text = "".join(date.format(n) + head(n, idle) for n in range(5)).replace("46.0 wa", f"{waits} wa")
    cpu = read(text).tables["cpu"]
    assert cpu["since_boot"].tolist() == [True] + [is_loop and not is_hung] * 4
    assert cpu["may_be_sample"].tolist() == [True] + [not is_hung] * 4
    assert cpu["is_brief"].tolist() == [False] + [is_loop and is_hung] * 4


@pytest.mark.parametrize(("screens", "is_still"), [(2, False), (4, True)])
def test_the_cpus_of_a_screen_are_no_screens(screens, is_still):
    cpus = "".join(f"%Cpu{n}  : {n}0.0 us,  0.0 sy,  0.0 ni, 40.0 id, {6 - n}0.0 wa\n" for n in range(2))
    text = "".join(f"Fri Nov 20 09:14:{n}0 UTC 2026\n{cpus}\n" for n in range(screens))
    cpu = read(text).tables["cpu"]
    assert cpu["since_boot"].tolist() == [True] * 2 + [is_still] * 2 * (screens - 1)


def test_the_date_of_a_script_is_kept():
    capture = read("Fri Nov 20 09:14:01 UTC 2026\n" + head())
    assert str(capture.tables["memory"]["time"].iloc[0])[:19] == "2026-11-20 09:14:01"


@pytest.mark.parametrize(
    ("date", "is_known"),
    [("Fri Nov 20 09:14:01 UTC 2026", True), ("Fri Nov 20 14:14:01 UTC 2026", False)],
    ids=["its own", "of another zone"],
)
def test_the_date_above_a_top_is_that_of_all_its_screens_if_their_clocks_agree(date, is_known):
    screens = [head(2).replace("09:14", clock) for clock in ("09:14", "09:34", "23:54", "00:14")]
    capture = read(f"{date}\n" + "\n".join(screens))
    times = capture.tables["cpu"]["time"]
    told = [time.strftime("%d %H:%M") if time == time else "" for time in times]
    own = ["20 09:34", "20 23:54", ""] if is_known else [""] * 3
    assert told == [f"20 {date[11:16]}", *own]
    assert not any("clock is before" in note.reason for note in capture.notes)


def test_the_heads_of_several_hosts_have_units_and_orders_of_their_own():
    lines = (
        "MiB Mem :  15888.0 total,   9312.0 free,   2200.0 used,   4375.0 buff/cache",
        "KiB Mem :  15888 total,   9312 free,   2200 used,   4375 buff/cache",
        "KiB Mem :  15888 total,   2200 used,   9312 free,   4375 buff/cache",
    )
    memory = read("\n".join(lines) + "\n").tables["memory"]
    assert memory["free_kb"].tolist() == [9312 * 1024, 9312, 9312]
    assert memory["used_kb"].tolist() == [2200 * 1024, 2200, 2200]


def test_a_paste_that_doubles_line_feeds_is_read_like_any_other():
    text = "Fri Nov 20 09:14:01 UTC 2026\n" + "\n".join(head(second, 40.0 + second) for second in (2, 5, 8))
    once, twice = read(text), read(text.replace("\n", "\n\n"))
    for name in ("cpu", "memory", "swap"):
        kept = [table.drop(columns=["line", "source"]) for table in (once.tables[name], twice.tables[name])]
        assert kept[0].equals(kept[1])
    assert (once.ledgers[0].counts, once.notes[0].reason) == (twice.ledgers[0].counts, twice.notes[0].reason)


def test_a_head_on_one_line_counts_as_one_line():
    assert read(head().replace("\n", "\\n") + "\n").ledgers[0].counts == {"row": 1}


@pytest.mark.parametrize(
    "text",
    [
        "CPU:  3.1% user,  0.0% nice,  1.2% system,  0.0% interrupt, 95.7% idle\n",
        "CPU states: 91.0% idle, 5.0% user, 4.0% kernel, 0.0% iowait, 0.0% swap\n",
        "%CPU(s):  3,0 be,  1,0 sy,  0,0 ni, 90,0 un,  6,0 wa\n",
        "              total        used        free\nMem:          15888        2200        9312\n",
        "Mem: 7.6Gi 1.2Gi\nTasks: 3 done, 4 open\n",
    ],
    ids=["FreeBSD", "Solaris", "German", "free", "prose"],
)
def test_other_tools_have_other_words(text):
    table = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\nsda 0.00 1.00 10.00 2.00 40.00 8.00 8.00 0.05 4.00 2.00 2.40\n"  # noqa: E501
    assert set(read(table + text).tables) == {"disk"}


def test_a_report_of_iostat_below_it_is_another():
    table = "avg-cpu: %user %nice %system %iowait %steal %idle\n 1.00 0.00 1.00 8.00 0.00 90.00\n\nDevice: tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 10.00 40.00 8.00 40 8\n"  # noqa: E501
    capture = read(head() + "\n" + table)
    cpu = capture.tables["cpu"]
    assert cpu["segment"].tolist() == [1, 0]
    assert cpu["since_boot"].tolist() == [True, False]
    assert (capture.disk["segment"].tolist(), capture.disk["report"].tolist()) == ([0], [0])


@pytest.mark.parametrize("word", ["top:", "top: ", "top:cpu", "top::", "top:disk:", "top:cpu:KIB:x"])
def test_words_that_only_begin_as_its_rows_do_are_prose(word):
    assert not reading(f"{word}\n\n{word} usr sys\n1.0 2.0\n").tables


MIB = "MiB Mem :  15888.4 total,   9312.5 free,   2200.1 used,   4375.7 buff/cache"


@pytest.mark.parametrize(
    ("memory", "is_average"),
    [
        (MIB, False),
        (MIB.replace(".", ","), False),
        (MIB.replace("15888.4 total", "1588842+total"), False),
        (MIB.replace("MiB", "KiB"), True),
        ("MiB Mem : 15888.42+total, 9312.512 free, 2200.104 used, 4375.710 buff/cache", True),
        ("GiB Mem :   15.516 total,    9.094 free,    2.149 used,    4.273 buff/cache", True),
        ("MiB Mem : 13.1/15888.4   [|||||||||||                      ]", True),
        ("MiB Mem : is what newer ones print", True),
    ],
    ids=["MiB", "commas", "cut", "KiB", "3.3.10", "GiB of 3.3.10", "bars", "prose"],
)
def test_a_top_with_one_decimal_of_memory_measures_a_moment_from_its_first_screen_on(memory, is_average):
    """procps-ng looks at the CPUs twice since 3.3.13, and prints fewer decimals of memory since then."""
    screens = [
        head(second).replace(MIB.replace("MiB", "KiB"), memory).replace("KiB Swap", f"{memory[:3]} Swap")
        for second in (2, 5)
    ]
    cpu = read("\n".join(screens)).tables["cpu"]
    assert cpu["since_boot"].tolist() == [is_average, False]
    assert cpu["is_brief"].tolist() == [not is_average, False]
    assert cpu["interval_s"].isna().tolist() == [True, False]


def test_screens_of_two_hosts_are_each_judged_by_the_memory_below_them():
    cpu = read("\n".join(head(n, unit=unit) for n, unit in enumerate(["KiB", "KiB", "MiB", "MiB"]))).tables[
        "cpu"
    ]
    assert cpu["since_boot"].tolist() == [True, False, False, False]
    assert cpu["is_brief"].tolist() == [False, False, True, False]


def test_memory_has_the_share_that_is_used_of_its_total():
    """Cache is neither free nor used there: what these make is not all of it."""
    memory = row(read(head(unit="MiB")), "memory")
    assert memory["used_pct"] == pytest.approx(100 * 2200.1 / 15888.4)
    assert "total_kb" not in memory


BUSYBOX = """\
Mem: 241420K used, 14336K free, 1448K shrd, 116K buff, 5136K cached
{label}:{user} usr{system} sys   0% nic   0% idle  83% io   0% irq   1% sirq
Load average: 12.65 11.29 10.04 4/180 16057
  PID  PPID USER     STAT   VSZ %VSZ %CPU COMMAND
"""


@pytest.mark.parametrize(
    ("label", "shares", "cpu"),
    [
        ("CPU", ("   1%", "  15%"), "all"),
        ("CPU1", ("   1%", "  15%"), "1"),
        ("CPU", (" 1.0%", "15.0%"), "all"),
    ],
    ids=["whole", "each", "decimals"],
)
def test_busybox_has_words_of_its_own(label, shares, cpu):
    """It looks at the CPUs twice before its first screen, which is of a moment."""
    capture = read(BUSYBOX.format(label=label, user=shares[0], system=shares[1]))
    shown = row(capture, "cpu")
    names = (*SHARES, "softirq_pct", "cpu", "is_brief", "since_boot")
    assert [shown[name] for name in names] == [1, 16, 0, 0, 83, 1, cpu, True, False]
    memory = row(capture, "memory")
    names = ("used_kb", "free_kb", "buffers_kb", "cached_kb")
    assert [memory[name] for name in names] == [241420, 14336, 116, 5136]
    queue = row(capture, "queue")
    assert [queue[name] for name in ("load_1m", "load_5m", "load_15m")] == [12.65, 11.29, 10.04]
