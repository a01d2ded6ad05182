"""Units and bounds of numbers that people give, on the command line or in a file. Nothing heavy is
imported here.
"""

from __future__ import annotations

import re

MS = {"ms": 1.0, "s": 1_000.0, "m": 60_000.0, "h": 3_600_000.0}
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

MOST_SECONDS = 10**9  # 31 years
MOST_SEED = 10**18  # it fits into the 64 bits of a table
MOST_REPLICATIONS = 1_000  # all are kept until the end, with figures of each member
MOST_WORKERS = 1_024


def time_of(text: object, unit: str = "") -> float:
    """A time in `unit` (a key of `MS`), written as a number of that unit or with a unit of its own:
    `500ms`, `30s`, `1.5m`, `2h`. Without `unit` a number alone is refused, and the answer is in
    milliseconds. Raises `ValueError` for anything else.
    """
    match = re.fullmatch(r"\s*([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*(ms|s|m|h)\s*", str(text))
    if match is not None:
        return float(match[1]) * MS[match[2]] / MS[unit or "ms"]
    if not unit:
        raise ValueError(f"{text!r} is not a duration such as 500ms, 30s, 2m or 1h")
    return float(str(text))


def bytes_of(value: object) -> int:
    """Bytes, in units of 1,024: `1500000`, `512M`, `1.5G`, `2GiB`. Raises `ValueError` for anything
    else.
    """
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([KMGT]?)(?:I?B)?", str(value).upper())
    size = int(float(match[1]) * UNITS[match[2]]) if match else 0
    if size < 1:
        raise ValueError(f"{value!r} is not a size such as 512M or 4G")
    return size
