import pytest

from iodiag.formats.context.pg_settings import FORMAT
from reading import blocks_of


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (" synchronous_commit \n--------------------\n on\n(1 row)\n", {"synchronous_commit": "on"}),
        (
            "        name        | setting \n--------------------+---------\n synchronous_commit | off\n"
            " fsync              | on\n commit_delay       | 0\n(3 rows)\n",
            {"synchronous_commit": "off", "fsync": "on", "commit_delay": 0},
        ),
        (
            "synchronous_commit = on   # synchronization level\n#fsync = off\nwork_mem = 4MB\n",
            {"synchronous_commit": "on"},
        ),
        ("ran with synchronous_commit=off this time", {"synchronous_commit": "off", "is_prose": 1}),
    ],
)
def test_renderings(text, values):
    (block,) = blocks_of(FORMAT, text)
    assert block.facts[0].values == values


@pytest.mark.parametrize(
    "text", ["what about synchronous_commit?", "name | setting\n", "fsync of the log took long"]
)
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
