import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import iodiag
from iodiag.formats.context._process_io import program
from iodiag.formats.context.pidstat import FORMAT
from reading import blocks_of
from sample_files import SAMPLES as SAMPLES_FOLDER

SAMPLES = """\
03:11:56 PM   UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
03:11:57 PM     0      1237      8.00 307200.00      0.00      60  dd
03:11:57 PM   112      2871     32.00    100.00      0.00       4  mysqld

03:11:57 PM   UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
03:11:58 PM   112      2871      0.00    300.00      0.00       2  mysqld

Average:      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
Average:      112      2871     16.00    200.00      0.00       3  mysqld
"""


def facts_of(text):
    (block,) = blocks_of(FORMAT, text)
    return block, [fact.values for fact in block.facts]


def named(text):
    return {values["process"]: values for values in facts_of(text)[1][1:]}


def test_means_count_the_samples_in_which_a_process_did_nothing():
    block, (total, *each) = facts_of(SAMPLES + "\nprose\n")
    assert block.used == SAMPLES.count("\n")
    assert (total["processes"], total["samples"], total["write_kb_per_s"]) == (2, 2, 153800)
    assert [values["process"] for values in each] == ["dd", "mysqld"]
    assert each[0] == {
        **{"process": "dd", "pid": "1237", "samples": 2, "io_delay_ticks": 30},
        "most_io_delay_ticks": 60,
        **{"read_kb_per_s": 4, "write_kb_per_s": 153600, "read_rank": 2, "write_rank": 1},
    }
    assert each[1]["write_kb_per_s"] == 200
    assert "153600 kB/s" in block.facts[1].text
    assert block.facts[1].ref.first == 2


@pytest.mark.parametrize(("pid", "read", "basis"), [("77", 700, "averages"), ("78", 1000, "mean of 2")])
def test_unequal_samples_move_what_pidstat_says_they_do(pid, read, basis):
    """The second lasted longer: another process's average tells nothing of this one."""
    head = "UID PID kB_rd/s kB_wr/s kB_ccwr/s iodelay Command\n"
    rows = (f"10:00:0{n + 1} 0 77 {kb} 0.00 0.00 0 app\n" for n, kb in enumerate((2000.0, 0.0)))
    text = f"10:00:00 {head}{''.join(rows)}\nAverage: {head}Average: 0 {pid} 700.00 0.00 0.00 0 app\n"
    block, (_, process) = facts_of(text)
    assert process["read_kb_per_s"] == read
    assert basis in block.facts[1].text


def test_a_sample_that_stands_twice_counts_once():
    first, second, _ = SAMPLES.split("\n\n")
    capture = iodiag.read(io.BytesIO(f"{first}\n\n{second}\n\n{second}\n".encode()), name="x")
    everything = capture.tables["process"].query("pid == 'all'")
    assert everything["write_kb_per_s"].tolist() == [307300, 300]
    total = next(fact.values for fact in capture.evidence if "processes" in fact.values)
    assert (total["samples"], total["write_kb_per_s"]) == (2, 153800)


def test_averages_stand_in_where_there_is_nothing_else():
    _, (total, process) = facts_of(SAMPLES[SAMPLES.index("Average:") :])
    assert (process["process"], process["write_kb_per_s"]) == ("mysqld", 200)
    assert total["samples"] == 1


IO = "kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command"
OLD = "kB_rd/s   kB_wr/s kB_ccwr/s  Command"


