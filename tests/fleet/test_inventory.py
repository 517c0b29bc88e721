"""Inventories as people export them, and as nobody should."""

from __future__ import annotations

import pytest

from iodiag.errors import ConfigError
from iodiag.fleet.across_hosts.inventory import LONGEST_CELL, parse_inventory, read_inventory


@pytest.mark.parametrize(
    ("head", "entry"),
    [
        ("host,role,model,firmware,site", {"role": "1", "model": "2", "firmware": "3", "site": "4"}),
        ("Host Name;Role;Disk Model;FW Rev;DC", {"role": "1", "model": "2", "firmware": "3", "site": "4"}),
        ("hostName\tserverRole\tdiskModel", {"role": "1", "model": "2"}),
        ("FQDN|Service|Region", {"role": "1", "site": "2"}),
        ("name,function", {"role": "1"}),
        ("host,unrelated,role", {"role": "2"}),
        # `host` says more than `name`, wherever it stands
        ("host,name,role", {"role": "2"}),
    ],
)
def test_columns_are_found_by_the_words_of_the_header(head, entry):
    separator = next(one for one in ",;\t|" if one in head)
    row = separator.join(["db1", *map(str, range(1, head.count(separator) + 1))])
    assert parse_inventory(f"{head}\n{row}\n".encode()).hosts == {"db1": entry}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings_are_read(encoding):
    data = "host,role\r\nbüro1,Grüße\r\n".encode(encoding)
    assert parse_inventory(data).hosts == {"büro1": {"role": "Grüße"}}


def test_lines_before_the_header_are_passed_over():
    data = b"# exported by hand\n\nhost,role\ndb1,db\n"
    assert parse_inventory(data).hosts == {"db1": {"role": "db"}}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b",db", ":3: no host"),
        (b"db1,web", ":3: db1 stands here a second time"),
        (b"db2,db,one,too,many", ":3: 5 cells under 2 headings"),
        (b"db2," + b"x" * (LONGEST_CELL + 1), ":3: a cell of more than"),
        (b"db2," + b"x" * 200_000, ":3: a cell of more than"),
        (b'db2,"open', ":3: a cell goes on over"),
        (b'"db2\nrest",db', ":3: a cell goes on over"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_and_left_out(line, said):
    found = parse_inventory(b"host,role\ndb1,db\n" + line + b"\ndb9,x\n", "hosts.csv")
    assert found.hosts["db1"] == {"role": "db"}
    assert "db2" not in found.hosts
    assert [note for note in found.notes if note.startswith(f"hosts.csv{said}")]


def test_a_quotation_mark_inside_an_unused_column_swallows_nothing_unsaid():
    rows = "".join(f"db{at},db,x\n" for at in range(100))
    found = parse_inventory(f'host,role,remark\nweb1,web,"open\n{rows}'.encode())
    assert not found.hosts
    assert "quotation mark" in found.notes[0]


def test_a_bad_file_has_few_notes():
    found = parse_inventory(b"host,role\n" + b",x\n" * 1000)
    assert len(found.notes) == 21
    assert "980 more" in found.notes[-1]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"role,model\na,b\n", b"\x00\xff\xfe\x00", b"\xff\xfe\x00"])
def test_without_a_column_of_hosts_it_says_what_to_do(data):
    with pytest.raises(
        ConfigError, match=r"hosts\.csv:1: no column names the host .* call one of them `host`"
    ):
        parse_inventory(data, "hosts.csv")


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(ConfigError, match="check the name"):
        read_inventory(tmp_path / "none.csv")


def test_names_match_without_case_and_domain_where_that_is_no_guess():
    found = parse_inventory(b"host,role\nDB1.example.com,db\nweb.a,x\nweb.b,y\n10.0.0.1,ip\n")
    matched = found.match(["db1", "web", "web.a", "10.0.0.2", "10"])
    assert {name: entry["role"] for name, entry in matched.items()} == {"db1": "db", "web.a": "x"}
