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
from typing import TYPE_CHECKING
from urllib.parse import quote

from iodiag.errors import IodiagError
from iodiag.fleet import store
from iodiag.fleet.across_hosts.inventory import Inventory
from iodiag.fleet.across_hosts.summarise import NEEDED, REPEATED, summarise
from iodiag.fleet.executor import Executor, Progress
from iodiag.fleet.output_files import Place, write
from iodiag.fleet.store import Record
from iodiag.model.fleet import FleetReport

if TYPE_CHECKING:
    import pandas as pd

_PAGES = ".iodiag/pages.json"


def publish(
    place: Place, kept: Iterable[Record], executor: Executor, progress: Progress, inventory: Inventory | None
) -> tuple[str, list[str]]:
    """Write `fleet.json`, `fleet.md` and `fleet.html` and the pages they lead to.

    Gives the headline, and a line on each page that could not be made.
    """
    frames = {name: _frame(place, name) for name in NEEDED}
    report = summarise(frames, inventory, page_address)
    for ending, text in (
        ("json", report.to_json()),
        ("md", report.to_markdown()),
        ("html", report.to_html()),
    ):
        write(place, f"fleet.{ending}", text.encode("utf-8", "replace"))
    return report.headline, _write_pages(place, report, kept, executor, progress)


def page_address(host: str, day: str) -> str:
    """The address of a host-day's page, relative to the fleet report."""
    return quote(store.report_path(host, day, "html"))


def _frame(place: Place, name: str) -> pd.DataFrame:
    """The columns of a joined file that the summary needs."""
    import pyarrow.parquet as pq

    data = io.BytesIO(place.read(f"{name}.parquet") or b"")
    table = pq.ParquetFile(data, read_dictionary=list(REPEATED.get(name, ())))
    columns = [column for column in NEEDED[name] if column in table.schema_arrow.names]
    frame: pd.DataFrame = table.read(columns=columns).to_pandas()
    return frame


def _write_pages(
    place: Place, report: FleetReport, kept: Iterable[Record], executor: Executor, progress: Progress
) -> list[str]:
    linked = _linked(report)
    wanted = {record.page: record for record in kept if page_address(record.host, record.day) in linked}
    files = place.files()
    made = _made(place)
    todo = [path for path, record in wanted.items() if path not in files or made.get(path) != record.key]
    for path in files:
        if path.startswith("reports/") and path.endswith(".html") and path not in wanted:
            place.remove(path)
    if todo:
        progress.begin("pages written", len(todo))
    problems = []
    for path, problem in executor.each(partial(_write_page, place=place), todo):
        if isinstance(problem, IodiagError):
            problems.append(f"{path}: {problem}")
            del wanted[path]
        progress.step(1)
    index = {path: record.key for path, record in sorted(wanted.items())}
    write(place, _PAGES, (json.dumps(index, indent=0) + "\n").encode())
    return sorted(problems)


def _linked(report: FleetReport) -> set[str]:
    """The addresses that the fleet report leads to."""
    affected = (one for trouble in report.troubles for one in trouble.affected)
    cells = (cell for row in report.heatmap.rows for cell in row.cells if cell)
    parts = (affected, cells, report.outliers, report.departures)
    return {one.report for part in parts for one in part}


def _made(place: Place) -> dict[str, str]:
    """The pages that are there, with the key of the host-day that each was made from."""
    try:
        made = json.loads(place.read(_PAGES) or b"{}")
    except ValueError:
        return {}
    return made if isinstance(made, dict) else {}


def _write_page(path: str, place: Place) -> None:
    from iodiag.report.as_json import from_json

    stored = place.read(f"{path.removesuffix('.html')}.json") or b""
    write(place, path, from_json(stored).to_html().encode("utf-8", "replace"))