@pytest.mark.parametrize(
    ("text", "process", "read", "write"),
    [
        (f"10:00:01          PID   {OLD}\n10:00:02  77  1.50  2.00  0.00  dd\n", "dd", 1.5, 2),
        (
            f"#      Time       PID  {OLD}\n 1271932803  77  4.00  6.00  0.00  dd\n"
            " 1271932804  77  2.00  0.00  0.00  dd\n",
            "dd",
            3,
            3,
        ),
        (
            f"# Time      USER       PID    %usr %system  %guest    %CPU   CPU   {OLD}\n"
            "10:00:02 AM  www-data  77  0.00 1.00 0.00 1.00 0  5.00  6.00  0.00  /usr/sbin/nginx -g x;\n",
            "nginx",
            5,
            6,
        ),
        (
            f"10:00:01  UID  TGID  TID  {IO}\n"
            "10:00:02  0  77  -  5.00  6.00  0.00  0  java\n"
            "10:00:02  0  -  78  5.00  6.00  0.00  0  |__GC Thread#0\n",
            "java",
            5,
            6,
        ),
        (f"10:00:01  UID  PID  {IO}\n10:00:02  0  77  5,50  6,00  0,00  0  dd\n", "dd", 5.5, 6),
        (f"10:00:01  UID  PID  {IO}\n10:00:02  0  77  1.5M  600.0k  0.0k  0  dd\n", "dd", 1536, 600),
        (f"Moyenne :  UID  PID  {IO}\nMoyenne :  0  77  5,50  6,00  0,00  0  dd\n", "dd", 5.5, 6),
    ],
    ids=["no-uid", "epochs", "all-in-one-line", "threads", "commas", "human", "french"],
)
def test_renderings(text, process, read, write):
    values = named(text)
    assert list(values) == [process]
    assert (values[process]["read_kb_per_s"], values[process]["write_kb_per_s"]) == (read, write)


def test_what_may_not_be_known_is_absent():
    header = "10:00:01  UID  PID  kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n"
    values = named(
        header + "10:00:02  0  77  -1.00  3.00  -1.00  0  dd\n10:00:02  0  78  -1.00  -1.00  -1.00  0  sh\n"
    )
    assert "read_kb_per_s" not in values["dd"]
    assert "sh" not in values


def test_processes_that_may_not_be_seen_moved_nothing_that_is_told():
    header = "10:00:01  UID  PID  kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n"
    rows = "".join(f"10:00:02  0  {pid}  -1.00  -1.00  -1.00  53  kworker/u16:{pid}\n" for pid in (2, 3))
    capture = iodiag.read(io.BytesIO(f"{header}{rows}\n{header}".encode()), name="c.txt")
    assert "; what 2 of them moved may not be seen" in next(fact.text for fact in capture.evidence)
    table = capture.tables["process"]
    # a sum of what is known would pass for that of all
    assert "all" not in set(table["pid"])
    told = [outcome.reason for outcome in iodiag.analyze(capture).outcomes if outcome.rule == "process-waits"]
    assert any("of its time; what it moves may not be seen" in reason for reason in told)


def test_five_of_each_direction_are_named():
    rows = "".join(f"10:00:02 0 {n} {n}.00 {20 - n}.00 0.00 0 job{n}\n" for n in range(1, 20))
    values = named("10:00:01  UID  PID  kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n" + rows)
    assert set(values) == {f"job{n}" for n in (1, 2, 3, 4, 5, 15, 16, 17, 18, 19)}
    assert {values[f"job{n}"]["write_rank"] for n in range(1, 6)} == {1, 2, 3, 4, 5}


def test_other_tables_are_recognised_and_give_no_io():
    text = (
        "10:00:01  UID  PID  %usr %system  %guest  %wait  %CPU  CPU  Command\n"
        "10:00:02  0  77  1.00  0.00  0.00  0.00  1.00  1  dd\n"
    )
    block, _ = facts_of(text)
    assert (block.used, [fact.kind for fact in block.facts]) == (2, ["top-processes"])
    block, values = facts_of(text + "\n" + SAMPLES)
    assert values[0]["samples"] == 2


def test_in_a_whole_capture_it_is_no_section_of_sar():
    capture = iodiag.read(
        io.BytesIO(b"Linux 5.14.0 (db1) \t11/20/2026 \t_x86_64_\t(4 CPU)\n\n" + SAMPLES.encode())
    )
    assert set(capture.tables) == {"process"}
    assert [fact.values.get("process") for fact in capture.evidence] == [None, "dd", "mysqld"]
    assert not capture.unparsed


