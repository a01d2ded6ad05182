"""Timestamps of log lines: milliseconds since 1970, or None. A time without a zone is read as if it
were UTC.

Some logs print no year, or no date. Their times lie before `FIRST_DATED`, where no real log is: a
time of day on the first days of 1970, a day of a month in 1972 (a leap year). `Clock` carries them
over midnight and New Year, and `show_time` shows no more of them than the log has.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache

from attrs import define, frozen

_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTHS = {name: i for i, name in enumerate(_NAMES, 1)}
_DAY = 86_400_000
_HOUR = 3_600_000
_EPOCH = date(1970, 1, 1).toordinal()
_YEARLESS = 1972
FIRST_DATED = (date(1980, 1, 1).toordinal() - _EPOCH) * _DAY
"""Times before this one are of lines that do not print a whole date."""
_FIRST_YEARLESS = (date(_YEARLESS, 1, 1).toordinal() - _EPOCH) * _DAY
BACKWARDS = 6 * _HOUR
"""A time of day that is earlier than the one before it by more than this is of the next day."""
ZONE_MS = 15 * 60_000
"""Clocks of different zones differ by this at least."""
THREADS = 60_000
"""Around midnight, a step back by less than this is of lines out of order."""

_CLOCK_PARTS = r"(\d\d):(\d\d):(\d\d)(?:[.,:](\d{1,9}))?"
_ZONE = r"(?:\s?(Z|UTC|GMT|[+-]\d\d:?\d\d)\b)?"


@frozen
class Stamp:
    """A timestamp as a line prints it."""

    # Milliseconds since 1970, of UTC if the zone is printed; before `FIRST_DATED` if the date is
    # not whole.
    time: int
    # The line prints its zone, or a number of seconds since 1970.
    zoned: bool = False


@lru_cache(maxsize=1 << 13)
def _midnight(year: int, month: str, day: str) -> int | None:
    number = _MONTHS.get(month.lower()) if month.isalpha() else int(month)
    try:
        return (date(year, number or 0, int(day)).toordinal() - _EPOCH) * _DAY
    except ValueError:
        return None


def _stamp(
    year: str | int,
    month: str,
    day: str,
    h: str,
    m: str,
    s: str,
    fraction: str | None = None,
    zone: str | None = None,
    half: str | None = None,
) -> Stamp | None:
    midnight = _midnight(int(year), month, day)
    hour = int(h) if half is None else int(h) % 12 + 12 * (half.lower() == "p")
    if midnight is None or hour > 24 or int(m) > 59 or int(s) > 60:
        return None
    ms = int((fraction + "00")[:3]) if fraction else 0
    time = midnight + ((hour * 60 + int(m)) * 60 + int(s)) * 1000 + ms - _zone(zone)
    return Stamp(time, zone is not None)


def _zone(text: str | None) -> int:
    if not text or text[0] not in "+-":
        return 0
    digits = text[1:].replace(":", "")
    ms = (int(digits[:2]) * 60 + int(digits[2:])) * 60_000
    return ms if text[0] == "+" else -ms


# the stock pattern of Kafka's own log4j configuration: [2024-10-25 17:25:16,582] INFO
_STOCK = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d):(\d\d),(\d{3})\] [A-Z]{4,5} ")


@lru_cache(maxsize=1 << 10)
def _minute(text: str) -> int | None:
    """The beginning of the minute that is printed as `2024-10-25 17:25`."""
    there = _stamp(text[:4], text[5:7], text[8:10], text[11:13], text[14:], "00")
    return None if there is None else there.time


def _stock_time(stock: re.Match[str]) -> int | None:
    minute, second = _minute(stock[1]), int(stock[2])
    return None if minute is None or second > 60 else minute + second * 1000 + int(stock[3])


# ISO 8601 and its relatives: 2024-10-25 17:25:16,582 · 2024-10-25T17:25:16.582+02:00 · 2024/10/25
# 17:25:16.582 (Go)
_ISO = re.compile(rf"(\d{{4}})[-/](\d\d)[-/](\d\d)[Tt _]{_CLOCK_PARTS}{_ZONE}")
_Form = tuple[re.Pattern[str], Callable[[re.Match[str]], Stamp | None]]


def _day_first(found: re.Match[str]) -> Stamp | None:
    day, month, year, *clock = found.groups()
    return _stamp(year, month, day, *clock)


def _month_first(found: re.Match[str]) -> Stamp | None:
    month, day, year, h, m, s, fraction, half = found.groups()
    if month.isdigit() and int(month) > 12:
        month, day = day, month
    return _stamp(year, month, day, h, m, s, fraction, None, half)


def _unix(found: re.Match[str]) -> Stamp | None:
    time = from_number(float(found[1]))
    return None if time is None else Stamp(time, zoned=True)


_LIBRDKAFKA = re.compile(r"%[0-7]\|(\d{9,11}\.\d{1,9})\|")
_FORMS: tuple[_Form, ...] = (
    # log4j's DATE and its relatives: 25 Oct 2024 17:25:16,582 · 25/Oct/2024:17:25:16 +0000
    (
        re.compile(rf"\b(\d{{1,2}})[ /-]([A-Za-z]{{3}})[ /-](\d{{4}})[ :]{_CLOCK_PARTS}{_ZONE}"),
        _day_first,
    ),
    # 25.10.2024 17:25:16,582
    (re.compile(rf"\b(\d{{1,2}})\.(\d\d)\.(\d{{4}})[ ,]{{1,2}}{_CLOCK_PARTS}"), _day_first),
    # Java's logging and .NET: Oct 25, 2024 5:25:16 PM · 10/25/2024 17:25:16; Kibana's: Oct 25, 2024
    # @ 17:25:16.582
    (
        re.compile(
            r"\b([A-Z][a-z]{2}|\d{1,2})[ /](\d{1,2})(?:, |/)(\d{4}),?"
            r"(?: @)? (\d{1,2}):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?: ([AP])M\b)?"
        ),
        _month_first,
    ),
    # without marks in the date: 20241025 17:25:16.582
    (
        re.compile(rf"(?<!\d)(20\d\d)(\d\d)(\d\d)[ -]{_CLOCK_PARTS}"),
        lambda m: _stamp(*m.groups()),
    ),
    # two figures for the year: 24-10-25 17:25:16.582
    (
        re.compile(rf"(?<![\d-])(\d\d)-(\d\d)-(\d\d) {_CLOCK_PARTS}"),
        lambda m: _stamp("20" + m[1], *m.groups()[1:]),
    ),
    # date's and asctime's: Fri Oct 25 17:25:16 UTC 2024
    (
        re.compile(
            rf"\b([A-Z][a-z]{{2}}) {{1,2}}(\d{{1,2}}) {_CLOCK_PARTS}(?: ([A-Z]{{3,4}}))? (20\d\d)\b"
        ),
        lambda m: _stamp(m[8], *m.groups()[:6]),
    ),
    # syslog, without a year: Oct 25 17:25:16
    (
        re.compile(rf"\b([A-Z][a-z]{{2}}) {{1,2}}(\d{{1,2}}) {_CLOCK_PARTS}"),
        lambda m: _stamp(_YEARLESS, *m.groups()),
    ),
    # glog, without a year: I1025 17:25:16.582123
    (
        re.compile(rf"(?<!\w)[IWEF](\d\d)(\d\d) {_CLOCK_PARTS}"),
        lambda m: _stamp(_YEARLESS, *m.groups()),
    ),
    # month and day alone: 10-25 17:25:16.582
    (
        re.compile(rf"(?<![\d/-])(\d\d)[-/](\d\d)[ T]{_CLOCK_PARTS}"),
        lambda m: _stamp(_YEARLESS, *m.groups()),
    ),
    # librdkafka: %7|1729877116.582|JOIN|
    (_LIBRDKAFKA, _unix),
    # a number of seconds, milliseconds, microseconds or nanoseconds at the beginning or as a field
    (
        re.compile(
            r"""(?:\A[\s\["'(]{0,8}|\b(?:ts|time|timestamp)["']?[=:] ?["']?)"""
            r"(\d{10}\.\d{1,9}|\d{10}|\d{13}|\d{16}|\d{19})(?![\w.:-])"
        ),
        _unix,
    ),
    # a time of day alone: 17:25:16,582
    (
        re.compile(r"(?<![\d:])(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?![\d:])"),
        lambda m: _stamp("1970", "01", "01", *m.groups()),
    ),
)


_DIGITS = re.compile(r"\d:\d\d:\d\d|\d{9}")
"""Every form has such digits."""


def stamp(text: str) -> Stamp | None:
    """The last timestamp in `text`, which is what stands before the message: a shipper puts its own
    in front of the program's. One with a whole date counts more than one without.
    """
    if (stock := _STOCK.match(text)) and not _DIGITS.search(text, stock.end()):
        time = _stock_time(stock)
        return None if time is None else Stamp(time)
    if not _DIGITS.search(text):
        return None
    if text[:1] == "%" and (seconds := _LIBRDKAFKA.match(text)):
        return _unix(seconds)
    if iso := list(_ISO.finditer(text)):
        return _stamp(*iso[-1].groups())
    for form, read in _FORMS:
        found = form.search(text)
        there = read(found) if found else None
        if there is not None:
            return there
    return None


def parse_time(text: str) -> int | None:
    """The time of `stamp`."""
    if (stock := _STOCK.match(text)) and not _DIGITS.search(text, stock.end()):
        return _stock_time(stock)
    there = stamp(text)
    return None if there is None else there.time


@define
class Clock:
    """Gives the lines of one log, in their order, the dates that they do not print.

    A time of day belongs to the day of the line before it, or to the next one if it is earlier by
    more than `BACKWARDS`; smaller steps back are lines out of order. A day of a month belongs to
    the next year if it is earlier by more than half a year.
    """

    last: int | None = None
    # Is the last line's time one of the clock whose dates are known?
    agrees: bool = True

    def with_date(self, time: int | None) -> int | None:
        """The time of the next line, with its date as far as that is known."""
        if time is None:
            return None
        if time < FIRST_DATED and self.last is not None:
            time = self._day(time) if time < _FIRST_YEARLESS else self._year(time)
        self.last = time
        return time

    def beside(self, time: int | None) -> int | None:
        """The time of the next line of a log in which several programs may write, some of them
        dates: a line without one is of the day on which it is closest to the last line whose day is
        known. If it is far from it then, too, it tells the time of another zone, and gets that
        line's time.
        """
        self.agrees = True
        if time is None:
            return None
        if time < FIRST_DATED:
            if self.last is None:
                return time
            ahead = (time - self.last + _DAY // 2) % _DAY - _DAY // 2
            self.agrees = abs(ahead) <= ZONE_MS
            time = self.last + (ahead if self.agrees else 0)
        self.last = time
        return time

    def _day(self, time: int) -> int:
        assert self.last is not None
        time = self.last - self.last % _DAY + time % _DAY
        if time - self.last > _DAY - THREADS and time >= _DAY:
            return time - _DAY
        over = self.last - time > BACKWARDS and not _at_the_end(self.last)
        return time + _DAY if over else time

    def _year(self, time: int) -> int:
        assert self.last is not None
        if self.last < _FIRST_YEARLESS:
            return time
        year = date.fromordinal(self.last // _DAY + _EPOCH).year
        before, now, after = (_moved(time, y) for y in (year - 1, year, year + 1))
        if 0 < self.last - before < THREADS and year > _YEARLESS:
            return before
        over = self.last - now > 183 * _DAY and not _at_the_end(self.last)
        return after if over else now


def _at_the_end(last: int) -> bool:
    """Would a step on from this time leave the range of its kind (a shuffled log has many)?"""
    return (
        _FIRST_YEARLESS - _DAY <= last < _FIRST_YEARLESS
        or FIRST_DATED - 366 * _DAY <= last < FIRST_DATED
    )


def _moved(time: int, year: int) -> int:
    """The same day in another year; the 29th of February is the 1st of March in some."""
    day = date.fromordinal(time // _DAY + _EPOCH)
    start = date(year, day.month, 1).toordinal() - 1 + day.day
    return (start - _EPOCH) * _DAY + time % _DAY


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
    """`2024-10-25 17:25:16.582`; `10-25 17:25:16.582` or `17:25:16.582` for a log that prints no
    year or no date; None is `-`.
    """
    if ms is None:
        return "-"
    days, rest = divmod(ms, _DAY)
    clock = (
        f"{rest // 3_600_000:02}:{rest // 60_000 % 60:02}:{rest // 1000 % 60:02}.{rest % 1000:03}"
    )
    if 0 <= ms < _FIRST_YEARLESS:
        return clock
    try:
        day = date.fromordinal(days + _EPOCH).isoformat()
    except (ValueError, OverflowError):
        return "-"
    return f"{day[5:] if 0 <= ms < FIRST_DATED else day} {clock}"


def show_span(ms: float) -> str:
    """A duration for readers: `300000 ms (5 min)`, `1500 ms`, `532500 ms (8 min 52 s)`."""
    whole = round(ms)
    seconds = (whole + 500) // 1000
    if seconds < 10:
        return f"{whole} ms"
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min")]
    parts.append((seconds % 60, "s"))
    return f"{whole} ms ({' '.join([f'{n} {unit}' for n, unit in parts if n][:2])})"


_TIME_KEY = re.compile(
    r"\"(?:@?timestamp|@t|time|ts|date|datetime|asctime|event_?time|timeMillis|epochSecond|seconds)"
    r"\"\s?:\s?\"?(?P<value>[^\"{,][^\",]{1,60}(?:,\d{3})?)",
    re.I,
)
_NUMBER_OF_TIME = re.compile(r"\d{10,19}(?:\.\d{1,9})?\Z")


def time_in_json(text: str) -> int | None:
    """The time that a key of JSON tells, wherever it stands in the line."""
    found = _TIME_KEY.search(text) if '":' in text or '" :' in text else None
    if found is None:
        return None
    value = found["value"].strip(" }")
    return from_number(float(value)) if _NUMBER_OF_TIME.match(value) else parse_time(value)
