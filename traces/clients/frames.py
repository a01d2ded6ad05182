"""Takes off what people, shippers and terminals put around a client's line, as far as it stands in
the way of its words: colours, escapes of JSON, HTML entities, typographic quotes, runs of blanks.

The line that a report quotes stays as it is in the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attrs import Factory, define, evolve

from groupcheck.traces.clients.statement import NUMBERED, Statement
from groupcheck.traces.lines.marks import plain_typography, without_bold, without_html
from groupcheck.traces.lines.shapes import by_shape, shape_of
from groupcheck.traces.lines.timestamps import time_in_json

_COLOUR = re.compile(r"(?:\x1b|\^\[)\[[0-9;]{0,20}[A-Za-z]")
_ESCAPED = re.compile(r"\\([nrt\"/])")
_PROCESS = re.compile(
    r"\A[ \t>#*`]{0,20}(?:"
    r"(?P<compose>[A-Za-z][\w.@-]{1,120}?)[ \t]{0,40}\| "  # docker compose, docker service
    r"|\[pod/(?P<kubectl>[\w./-]{1,200})\] "  # kubectl logs --prefix
    r"|(?P<stern>[a-z][\w.-]{0,80}-[a-z0-9]{8,10}-[a-z0-9]{5} [a-z][\w.-]{0,60}) "  # stern
    r"|(?:[A-Z][a-z]{2} {1,2}\d{1,2} [\d:]{8}|\d{4}-\d\d-\d\dT\S{8,30})"
    r" (?P<syslog>[\w.-]{1,80} [\w.@/-]{1,80}\[\d{1,9}\]): "  # syslog, journald
    # A pod or a host in a column of an export: before the time, or behind it.
    r"|(?P<first>[a-z][\w.]{0,60}-[\w.-]{1,100})[ \t]{1,40}(?=\d{4}-\d\d-\d\d[T ]\d\d:)"
    r"|\"?\d{4}-\d\d-\d\d[T ][\d:.,Z+-]{8,20}(?:\"?[,;]\"?|[ \t|]{1,9})"
    r"(?P<second>[a-z][\w.]{0,60}-[\w.-]{1,100})"
    r"(?:\"?[,;]|[ \t|]{1,9}\[?(?:TRACE|DEBUG|INFO|WARN|ERROR)\b)"
    r")"
)
_NO_HOST = re.compile(
    r"thread|exec|pool|main|nio|worker|consumer|producer|schedul|task|listener|kafka|\A(?:org|com|io|net)\."
    r"|\A[^\d.]*\Z"
)
"""Columns of threads and loggers; and names without a digit or a dot, which are of services."""
_LEVELS = {"TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "SEVERE"}
_KEYS = {
    "caller", "cause", "err", "error", "exception", "group", "groupid", "level", "logger",
    "message", "msg", "how", "reason", "stack", "thread", "time", "timestamp", "topic", "ts", "why",
}  # fmt: skip
"""Keys of a record whose fields stand on lines of their own."""
_PID = re.compile(
    r"\b(?:TRACE|DEBUG|INFO|WARN|ERROR)\s{1,3}(?P<spring>\d{1,9}) ?--- ?\["  # Spring Boot
    r"|\"(?:pid|process\.pid)\"\s?:\s?\"?(?P<json>\d{1,9})\b"  # pino, bunyan, structured layouts
)


# time="..." level=info msg="joined" generation=7 group=orders: logrus (keys sorted), slog's text
_LOGFMT = re.compile(
    r"(?:[\w.]{1,60}=(?:\"(?:[^\"\\]|\\.){0,5000}\"|[^\s\"]{0,500})(?:\s|\Z)){3,60}\Z"
)
_PAIR = re.compile(r"([\w.]{1,60})=(?:\"((?:[^\"\\]|\\.){0,5000})\"|([^\s\"]{0,500}))(?:\s|\Z)")


def _as_json(line: str) -> str:
    """A record of logfmt as the same record of JSON, so that one sentence fits both; a name that
    says that there is none is left out.
    """
    at = line.find("time=")
    if at < 0 or _LOGFMT.match(line, at) is None:
        return line
    pairs = [
        f'"{key}":{value}' if value.isdigit() else f'"{key}":"{text or value}"'
        for key, text, value in _PAIR.findall(line[at:])
        if text != "<nil>"
    ]
    return line[:at] + "{" + ",".join(pairs) + "}"


def plain(line: str) -> str:
    """The words of the line, with single blanks between them."""
    if "msg=" in line and "level=" in line and " group=" in line:
        line = _as_json(line)
    if line[:2] == '{"' and '": ' in line:  # a shipper wrote the record with blanks in it
        line = line.replace('": ', '":').replace(', "', ',"')
    if "\x1b" in line or "^[[" in line:
        line = _COLOUR.sub("", line)
    line = without_html(line, " ")
    if "\\" in line:
        line = _ESCAPED.sub(lambda m: '"' if m[1] == '"' else "/" if m[1] == "/" else " ", line)
    return " ".join(without_bold(plain_typography(line), " ").split())


def process_of(line: str) -> str:
    """The service, pod or process that a prefix of docker compose, kubectl, stern or syslog names,
    or a column of an export; or else the number of the process that a layout prints; empty if there
    is none.
    """
    if line[:1] == "[" and not line.startswith("[pod/"):
        return ""  # most lines of brokers begin with a time in brackets
    found = _PROCESS.match(line)
    name = next(filter(None, found.groupdict().values()), "") if found else ""
    if found and (column := found["first"] or found["second"]):
        name = "" if _NO_HOST.search(column) else column
    if name and name.upper() not in _LEVELS and name.lower() not in _KEYS:
        return name
    number = _PID.search(line) if " ---" in line or 'pid"' in line else None
    return f"{NUMBERED}{number[1] or number[2]}" if number else ""


_CONTINUES = re.compile(
    r"(?:[A-Za-z][\w.@-]{0,120}[ \t]{0,40}\| )?"
    r"(?:[ \t]|\Z|Caused by: |(?:Current owned|Added|Revoked|Assigned) partitions"
    r"|elected=|assignments received:|re-joining group, |failed to join|Leaving group, "  # brod
    r"|(?:now assigned|compare with previously owned|newly added|revoked) partitions: "
    r"|(?:[a-z][\w$]{0,60}\.){2,12}\w{1,90}(?:Exception|Error)\b"
    r"|at (?:[\w.]{1,60}/)?(?:[a-z][\w$]{0,60}\.){2,12}[\w$.<>]{1,120}\()"  # without its indent
)
_DATED = re.compile(r"\d\d:\d\d:\d\d")


def continues(line: str) -> bool:
    """The line goes on with the record of the one before: a stack trace, a list below its head."""
    return _CONTINUES.match(line) is not None and not _DATED.search(line[:40])


_BEHIND = re.compile(
    r"\s*(?:\((?:[a-z][\w$]*\.){2,20}[\w$]+(?::\d+)?\)"  # (org.apache.kafka.X:12)
    r"|\[(?:[a-z][\w$]*\.){2,20}[\w$.()<>:]+\]"  # [org.apache.kafka.X.m(X.java:12)]
    r"|\"\s?[,}]"  # the end of a string in JSON
    r"|\sat (?:[a-z][\w$]*[./]){2,20}[\w$]+"  # a stack trace on the same line
    r").*\Z"
)


def message_end(text: str) -> str:
    """The text without what a layout prints behind the message."""
    begin, end = _message(shape_of(text))
    return text[begin:end]


@by_shape
def _message(text: str) -> tuple[int, int]:
    """Where the message begins and ends."""
    text = _BEHIND.sub("", text).rstrip()
    return len(text) - len(text.lstrip()), len(text)


MOST_LINES = 200


_OPENED = re.compile(r"\A(?:[A-Za-z][\w.@-]{0,120}\s{0,40}\| )?[\s>#,\[]{0,80}\{\s*\Z")


def begins_record(line: str) -> bool:
    """An object of JSON begins here that is laid out over several lines."""
    return "{" in line and _OPENED.match(line) is not None


_GROUP = re.compile(r"\"?group(?:_?[Ii]d)?\"?\s{0,9}[:|]\s{0,9}\"?([^\s\",|{}\[\]]{1,249})\"?,?\Z")


@define
class PrettyRecord:
    """One record of a log in JSON that stands on several lines, or with one field on each: its time
    and its group may be on any of them.
    """

    _depth: int = 0
    _lines: int = 0
    _time: int | None = None
    _group: str = ""
    _said: list[Statement] = Factory(list)

    def takes(self, line: str, said: Iterable[Statement]) -> bool:
        """Adds a line with what it says. False: it is the last one."""
        self._said += said
        self._lines += 1
        text = line.strip()
        self._depth += text.endswith(("{", "[")) - text.startswith(("}", "]"))
        if self._time is None:
            self._time = time_in_json(text)
        if found := _GROUP.match(text):
            self._group = found[1]
        return self._depth > 0 and self._lines < MOST_LINES

    def statements(self) -> Iterator[Statement]:
        """The statements of its lines, with the time of the record."""
        for said in self._said:
            if self._group and not said.group:
                said = evolve(said, group=self._group)
            yield said if self._time is None else evolve(said, time=self._time)


_STEP = re.compile(
    r"%\d\|\d{9,11}\.\d{1,3}\|(?:DUMP(?:_ALL|_PND|_QRY|_REM)?|CGRPOP|ASSIGNDONE|PAUSE|SRVPEND)\|"
)


_NAMES_GROUP = re.compile(
    r"(?<=\|)(rdkafka#[^|]{1,200})\| (?:\[thrd:[^\]]{0,200}\]: )?Group (\"[^\"]{1,250}\")"
)


def group_named(line: str) -> tuple[str, str] | None:
    """(client, group in quotes) as a step of librdkafka names them; None if it names none."""
    found = _NAMES_GROUP.search(line) if 'Group "' in line else None
    return None if found is None else (found[1], found[2])


def says_nothing(line: str) -> bool:
    """The line is a step that changes nothing for the group: with `debug` on, most lines of
    librdkafka are, and kafka-python prints one at every poll.
    """
    if line[:1] == "%" and _STEP.match(line) is not None:
        return True
    return " need_rejoin: False" in line or " need_rejoin: True (from base" in line


_ERROR_LEVEL = re.compile(
    r"\b(?:ERROR|FATAL|SEVERE|CRITICAL)\b|%[0-3]\|\d{9}"
    r"|\blevel\"?[=:] ?\"?(?:error|fatal)\b|\[error\]"
)

_GRAVE = re.compile(r"(?<!\bnot )\b(?:[Ff]enced|FENCED|[Ee]victed|[Ee]xpelled|[Kk]icked out)\b")
"""Whatever its level is, such a line says that a member lost its place."""


def is_grave(line: str) -> bool:
    """Is it logged as an error, or does it say that a member lost its place?"""
    return bool(_ERROR_LEVEL.search(line) or _GRAVE.search(line))