def test_a_run_without_any_io_says_so():
    header = "10:00:01  UID  PID  kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n\n"
    _, (total,) = facts_of(header * 3)
    assert (total["processes"], total["samples"], total["write_kb_per_s"]) == (0, 3, 0)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("kworker/u8:0-events_unbound", "kworker/u8:0-events_unbound"),
        ("Web Content", "Web Content"),
        ("[jbd2/sda1-8]", "[jbd2/sda1-8]"),
        ("/usr/bin/mysql -psecret db", "mysql"),
        ("mysql -psecret", "mysql"),
        ("postgres: app shop [local] COMMIT", "postgres"),
        ("|__dd", "dd"),
        ("/", "/"),
    ],
)
def test_a_command_keeps_its_program_and_none_of_its_arguments(command, name):
    assert program(command) == name


@given(
    st.lists(
        st.sampled_from([*SAMPLES.splitlines(), "", "x", "03:11:57 PM 0 1", "Average: 1 2 3"]), max_size=12
    )
)
@example([SAMPLES.splitlines()[at] for at in (7, 2, 0, 1)])
def test_no_order_of_lines_breaks_it(lines):
    for block in blocks_of(FORMAT, "\n".join(lines)):
        assert 1 <= block.used <= len(lines)


JSON = (SAMPLES_FOLDER / "pidstat/d.json").read_text()


def test_json_gives_what_the_text_gives():
    block, (total, *each) = facts_of(JSON)
    assert (block.used, block.host) == (JSON.count("\n"), "db1")
    assert (total["processes"], total["samples"], total["write_kb_per_s"]) == (3, 2, 15360)
    assert {values["process"]: values["pid"] for values in each} == {"rsync": "3990", "mysqld": "2871"}
    assert each[1]["io_delay_ticks"] == 30.5
    assert JSON.splitlines()[block.facts[1].ref.first - 1].strip().endswith('"rsync"}')


def test_a_sample_without_rows_counts_in_json_too():
    last = JSON.index('{"UID"', JSON.index("10:15:02"))
    emptied = JSON[:last] + JSON[JSON.index("]", last) :]
    assert facts_of(emptied)[1][0]["write_kb_per_s"] == 10240


@pytest.mark.parametrize(
    "row",
    [
        '{"TGID": 77, "TID": 0, "kB_rd/s": 5.0, "kB_wr/s": 6.0, "Command": "java"}',
        '{"user": "root", "pid": "77", "kB_rd/s": 5.0, "kB_wr/s": 6.0, "command": "/opt/bin/java -x"},'
        '{"user": "root", "pid": "-", "tid": 78, "kB_rd/s": 5.0, "kB_wr/s": 6.0, "command": "|__GC"}',
    ],
)
def test_json_by_other_names(row):
    text = f'{{"sysstat": {{"hosts": [{{"statistics": [{{"task": [{row}]}}]}}]}}}}\n'
    _, (total, process) = facts_of(text)
    assert (process["process"], process["pid"], total["write_kb_per_s"]) == ("java", "77", 6)


@pytest.mark.parametrize("text", [JSON[:-40], JSON.replace('"cmd"', '"name"'), '{"sysstat": {"hosts": 3}}\n'])
def test_json_that_is_cut_or_another_tool_s_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []


def test_the_length_of_a_sample_is_told_by_the_clocks_of_headers_and_rows():
    assert facts_of(SAMPLES)[1][0]["interval_s"] == 1
    assert (
        "interval_s"
        not in facts_of(SAMPLES.replace("03:11:57", "03:11:56").replace("03:11:58", "03:11:56"))[1][0]
    )
    two = (
        SAMPLES.replace("03:11:58", "03:12:03")
        .replace("03:11:57", "03:12:01")
        .replace("03:11:56", "03:11:59")
    )
    assert facts_of(two)[1][0]["interval_s"] == 2


