"""Files of Parquet, written aside: rows are gathered in bounded number, a part of a table exists
only if it has rows.
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

ROWS_KEPT = 20_000
CHARS_KEPT = 16_000_000
"""Of one table in memory; then they are written."""


def speakable(text: str) -> str:
    """Half characters, which neither UTF-8 nor Parquet knows, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _spoken(value: Any) -> Any:
    """A value as Parquet can hold it: no half characters, and no number beyond 64 bits (null
    instead).
    """
    if isinstance(value, str):
        return speakable(value)
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else None
    if isinstance(value, dict):
        return {_spoken(k): _spoken(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_spoken(v) for v in value]
    return value


def _table(name: str, rows: list[Row | tuple[Any, ...]]) -> Any:
    import pyarrow as pa

    found = schema(name)
    columns = []
    for k, column in enumerate(found):
        values = [row[k] if isinstance(row, tuple) else row.get(column.name) for row in rows]
        try:
            columns.append(pa.array(values, column.type))
        except (UnicodeEncodeError, OverflowError, pa.ArrowInvalid):
            columns.append(pa.array(_spoken(values), column.type))
    return pa.Table.from_arrays(columns, schema=found)


def _group(row: Any) -> str:
    return (row[1] if isinstance(row, tuple) else row["group"]) or ""


@define
class PartWriter:
    """One part of every table, under names that no other attempt uses. `written`: table -> where it
    lies; `rows`: how many.
    """

    place: Place
    part: str
    written: dict[str, str] = Factory(dict)
    rows: dict[str, int] = Factory(dict)
    _attempt: str = Factory(lambda: uuid4().hex)
    _gathered: dict[str, list[Row | tuple[Any, ...]]] = Factory(dict)
    _chars: dict[str, int] = Factory(dict)
    _open: dict[str, tuple[Any, Any]] = Factory(dict)

    def add(self, table: str, row: Row | tuple[Any, ...]) -> None:
        """Takes one row: by name, or all of its columns in order."""
        gathered = self._gathered.setdefault(table, [])
        gathered.append(row)
        values = row if isinstance(row, tuple) else row.values()
        self._chars[table] = self._chars.get(table, 0) + sum(
            [len(v) for v in values if type(v) is str]
        )
        if len(gathered) >= ROWS_KEPT or self._chars[table] > CHARS_KEPT:
            self.flush(table)

    def add_table(self, name: str, rows: Any) -> None:
        """Takes rows that are an Arrow table already."""
        if not rows.num_rows:
            return
        import pyarrow.parquet as parquet

        if name not in self._open:
            self.written[name] = f"{HIDDEN}/{name}-{self.part}-{self._attempt}"
            stream = self.place.fs.open_output_stream(self.place.path(self.written[name]))
            self._open[name] = (
                stream,
                parquet.ParquetWriter(stream, schema(name), compression="zstd"),
            )
        self._open[name][1].write_table(rows)
        self.rows[name] = self.rows.get(name, 0) + rows.num_rows

    def flush(self, table: str) -> None:
        """Writes what has been gathered; events by group, so that a group's lie together."""
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
        for stream, parquet in self._open.values():
            if kind is None:
                parquet.close()
                stream.close()
            else:
                with contextlib.suppress(Exception):
                    stream.close()
        if kind is not None:
            for name in self.written.values():
                with contextlib.suppress(Exception):
                    self.place.remove(name)


def rewritten(
    place: Place, old: str, tables: Iterable[str], new: str, without: Collection[str]
) -> PartWriter:
    """A part again, without the rows of some files, row group by row group. Its writer, closed,
    says what there is.
    """
    import pyarrow as pa
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    from groupcheck.oracles.archive.manifest import part_file

    unwanted = pa.array([speakable(file) for file in without], pa.string())
    with PartWriter(place, new) as out:
        for table in tables:
            with place.fs.open_input_file(place.path(part_file(table, old))) as stream:
                source = parquet.ParquetFile(stream)
                for k in range(source.num_row_groups):
                    rows = source.read_row_group(k)
                    out.add_table(
                        table,
                        rows.filter(
                            compute.invert(compute.is_in(rows["file"], value_set=unwanted))
                        ),
                    )
    return out
