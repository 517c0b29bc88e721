import pytest

from iodiag.formats.context.drbd import FORMAT
from reading import blocks_of

STATUS = (
    "  mail role:Primary suspended:no\n"
    "      write-ordering:flush\n"
    "    volume:0 minor:3 disk:UpToDate\n"
    "        size:20969820 read:1200 written:88012 upper-pending:2 lower-pending:1 blocked:no\n"
    "    volume:1 minor:4 disk:UpToDate\n"
    "        size:20969820 read:1200 written:88012 upper-pending:3 lower-pending:0 blocked:no\n"
    "    node-b connection:Connected role:Secondary congested:no\n"
    "      volume:0 replication:Established peer-disk:UpToDate\n"
    "          received:0 sent:88012 out-of-sync:16 pending:4 unacked:0\n"
)
PROC = (
    " 0: cs:Connected ro:Secondary/Primary ds:UpToDate/UpToDate C r-----\n"
    "    ns:0 nr:1048576 dw:1048576 dr:0 al:0 bm:0 lo:2 pe:0 ua:1 ap:0 ep:1 wo:f oos:0\n"
)


def test_each_volume_has_counts_of_its_own_and_those_of_its_peers_are_added_up():
    peers = STATUS + STATUS[STATUS.index("    node-b") :].replace("node-b", "node-c").replace(
        "sent:88012", ""
    )
    peers += "      volume:1 replication:SyncSource\n          out-of-sync:9 pending:7 unacked:1\n"
    (block,) = blocks_of(FORMAT, peers + "sda 1.0 2.0\n")
    assert [dict(fact.values) for fact in block.facts] == [
        {
            "role": "Primary",
            "device": "drbd3",
            "upper_pending": 2,
            "lower_pending": 1,
            "peer_pending": 8,
            "unacked": 0,
            "out_of_sync_kb": 32,
        },
        {
            "role": "Primary",
            "device": "drbd4",
            "upper_pending": 3,
            "lower_pending": 0,
            "peer_pending": 7,
            "unacked": 1,
            "out_of_sync_kb": 9,
            "peer": "copying",
        },
    ]
    assert block.facts[1].text == (
        "drbd4 is Primary on this node; it held 3 requests of its users, 0 at its own disk"
    )


def test_fields_with_underscores_and_digits_end_no_resource():
    later = STATUS.replace("disk:UpToDate\n    ", "disk:UpToDate backing_dev:/dev/vg0/mail\n    ", 1).replace(
        "unacked:0", "unacked:0 dbdt1:0.00"
    )
    plain, more = blocks_of(FORMAT, STATUS + "\n" + later)
    assert [fact.values for fact in more.facts] == [fact.values for fact in plain.facts]


def test_each_resource_has_a_role_of_its_own():
    blocks = blocks_of(FORMAT, STATUS + "  web role:Secondary\n    disk:UpToDate\n")
    assert [block.facts[0].word("role") for block in blocks] == ["Primary", "Secondary"]


def test_a_minor_of_proc_drbd_is_a_device():
    (block,) = blocks_of(FORMAT, PROC + PROC.replace("0:", "1:", 1).replace("lo:2", "lo:9"))[:1]
    assert block.facts[0].values == {
        "role": "Secondary",
        "device": "drbd0",
        "upper_pending": 0,
        "lower_pending": 2,
        "peer_pending": 0,
        "unacked": 1,
        "out_of_sync_kb": 0,
    }


@pytest.mark.parametrize(
    "text",
    [
        "its role:Primarily",
        "user role: Primary",
        "user role:Primary contact",
        "- role:Unknown",
        "0: cs:Connected",
    ],
)
def test_other_words_are_none(text):
    assert not blocks_of(FORMAT, text + "\n")


@pytest.mark.parametrize(
    ("was", "now", "peer"),
    [
        ("", "", None),
        ("cs:Connected", "cs:WFConnection", "away"),
        ("cs:Connected", "cs:StandAlone", "away"),
        (" C r", " A r", "not waited for"),
        ("cs:Connected", "cs:SyncSource", "copying"),
    ],
)
def test_what_the_other_node_is_to_a_node_of_proc_drbd(was, now, peer):
    (block,) = blocks_of(FORMAT, PROC.replace(was, now))[:1]
    assert block.facts[0].values.get("peer") == peer


def test_a_node_is_away_where_no_other_is_connected():
    away = STATUS.replace("connection:Connected role:Secondary", "connection:Connecting role:Unknown")
    (block,) = blocks_of(FORMAT, away)[:1]
    assert block.facts[0].values["peer"] == "away"
    (block,) = blocks_of(FORMAT, STATUS + "    node-c connection:Connecting\n")[:1]
    assert "peer" not in block.facts[0].values


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (STATUS.replace("suspended:no", "suspended:quorum"), "quorum"),
        (PROC.replace("r-----", "s-----"), "yes"),
        (STATUS, None),
        (PROC, None),
    ],
)
def test_a_device_whose_requests_are_held_is_suspended(text, why):
    (block,) = blocks_of(FORMAT, text)[:1]
    assert [fact.values.get("suspended") for fact in block.facts] == [why] * len(block.facts)