def test_each_sample_is_kept_with_its_sums_and_its_clock_over_midnight_and_without_any_process():
    text = """\
11:59:58 PM   UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
11:59:59 PM     0       410      4.00     12.00      0.00       0  cron

11:59:59 PM   UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command

12:00:00 AM   UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
12:00:01 AM     0       410      2.00     -1.00      0.00       0  cron
12:00:01 AM   112      2871      6.00      1.00      0.00       0  mysqld

12:00:00 AM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
12:00:01 AM   112      2871    3.00    2.00    0.00    0.00    5.00     1  mysqld
"""
    table = iodiag.read(io.BytesIO(text.encode()), name="c.txt").tables["process"]
    sums = table[table["pid"] == "all"]
    assert list(sums["clock_s"]) == [86399, 86400, 86401]
    assert list(sums["read_kb_per_s"]) == [4, 0, 8]
    assert list(sums["cpu_pct"]) == [0, 0, 5]
    assert table["time"].isna().all()
    assert list(table.loc[table["process"] == "cron", "write_kb_per_s"].fillna(-1)) == [12, -1]
    assert list(table["line"]) == [2, 7, 8, 11, 2, 6, 7]


def test_all_tables_in_one_with_scheduling_are_no_listing_of_ps():
    """`pidstat -p ALL -rudvwsRU --human -h`, as sosreports have it."""
    header = (
        "# Time USER PID %usr %system %guest %wait %CPU CPU minflt/s majflt/s VSZ RSS %MEM StkSize StkRef "
        "kB_rd/s kB_wr/s kB_ccwr/s iodelay cswch/s nvcswch/s threads fd-nr prio policy Command"
    )
    rows = [
        "12:00:01 root 2 0.0% 0.0% 0.0% 0.0% 0.0% 0 0.00 0.00 0.0k 0.0k 0.0% 0.0k 0.0k "
        "0.0B 0.0B 0.0B 0 0.00 0.00 1 0 0 NORMAL kthreadd",
        "12:00:01 mysql 2871 1.5% 0.5% 0.0% 0.1% 2.0% 1 12.00 0.20 1.4G 169.1M 2.1% 132.0k 28.0k "
        "16.0k 2.0M 0.0B 41 80.00 3.00 38 99 0 NORMAL mysqld --basedir=/usr",
    ]
    text = "\n".join((header, *rows)) + "\n"
    capture = iodiag.read(io.BytesIO(text.encode()))
    assert not capture.notes
    (most,) = [fact.values for fact in capture.evidence if fact.values.get("process") == "mysqld"]
    assert (most["read_kb_per_s"], most["write_kb_per_s"]) == (16, 2048)


BUSY = """\
09:10:01      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
09:10:03      112      2871    4.00   91.00    0.00    0.00   95.00     1  mysqld
09:10:03        0      3990   40.00    4.00    0.00    0.00   44.00     0  gzip

09:10:03      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
09:10:05        0      3990   80.00    6.00    0.00    0.00   86.00     0  gzip
"""
AVERAGES = """
Average:      UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
Average:      112      2871    2.00   45.50    0.00    0.00   47.50     -  mysqld
Average:        0      3990   60.00    5.00    0.00    0.00   71.00     -  gzip
"""


@pytest.mark.parametrize(("averages", "share"), [("", 65.0), (AVERAGES, 71.0), (AVERAGES * 2, 71.0)])
def test_who_uses_a_cpu_most_is_a_mean_over_all_samples_or_pidstat_s_own(averages, share):
    (block,) = blocks_of(FORMAT, BUSY + averages)
    (most,) = block.facts
    assert (most.kind, most.word("process"), most.word("pid")) == ("top-processes", "gzip", "3990")
    assert (most.number("cpu_pct"), most.number("system_pct")) == (share, 5.0)


def test_shares_of_a_cpu_that_may_be_since_boot_name_nobody():
    (block,) = blocks_of(FORMAT, BUSY.split("\n\n")[0].replace("09:10:01", "09:10:03"))
    assert block.facts == ()


