"""Results as ordinary Parquet tables, for whoever asks them with pandas, DuckDB or Spark.
docs/tables.md documents the columns.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.show.files import write
from groupcheck.oracles.show.json_schemas import schema_of

if TYPE_CHECKING:
    import pyarrow

# JSON type -> Arrow type.
ARROW = {
    "string": "string", "boolean": "bool", "integer": "int32", "number": "float64",
    "array": "list", "object": "map",
}  # fmt: skip
# Column -> Arrow type.
CONFORMANCE = {
    "row": "int64",
    "variant": "string",
    "kafka": "string",
    "mutation": "string",
    "memory": "string",
    "generation": "int32",
    "input": "string",
    "outcomes": "int32",
    "executed": "bool",
    "agrees": "bool",
}


def needed(where: str, extra: str = "parquet") -> None:
    """Raises `UserError` where pyarrow, which writes tables, is missing. `extra`: the one of
    groupcheck's extras that brings it for the task at hand.
    """
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise UserError(
            "pyarrow is not installed", where=where, do=f"pip install 'groupcheck[{extra}]'"
        ) from None


def columns_of(shape: Any, wide: Collection[str] = ()) -> dict[str, str]:
    """Column -> Arrow type of a table with the fields of a document's type. `wide`: numbers that
    may need 64 bits.
    """
    found = {}
    for name, part in schema_of(shape)["properties"].items():
        kind = part.get("type", "string")  # the values of an enumeration are texts
        found[name] = "int64" if name in wide else ARROW[kind if isinstance(kind, str) else kind[0]]
    return found


def schema(columns: Mapping[str, str]) -> pyarrow.Schema:
    """The Arrow schema of columns with these types. Besides Arrow's own names there are `list` (of
    texts), `map` (from texts to numbers), and lists of structs.
    """
    import pyarrow as pa

    def arrow(kind: str) -> pyarrow.DataType:
        special = {
            "map": pa.map_(pa.string(), pa.int32()),
            "list": pa.list_(pa.string()),
            "list<string>": pa.list_(pa.string()),
            "map<string, int64>": pa.map_(pa.string(), pa.int64()),
        }
        if kind.startswith("list<struct<"):
            fields = kind.removeprefix("list<struct<").removesuffix(">>").split(", ")
            return pa.list_(
                pa.struct([(f[0], arrow(f[1])) for f in (f.split(": ") for f in fields)])
            )
        return special.get(kind) or pa.type_for_alias(kind)

    return pa.schema([(name, arrow(kind)) for name, kind in columns.items()])


def speakable(text: str) -> str:
    """The text with escapes for half characters, which neither UTF-8 nor Parquet can hold."""
    return text.encode("utf-8", "backslashreplace").decode()


def _spoken(value: Any) -> Any:
    """A value as Parquet can hold it: no half characters, and null for a number beyond 64 bits."""
    if isinstance(value, str):
        return speakable(value)
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else None
    if isinstance(value, dict):
        return {_spoken(k): _spoken(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_spoken(v) for v in value]
    if isinstance(value, tuple):  # an entry of a map
        return tuple(map(_spoken, value))
    return value


def column_of(values: Sequence[Any], kind: pyarrow.DataType) -> pyarrow.Array:
    """A column of a table. What Parquet cannot hold becomes what it can: half a character an
    escape, a number beyond 64 bits null.
    """
    import pyarrow as pa

    try:
        return pa.array(values, kind)
    except (UnicodeEncodeError, OverflowError, pa.ArrowInvalid):
        return pa.array(_spoken(values), kind)


def write_table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], path: Path) -> None:
    """Writes a table whole or not at all. Raises `UserError` where it cannot."""
    import pyarrow as pa
    from pyarrow import parquet

    found = schema(columns)
    filled = [column_of([row.get(one.name) for row in rows], one.type) for one in found]
    # Not to the file itself: pyarrow removes what it cannot write to, and asks where in it it is,
    # which a pipe does not know.
    made = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(filled, schema=found), made)
    write(path, made.getvalue())
