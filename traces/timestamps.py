"""Timestamps of log lines: milliseconds since 1970, or None. A time without a zone is read as if it
were UTC.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTHS = {name: i for i, name in enumerate(_NAMES, 1)} | {f"{i:02}": i for i in range(1, 13)}
_DAY = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()
FIRST_DATED = (date(1980, 1, 1).toordinal() - _EPOCH) * _DAY
"""Times before this one are of lines that do not print a whole date."""

# ISO 8601 and its relatives: 2024-10-25 17:25:16,582 · 2024-10-25T17:25:16.582+02:00 · 2024/10/25
# 17:25:16.582
_ISO = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[T"
    r" _](\d\d):(\d\d):(\d\d)(?:[.,:](\d{1,9}))?(?:\s?(Z|UTC|[+-]\d\d:?\d\d)\b)?"
)
# log4j's DATE and its relatives: 25 Oct 2024 17:25:16,582 · 25/Oct/2024:17:25:16
_NAMED = re.compile(
    r"\b(\d{1,2})[ /-]([A-Za-z]{3})[ /-](\d{4})[ :](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
)
# syslog: Oct 25 17:25:16 (no year: taken as 1970)
_SYSLOG = re.compile(r"\b([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
# a time of day alone: 17:25:16,582
_CLOCK = re.compile(r"(?<![\d:])(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?![\d:])")
# the stock pattern of Kafka's own log4j configuration: [2024-10-25 17:25:16,582] INFO
_STOCK = re.compile(r"\[(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d),(\d{3})\] [A-Z]{4,5} ")


@lru_cache(maxsize=1 << 13)
def _midnight(year: str, month: str, day: str) -> int | None:
    try:
        return (date(int(year), _MONTHS[month.lower()], int(day)).toordinal() - _EPOCH) * _DAY
    except (KeyError, ValueError):
        return None


def _ms(
    year: str, month: str, day: str, h: str, m: str, s: str, fraction: str | None
) -> int | None:
    midnight = _midnight(year, month, day)
    if midnight is None or int(h) > 24 or int(m) > 59 or int(s) > 60:
        return None
    ms = int((fraction + "00")[:3]) if fraction else 0
    return midnight + ((int(h) * 60 + int(m)) * 60 + int(s)) * 1000 + ms


def _zone(text: str | None) -> int:
    if not text or text[0] not in "+-":
        return 0
    digits = text[1:].replace(":", "")
    ms = (int(digits[:2]) * 60 + int(digits[2:])) * 60_000
    return ms if text[0] == "+" else -ms


def parse_time(text: str) -> int | None:
    """The last timestamp in `text`, which is what stands before the message: a shipper puts its own
    in front of the program's.
    """
    if stock := _STOCK.fullmatch(text):
        return _ms(*stock.groups())
    if iso := list(_ISO.finditer(text)):
        *parts, zone = iso[-1].groups()
        ms = _ms(*parts)
        return None if ms is None else ms - _zone(zone)
    if named := _NAMED.search(text):
        day, month, year, *clock = named.groups()
        return _ms(year, month, day, *clock)
    if syslog := _SYSLOG.search(text):
        return _ms("1970", *syslog.groups())
    if clock_alone := _CLOCK.search(text):
        return _ms("1970", "01", "01", *clock_alone.groups())
    return None


def from_number(value: float) -> int | None:
    """Seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by their size."""
    if not 0 < value < 1e20:
        return None
    for scale in (1e3, 1.0, 1e-3, 1e-6):
        ms = value * scale
        if 1e11 < ms < 1e13:
            return int(ms)
    return None


def show_time(ms: int | None) -> str:
    """`2024-10-25 17:25:16.582`; a time of day has no date, and None is `-`."""
    if ms is None:
        return "-"
    days, rest = divmod(ms, _DAY)
    clock = (
        f"{rest // 3_600_000:02}:{rest // 60_000 % 60:02}:{rest // 1000 % 60:02}.{rest % 1000:03}"
    )
    if days == 0:
        return clock
    try:
        return f"{date.fromordinal(days + _EPOCH).isoformat()} {clock}"
    except (ValueError, OverflowError):
        return "-"