ALL = {
    "# Time": ("10:00:02", "10:00:02"),
    **{"USER": ("mysql", "mysql"), "TGID": ("2871", "-"), "TID": ("-", "2905")},
    "%usr %system %guest %wait %CPU CPU": ("1.50 0.50 2.00 0.25 4.00 1", "1.00 0.50 2.00 0.25 3.50 1"),
    "minflt/s majflt/s VSZ RSS %MEM": ("12.00 0.20 1483000 173000 2.10",) * 2,
    **{
        "StkSize StkRef": ("132 28",) * 2,
        "kB_rd/s kB_wr/s kB_ccwr/s iodelay": ("16.00 2048.00 4.00 41",) * 2,
    },
    **{"cswch/s nvcswch/s": ("80.00 3.00", "79.00 2.00"), "threads fd-nr": ("38 210",) * 2},
    **{"prio policy": ("99 FIFO",) * 2, "Command": ("{0}", "|__{0}")},
}
"""The words of a header, and the cells of a process and of its thread."""

EACH = {
    **{"user": "mysql", "pid": "2871", "tid": "", "process": "mysqld", "policy": "FIFO", "user_pct": 3.5},
    **{"system_pct": 0.5, "guest_pct": 2, "run_wait_pct": 0.25, "cpu_pct": 4, "cpu_number": 1},
    **{"minor_faults_per_s": 12, "major_faults_per_s": 0.2, "vsz_kb": 1483000, "rss_kb": 173000},
    **{"memory_pct": 2.1, "stack_kb": 132, "stack_used_kb": 28, "read_kb_per_s": 16, "write_kb_per_s": 2048},
    **{"cancelled_write_kb_per_s": 4, "io_delay_ticks": 41, "voluntary_switches_per_s": 80},
    **{"involuntary_switches_per_s": 3, "threads": 38, "open_files": 210, "realtime_priority": 99},
}


def table_of(text):
    capture = iodiag.read(io.BytesIO(text.encode()), name="c.txt")
    return capture, capture.tables["process"]


@pytest.mark.parametrize("command", ["mysqld", "mysqld --basedir=/usr -p secret"])
def test_every_column_is_in_the_table_of_processes_and_threads_are_told_from_them(command):
    lines = (" ".join(cells) for cells in zip(*([words, *rows] for words, rows in ALL.items()), strict=True))
    capture, table = table_of("\n".join(lines).format(command) + "\n")
    process, thread, everything = table.astype(object).where(table.notna(), "").to_dict("records")
    assert {name: process[name] for name in EACH} == EACH
    assert (thread["pid"], thread["tid"], thread["process"]) == ("", "2905", "mysqld")
    assert (everything["pid"], everything["cpu_pct"], everything["rss_kb"]) == ("all", 4, "")
    assert (capture.unparsed, capture.notes) == ([], [])


def test_children_s_times_and_sizes_with_suffixes():
    head = "10:00:01  UID  PID  {}  Command\n10:00:02  0  77  {}  dd\n"
    _, table = table_of(
        head.format("usr-ms system-ms guest-ms", "120 30 0")
        + head.format("minflt/s majflt/s VSZ RSS %MEM", "1.0 0.0 1.5G 2.0M 0.1%")
    )
    first, second, _ = table.to_dict("records")
    assert (first["user_ms"], first["system_ms"]) == (120, 30)
    assert (second["vsz_kb"], second["rss_kb"], second["memory_pct"]) == (1.5 * 2**20, 2048, 0.1)


def test_an_average_below_the_header_of_the_samples_is_no_sample():
    _, (total, process) = facts_of(SAMPLES.split("\n\n")[1] + "\n" + SAMPLES.splitlines()[-1] + "\n")
    assert (total["samples"], process["write_kb_per_s"]) == (1, 300)


def test_averages_stand_apart_from_the_samples():
    capture, table = table_of(SAMPLES)
    assert table["line"].tolist() == [2, 3, 6, 2, 6]
    (average,) = capture.averages["process"].to_dict("records")
    assert (average["line"], average["pid"], average["write_kb_per_s"]) == (9, "2871", 200)


ALIGNED = (
    "10:00:01      UID       PID   kB_rd/s   kB_wr/s  Command\n10:00:02        0      3990{:>10}{:>10}  {}\n"
)


