"""The fleet report in its three formats beside the data set, and a page for each host-day that it leads to.

The pages are made from the stored reports. One that is there already and of the same host-day's key is
not made again; one that nothing leads to any more is removed, so that what stands there depends
on the data set alone.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from iodiag.errors import IodiagError
from iodiag.fleet import store
from iodiag.fleet.across_hosts.inventory import Inventory
from iodiag.fleet.across_hosts.summarise import NEEDED, REPEATED, summarise
from iodiag.fleet.executor import Executor, Progress
from iodiag.fleet.output_files import OutputStore, write
from iodiag.fleet.store import Record
from iodiag.model.fleet import FleetReport

if TYPE_CHECKING:
    import pandas as pd

_PAGES = ".iodiag/pages.json"


class Published(NamedTuple):
    """The fleet report's headline, and what went wrong with the pages.

    A line on each that could not be made (`failed`) and on each that was damaged and is written again
    (`rewritten`); and the records whose stored report is damaged, with the report's path (`spoiled`).
    """

    headline: str
    failed: list[str]
    rewritten: list[str]
    spoiled: dict[str, str]


def publish(
    place: OutputStore,
    kept: Iterable[Record],
    executor: Executor,
    progress: Progress,
    inventory: Inventory | None,
    verify: bool = False,
    rule_pages: str = "",
) -> Published:
    """Write `fleet.json`, `fleet.md`, `fleet.html` and the pages they lead to; `verify` reads every page."""
    frames = {name: _frame(place, name) for name in NEEDED}
    report = summarise(frames, inventory, page_address)
    for ending, text in (
        ("json", report.to_json()),
        ("md", report.to_markdown()),
        ("html", report.to_html()),
    ):
        write(place, f"fleet.{ending}", text.encode("utf-8", "replace"))
    return _write_pages(place, report, kept, executor, progress, verify, rule_pages)


def page_address(host: str, day: str) -> str:
    """The address of a host-day's page, relative to the fleet report."""
    return quote(store.report_path(host, day, "html"))


def _frame(place: OutputStore, name: str) -> pd.DataFrame:
    """The columns of a joined file that the summary needs."""
    import pyarrow.parquet as pq

    data = io.BytesIO(place.read(f"{name}.parquet") or b"")
    table = pq.ParquetFile(data, read_dictionary=list(REPEATED.get(name, ())))
    columns = [column for column in NEEDED[name] if column in table.schema_arrow.names]
    frame: pd.DataFrame = table.read(columns=columns).to_pandas()
    return frame


def _write_pages(
    place: OutputStore,
    report: FleetReport,
    kept: Iterable[Record],
    executor: Executor,
    progress: Progress,
    verify: bool,
    rule_pages: str,
) -> Published:
    linked = _linked(report)
    wanted = {record.page: record for record in kept if page_address(record.host, record.day) in linked}
    files = place.files()
    index = _made(place)
    made = {
        path: index[path]
        for path, record in wanted.items()
        if path in files and index.get(path, ("", ""))[0] == _page_key(record, rule_pages)
    }
    spoiled = [path for path in made if verify and store.checksum(place.read(path) or b"") != made[path][1]]
    for path in spoiled:
        del made[path]
    for path in files:
        if path.startswith("reports/") and path.endswith(".html") and path not in wanted:
            place.remove(path)
    todo = [record for path, record in wanted.items() if path not in made]
    if todo:
        progress.begin("pages written", len(todo))
    problems: list[str] = []
    damaged: dict[str, str] = {}
    for record, result in executor.each(partial(_write_page, place=place, rule_pages=rule_pages), todo):
        if isinstance(result, IodiagError):
            problems.append(f"{record.page}: {result}")
        elif not result:
            damaged[record.path] = record.report
        else:
            made[record.page] = (_page_key(record, rule_pages), result)
        progress.step(1)
    write(place, _PAGES, (json.dumps(dict(sorted(made.items())), indent=0) + "\n").encode())
    rewritten = [f"{place.name}/{path}: was damaged; it is written again" for path in sorted(spoiled)]
    return Published(report.headline, sorted(problems), rewritten, damaged)


def _linked(report: FleetReport) -> set[str]:
    """The addresses that the fleet report leads to."""
    affected = (one for trouble in report.troubles for one in trouble.affected)
    cells = (cell for row in report.heatmap.rows for cell in row.cells if cell)
    parts = (affected, cells, report.outliers, report.departures, report.windows)
    return {one.report for part in parts for one in part}


def _made(place: OutputStore) -> dict[str, tuple[str, str]]:
    """The pages that are there, with the key of what each was made from and its checksum."""
    try:
        made = json.loads(place.read(_PAGES) or b"{}")
        return {str(path): (str(key), str(checksum)) for path, (key, checksum) in made.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _page_key(record: Record, rule_pages: str) -> str:
    """What a page depends on."""
    return f"{record.key} {rule_pages}" if rule_pages else record.key


def _write_page(record: Record, place: OutputStore, rule_pages: str) -> str:
    """Write the page of a host-day and give its checksum; empty where the stored report is damaged."""
    from iodiag.report.as_json import from_json

    stored = store.intact(place, record, record.report)
    if stored is None:
        return ""
    page = from_json(stored).to_html(rule_pages).encode("utf-8", "replace")
    write(place, record.page, page)
    return store.checksum(page)
