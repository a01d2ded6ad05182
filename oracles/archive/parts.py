"""Parts of tables as Parquet files, written aside. Rows are gathered in bounded number; a table has
a part only if there are rows for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from types import TracebackType
from typing import Any
from uuid import uuid4

from attrs import Factory, define

from groupcheck.oracles.archive.place import HIDDEN, Place
from groupcheck.oracles.archive.rows import Row
from groupcheck.oracles.archive.tables import TABLES, schema
from groupcheck.oracles.show.parquet import column_of, speakable

# Of one table, in memory; then they are written.
ROWS_KEPT = 20_000
CHARS_KEPT = 16_000_000


def _table(name: str, rows: list[Row | tuple[Any, ...]]) -> Any:
    import pyarrow as pa

    found = schema(name)
    columns = []
    for k, column in enumerate(found):
        values = [row[k] if isinstance(row, tuple) else row.get(column.name) for row in rows]
        columns.append(column_of(values, column.type))
    return pa.Table.from_arrays(columns, schema=found)


def _group(row: Any) -> str:
    return (row[1] if isinstance(row, tuple) else row["group"]) or ""


@define
class PartWriter:
    """Writes one part of every table, under names that no other attempt uses. A with-block that
    fails leaves no file.
    """

    place: Place
    part: str
    # table -> name of its file
    written: dict[str, str] = Factory(dict)
    # table -> number of its rows
    rows: dict[str, int] = Factory(dict)
    _attempt: str = Factory(lambda: uuid4().hex)
    # table -> rows that are not written yet, and how many characters they have
    _gathered: dict[str, list[Row | tuple[Any, ...]]] = Factory(dict)
    _chars: dict[str, int] = Factory(dict)
    # table -> pyarrow's writer
    _open: dict[str, Any] = Factory(dict)

    def add(self, table: str, row: Row | tuple[Any, ...]) -> None:
        """Takes one row: by name, or all of its columns in order."""
        gathered = self._gathered.setdefault(table, [])
        gathered.append(row)
        values = row if isinstance(row, tuple) else row.values()
        chars = sum([len(v) for v in values if type(v) is str])
        self._chars[table] = self._chars.get(table, 0) + chars
        if len(gathered) >= ROWS_KEPT or self._chars[table] > CHARS_KEPT:
            self.flush(table)

    def add_table(self, name: str, rows: Any) -> None:
        """Takes rows that are an Arrow table already."""
        if not rows.num_rows:
            return
        import pyarrow.parquet as parquet

        if name not in self._open:
            self.written[name] = f"{HIDDEN}/{name}-{self.part}-{self._attempt}"
            where = self.place.path(self.written[name])
            self._open[name] = parquet.ParquetWriter(
                where, schema(name), compression="zstd", filesystem=self.place.fs
            )
        self._open[name].write_table(rows)
        self.rows[name] = self.rows.get(name, 0) + rows.num_rows

    def flush(self, table: str) -> None:
        """Writes what has been gathered. Events are sorted by group, so that those of a group stand
        together.
        """
        rows = self._gathered.pop(table, [])
        self._chars.pop(table, None)
        if table == "events":
            rows.sort(key=_group)
        if rows:
            self.add_table(table, _table(table, rows))

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            for table in TABLES:
                self.flush(table)
            for writer in self._open.values():
                writer.close()
            return
        for table, writer in self._open.items():
            with contextlib.suppress(Exception):
                writer.close()
            with contextlib.suppress(Exception):
                self.place.remove(self.written[table])


def rewritten(
    place: Place, old: str, tables: Iterable[str], new: str, without: Collection[str]
) -> PartWriter:
    """Writes a part again, without the rows of some files. The writer says what there is now."""
    import pyarrow as pa
    from pyarrow import dataset

    from groupcheck.oracles.archive.manifest import part_file

    kept = ~dataset.field("file").isin([speakable(file) for file in without])
    with PartWriter(place, new) as out:
        for table in tables:
            file = place.path(part_file(table, old))
            source = dataset.dataset(file, schema(table), format="parquet", filesystem=place.fs)
            for batch in source.to_batches(filter=kept):
                out.add_table(table, pa.Table.from_batches([batch]))
    return out