def test_a_command_that_begins_with_a_number_stands_below_its_word():
    capture, table = table_of(
        ALIGNED.format("64.00", "5.00", "7 seas") + ALIGNED.format("64.00", "5.00", "dd")
    )
    assert (table["process"].tolist()[0], table["write_kb_per_s"].tolist()[0]) == ("7 seas", 5)
    assert not capture.unparsed


@pytest.mark.parametrize(
    ("whole", "damaged"), [("64.00", "6 4.00"), ("kB_rd/s", ""), ("   kB_rd/s", ""), ("  7 seas", " 7 seas")]
)
def test_a_command_that_may_be_a_column_s_number_is_none(whole, damaged):
    capture, table = table_of(
        ALIGNED.format("64.00", "5.00", "7 seas").replace(whole, damaged)
        + ALIGNED.format("32.00", "5.00", "dd")
    )
    assert table["process"].tolist()[:1] == ["dd"]
    assert capture.unparsed


@pytest.mark.parametrize("damage", [(" %guest", ""), (" 0.25", " 0.2 5")])
def test_a_number_is_no_policy(damage):
    lines = (" ".join(cells) for cells in zip(*([words, *rows] for words, rows in ALL.items()), strict=True))
    block, _ = facts_of("\n".join(lines).format("dd").replace(*damage) + "\n")
    assert (block.tables, {2, 3} <= {*block.unread}) == ((), "%guest" in damage[0] or "5" in damage[1])


def test_a_damaged_row_between_others_is_told_and_the_listing_goes_on():
    header, row = ALIGNED.splitlines()
    rows = [row.format("64.00", "5.00", name) for name in ("dd", "cp", "mv")]
    block, _ = facts_of("\n".join([header, rows[0], rows[1].replace("64.00", "6x.00"), rows[2]]) + "\n")
    assert (block.used, block.unread) == (4, (3,))
    assert block.tables[0].rows["process"].distinct() == ["", "dd", "mv"]


BANNER = "Linux 6.1.0-18-amd64 (box)  {}  _x86_64_  (8 CPU)\n\n"


@pytest.mark.parametrize(
    ("between", "unread", "rows"),
    [
        (["x = 1", "", "2 = y # 10:15:02"], (), "every"),
        ([f"x{number} = 1" for number in range(300)], (), "every"),
        (["10:00:02 0 9 1x 2.00 cp", "10:00:02 0 9 1y 2.00 cp"], (4, 5), "every"),
        (["x = 1", "10:00:02 0 9 1x", "2.00 cp"], (5, 6), "every"),
        (["x" * 5000], (), "first"),
        (["Device r/s w/s rkB/s wkB/s await"], (), "first"),
        ([BANNER.format("05/21/2025")], (), "first"),
    ],
    ids=["lines", "many", "two damaged rows", "a row in two lines", "too long", "a table", "another run"],
)
def test_a_command_may_have_many_lines(between, unread, rows):
    header, row = ALIGNED.splitlines()
    above, below = (
        [row.format("64.00", "5.00", name) for name in names]
        for names in (("dd", "python3 -c import time"), ("cp", "mv"))
    )
    block, _ = facts_of("\n".join([header, *above, *between, *below]) + "\n")
    found = {"every": ["", "cp", "dd", "mv", "python3"], "first": ["", "dd", "python3"]}
    assert (block.unread, sorted(block.tables[0].rows["process"].distinct())) == (unread, found[rows])


def test_an_unknown_key_of_json_is_told():
    block, _ = facts_of(JSON.replace("kB_wr/s", "kB_write"))
    assert block.unread == (14, 21)


@pytest.mark.parametrize(
    ("banner", "start", "clocks"),
    [
        (BANNER.format("05/21/2025"), "2025-05-21 15:11:57", None),
        ("", None, "15:11:57 to 15:11:58"),
    ],
    ids=["a banner", "none"],
)
def test_its_clocks_are_of_the_day_in_the_banner(banner, start, clocks):
    given = iodiag.read(io.BytesIO((banner + SAMPLES).encode()), name="pidstat.txt")
    (section,) = given.sections
    assert (section.start, section.clocks) == (start, clocks)
    assert (section.end == "2025-05-21 15:11:58") is bool(banner)
    said = iodiag.analyze([given]).headline
    assert "per sample of 1 s; 2 processes read 20 kB/s and wrote 153,800 kB/s in all." in said


