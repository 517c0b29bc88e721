import pytest

from iodiag.formats.context.ps import FORMAT
from reading import blocks_of

AUX = "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"


def process(pid, state, command="sleep 600", start="10:00"):
    return f"app  {pid:8}  0.3  1.2 146668 17319 ?        {state:4} {start:5}   0:06 {command}\n"


def facts_of(text):
    (block,) = blocks_of(FORMAT, text)
    return block.facts


def test_those_that_sleep_uninterruptibly_are_named_without_their_arguments():
    text = AUX + process(7, "D", "/usr/bin/backup --password=x /srv") + process(9, "Ssl")
    counted, asleep = facts_of(text)
    assert (counted.number("processes"), counted.number("uninterruptible")) == (2, 1)
    assert (asleep.word("process"), asleep.word("pid"), asleep.word("user")) == ("backup", "7", "app")
    assert (asleep.ref.first, asleep.ref.last) == (2, 2)
    assert "password" not in f"{counted} {asleep}"


def test_rows_of_ps_aux_without_their_header_are_known_by_their_shape():
    text = process(7, "DW", "[pdflush]") + process(8, "D<", "[kworker/u8:2+flush-8:0]", "Jan02")
    counted, *asleep = facts_of(text + process(9, "D+", "cp a b"))
    assert (counted.number("uninterruptible"), counted.number("flushers")) == (3, 2)
    assert [fact.word("pid") for fact in asleep] == ["7", "8", "9"]
    assert asleep[-1].word("process") == "cp", "a short word behind a program may be a secret, too"


def test_the_rest_of_a_broken_command_is_unread_and_ends_no_listing():
    broken = process(7, "D", "java -Da=b") + "   -Dc=d\n"
    (block,) = blocks_of(FORMAT, AUX + broken + process(8, "D", "cp a b"))
    assert (block.facts[0].number("uninterruptible"), block.used, block.unread) == (2, 4, (3,))
    (block,) = blocks_of(FORMAT, AUX + broken + "-Dd=e\n" + process(8, "S"))[:1]
    assert (block.facts[0].number("processes"), block.used, block.unread) == (1, 2, ())


def test_what_they_sleep_in_is_told_where_it_is_shown():
    rows = "D     2201 jbd2_log_wait_commit             postgres: writer\nDs      88 -     [kswapd0]\n"
    for header in ("", "S      PID WCHAN                            CMD\n"):
        _, first, second = facts_of(header + rows)
        assert (first.word("process"), first.word("wchan")) == ("postgres", "jbd2_log_wait_commit")
        assert "wchan" not in second.values


@pytest.mark.parametrize(
    "text",
    [
        AUX,
        "UID        PID  PPID  C STIME TTY          TIME CMD\nroot 1 0 0 Nov02 ? 00:00:07 init\n",
        "  PID USERNAME    THR PRI NICE   SIZE    RES STATE   C   TIME    WCPU COMMAND\n"
        "  812 root          1  20    0    20M     5M select  0   0:01   0.10% sshd\n",
        "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
        "      7 app       20   0 1466688 173192  62468 D   0.0   0.7   0:06.51 cp\n",
        "D 12 Nov the disks were slow\n",
        "DN 100 latency_high (see below)\n",
        "D 5120 write_back 12\n",
    ],
    ids=["no rows", "no state", "BSD", "top", "prose", "remark", "counter"],
)
def test_other_listings_are_not_read(text):
    assert not any(block.facts for block in blocks_of(FORMAT, text))
