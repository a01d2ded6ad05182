"""Timestamps of log lines: milliseconds since 1970, or None. A time without a zone is taken as it
is written (as if it were UTC).
"""

from __future__ import annotations

import re
from datetime import date

_MONTHS = {
    name: i + 1 for i, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split())
}
_DAY = 86_400_000

# ISO 8601 and its kin: 2024-10-25 17:25:16,582 · 2024-10-25T17:25:16.582+02:00 · 2024/10/25
# 17:25:16.582
_ISO = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[T"
    r" _](\d\d):(\d\d):(\d\d)(?:[.,:](\d{1,9}))?(?:\s?(Z|UTC|[+-]\d\d:?\d\d)\b)?"
)
# log4j's DATE and what others make of it: 25 Oct 2024 17:25:16,582 · 25/Oct/2024:17:25:16
_NAMED = re.compile(
    r"\b(\d{1,2})[ /-]([A-Za-z]{3})[ /-](\d{4})[ :](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
)
# syslog: Oct 25 17:25:16 (no year: taken as 1970)
_SYSLOG = re.compile(r"\b([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
# a time of day alone: 17:25:16,582
_CLOCK = re.compile(r"(?<![\d:])(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?![\d:])")
_days: dict[tuple[int, int, int], int | None] = {}


def _midnight(year: int, month: int, day: int) -> int | None:
    key = (year, month, day)
    if key not in _days:
        if len(_days) > 10_000:
            _days.clear()
        try:
            _days[key] = (date(year, month, day).toordinal() - 719_163) * _DAY
        except ValueError:
            _days[key] = None
    return _days[key]


def _ms(midnight: int | None, h: str, m: str, s: str, fraction: str | None) -> int | None:
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


# the stock pattern of Kafka's own log4j configuration: [2024-10-25 17:25:16,582] INFO
_STOCK = re.compile(r"\[(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d),(\d{3})\] [A-Z]{4,5} ")


def parse_time(text: str) -> int | None:
    """The last timestamp in `text` (what stands before the message): a shipper puts its own in
    front, the program's own comes last.
    """
    stock = _STOCK.fullmatch(text)
    if stock:
        y, mo, d, h, m, s, f = stock.groups()
        return _ms(_midnight(int(y), int(mo), int(d)), h, m, s, f)
    iso = list(_ISO.finditer(text))
    if iso:
        y, mo, d, h, m, s, f, z = iso[-1].groups()
        ms = _ms(_midnight(int(y), int(mo), int(d)), h, m, s, f)
        return None if ms is None else ms - _zone(z)
    named = _NAMED.search(text)
    if named:
        day, name, y, h, m, s, f = named.groups()
        month = _MONTHS.get(name.lower())
        return _ms(_midnight(int(y), month, int(day)), h, m, s, f) if month else None
    syslog = _SYSLOG.search(text)
    if syslog:
        name, day, h, m, s, f = syslog.groups()
        month = _MONTHS.get(name.lower())
        return _ms(_midnight(1970, month, int(day)), h, m, s, f) if month else None
    clock = _CLOCK.search(text)
    if clock:
        h, m, s, f = clock.groups()
        return _ms(0, h, m, s, f)
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
    """`2024-10-25 17:25:16.582`, without a date for times of day, `-` for none."""
    if ms is None:
        return "-"
    days, rest = divmod(ms, _DAY)
    clock = (
        f"{rest // 3_600_000:02}:{rest // 60_000 % 60:02}:{rest // 1000 % 60:02}.{rest % 1000:03}"
    )
    if days == 0:
        return clock
    try:
        return f"{date.fromordinal(days + 719_163).isoformat()} {clock}"
    except (ValueError, OverflowError):
        return "-"