def test_clocks_in_seconds_since_1970_stand_in_front_of_the_header_too():
    clocks = {"03:11:56 PM": "1795785956", "03:11:57 PM": "1795785957", "03:11:58 PM": "1795785958"}
    text = SAMPLES
    for clock, seconds in clocks.items():
        text = text.replace(clock, seconds)
    block, (total, *each) = facts_of(text)
    assert not block.unread
    assert (total["processes"], total["samples"], total["interval_s"]) == (2, 2, 1.0)
    assert each[0]["write_kb_per_s"] == 153600


def test_rows_below_a_header_with_two_processes_are_told_and_left_out():
    block, facts = facts_of(SAMPLES.replace("PID   kB_rd/s", "PID    PID"))
    assert {*block.unread} == {1, 2, 3, 5, 6, 8, 9}
    assert not facts


def test_rows_that_are_not_understood_do_not_say_that_nothing_was_done():
    header, row, *_ = SAMPLES.splitlines()
    assert not blocks_of(FORMAT, f"{header}\n{row.replace('307200.00', '3072x0.00')}\n")


CUT = """\
10:00:00      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
10:00:02        0       400      0.00     10.00      0.00       0  agent
10:00:02      112      2871     20.00   6000.00      0.00       0  postgres
10:00:02      112     93990      0.00    400.00      0.00       0  backup

10:00:02      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
10:00:04        0       400      0.00      4.00      0.00       0  agent
"""


@pytest.mark.parametrize(
    ("end", "samples", "written"),
    [
        ("", 1, 6410),
        ("\n...", 1, 6410),
        ("\n\n", 2, 3207),
        ("\n10:00:04      112     93990      0.00    400.00      0.00       0  backup\n", 2, 3407),
        ("\nAverage:      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command", 2, 3207),
    ],
    ids=["the text ends", "dots", "a blank line", "the last process", "averages"],
)
def test_a_last_report_that_may_be_cut_counts_in_no_mean(end, samples, written):
    block, (total, *_) = facts_of(CUT.rstrip() + end)
    assert (total["samples"], total["write_kb_per_s"]) == (samples, written)
    if samples == 1:
        assert "(one sample)" in block.facts[0].text
    (table,) = block.tables
    assert (table.rows["pid"] == "all").sum() == samples
    assert (table.rows["pid"] == "400").sum() == 2


def test_a_report_is_not_cut_that_ends_where_others_do_or_stands_in_no_order():
    brief = CUT.replace("10:00:02      112     93990      0.00    400.00      0.00       0  backup\n", "")
    alike = brief.replace("10:00:02      112      2871     20.00   6000.00      0.00       0  postgres\n", "")
    assert facts_of(alike.rstrip())[1][0]["samples"] == 2
    unsorted = CUT.replace("   400 ", " 99400 ", 1)
    assert facts_of(unsorted.rstrip())[1][0]["samples"] == 2


def test_a_report_that_may_be_cut_counts_in_no_mean_of_the_cpus():
    head = "UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n"
    rows = (0, 400, 5.0), (112, 2871, 90.0)
    whole = "".join(
        f"10:00:02 {u} {pid} {pct:.2f} 0.00 0.00 0.00 {pct:.2f} 1 app{u}\n" for u, pid, pct in rows
    )
    cut = "10:00:06 0 400 5.00 0.00 0.00 0.00 5.00 1 app0"
    later = whole.replace("10:00:02", "10:00:04")
    text = f"10:00:00 {head}{whole}\n10:00:02 {head}{later}\n10:00:04 {head}{cut}"
    (top,) = facts_of(text)[1]
    assert (top["process"], top["cpu_pct"]) == ("app112", 90.0)
