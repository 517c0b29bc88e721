import pytest

from iodiag.formats.context.top_processes import FORMAT
from reading import blocks_of

HEADER = "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"


def process(pid, state, share="0.0", command="sleep 600"):
    return f"{pid:7} app       20   0 1466688 173192  62468 {state} {share:>5}   0.7   0:06.51 {command}\n"


def facts_of(text):
    (block,) = blocks_of(FORMAT, text)
    return block.facts


def test_those_that_sleep_uninterruptibly_are_named():
    text = HEADER + process(7, "D", command="backup --password=x /srv") + process(9, "R", "96,5", "rsync -a")
    counted, asleep = facts_of(text)
    assert (counted.number("processes"), counted.number("uninterruptible")) == (2, 1)
    assert (counted.word("process"), counted.number("cpu_pct")) == ("rsync", 96.5)
    assert (asleep.word("process"), asleep.word("pid"), asleep.word("user")) == ("backup", "7", "app")
    assert (asleep.ref.first, asleep.ref.last) == (2, 2)
    assert "password" not in f"{counted} {asleep}"


def test_those_of_the_busiest_name_are_summed():
    rows = [process(n, "R", share, "[kcompactd]") for n, share in enumerate(("81.0", "92.5", "4.0"), 3)]
    rows += [process(9, "S", "60.0", "java")]
    (counted,) = facts_of(HEADER + "".join(rows))
    names = ("alike", "alike_pct", "alike_cpu_s", "listed_pct", "kernel_threads")
    assert [counted.number(name) for name in names] == [2, 173.5, 13.02, 237.5, 2]
    assert counted.text.endswith("92.5 % of a CPU; 2 of that name use 173.5 % in all")
    (longer,) = facts_of(HEADER + rows[0].replace("0:06.51", "999,14"))  # in hours
    assert "alike_cpu_s" not in longer.values


def test_columns_are_known_by_their_words():
    header = "  PID %CPU S USER     nTH COMMAND\n"
    _, asleep = facts_of(
        header + "   12  3.0 D root       1 [kworker/u8:2+flush]\n   13  0.0 S app  7 java\n"
    )
    assert (asleep.word("process"), asleep.word("user")) == ("[kworker/u8:2+flush]", "root")


def test_processes_of_one_name_are_named_once_and_five_at_most():
    text = HEADER + "".join(process(n, "D", command=f"job{n // 2}") for n in range(20))
    counted, *asleep = facts_of(text)
    assert counted.number("uninterruptible") == 20
    assert [fact.word("process") for fact in asleep] == [f"job{n}" for n in range(5)]


@pytest.mark.parametrize(
    "text",
    [
        HEADER,
        "  PID USERNAME    THR PRI NICE   SIZE    RES STATE   C   TIME    WCPU COMMAND\n"
        "  812 root          1  20    0    20M     5M select  0   0:01   0.10% sshd\n",
        "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"
        "root         1  0.0  0.1 168140 11620 ?        Ss   10:00   0:01 init\n",
    ],
    ids=["no rows", "BSD", "ps"],
)
def test_other_listings_are_not_read(text):
    assert not any(block.facts for block in blocks_of(FORMAT, text))
