"""The settings that a client of Java prints when it starts: a head line, and one line each.

    INFO ConsumerConfig values:
            auto.offset.reset = latest
            session.timeout.ms = 45000

A shipper may put its frame around each line, or all of them into one line.
"""

from __future__ import annotations

import re

from attrs import Factory, define

_HEAD = re.compile(r"\b(\w{1,40})Config values ?:")
_PAIR = re.compile(r"(?:\A|\s)([a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+) = ?")
_NUMBER = re.compile(r"-?\d{1,18}")
MOST_LINES = 400
CONCERNED = frozenset(
    """
    session.timeout.ms heartbeat.interval.ms max.poll.interval.ms max.poll.records
    group.id group.instance.id client.id group.protocol group.remote.assignor
    partition.assignment.strategy auto.offset.reset enable.auto.commit auto.commit.interval.ms
    request.timeout.ms default.api.timeout.ms connections.max.idle.ms metadata.max.age.ms
    isolation.level internal.leave.group.on.close retry.backoff.ms fetch.max.wait.ms
    rebalance.timeout.ms scheduled.rebalance.max.delay.ms connect.protocol config.storage.topic
    offset.flush.interval.ms offset.flush.timeout.ms
    application.id num.stream.threads num.standby.replicas processing.guarantee
    zookeeper.session.timeout.ms rebalance.max.retries rebalance.backoff.ms
    """.split()
)
"""Those that decide about a group."""
_NUMBERS = tuple(
    n for n in sorted(CONCERNED, key=len, reverse=True)
    if n.endswith((".ms", ".records", ".retries", ".threads", ".replicas"))
)  # fmt: skip
_SPELLED = {n: n for n in _NUMBERS} | {n.replace(".", "_"): n for n in _NUMBERS} | {
    n: n for n in ("sessionTimeout", "rebalanceTimeout", "heartbeatInterval", "maxPollInterval")
}  # fmt: skip
"""As programs in Java, Python and JavaScript spell the names -> the name."""
_NAMES = tuple(n for n in CONCERNED if n.count(".") > 1 and n not in _NUMBERS)
_IS = r"[\"'`]?\s?(?:=>|[=:])\s?[\"'`]?"
_NUMBER_TOLD = re.compile(
    r"(?:(?<=-D)|(?<![\w.]))(" + "|".join(map(re.escape, _SPELLED))
    + rf"){_IS}(-?\d{{1,18}})(?![\w.]*\w)"
)  # fmt: skip
_NAME_TOLD = re.compile(
    r"(?<![\w.-])(" + "|".join(map(re.escape, sorted(_NAMES))) + r") ?= ?[\"']?([\w.-]{1,100})"
)


def tells_settings(text: str) -> bool:
    """May a line tell the value of a setting, as name=value or name: number?"""
    return _NUMBER_TOLD.search(text) is not None or _NAME_TOLD.search(text) is not None


def settings_told(text: str) -> dict[str, str | int]:
    """The settings that a line tells, as fields of a statement."""
    numbers = ((_SPELLED[name], int(v)) for name, v in _NUMBER_TOLD.findall(text))
    names = ((n, v.rstrip(".")) for n, v in _NAME_TOLD.findall(text) if v != "null")
    return {
        f"setting_{name.replace('.', '__')}": int(v) if _NUMBER.fullmatch(str(v)) else v
        for name, v in (*numbers, *names)
    }


@define
class Dump:
    """The settings of one client, as far as they were read."""

    # The number of the head line, and its text.
    line: int
    head: str
    # Consumer, Distributed, Streams, ...
    of: str
    values: dict[str, str] = Factory(dict)
    _lines: int = 0

    def takes(self, text: str) -> bool:
        """Reads one more line. False: it is none of them, and the dump is over."""
        self._lines += 1
        pairs = list(_PAIR.finditer(text))
        ends = [*(pair.start() for pair in pairs[1:]), len(text)]
        for pair, end in zip(pairs, ends, strict=False):
            if pair[1] in CONCERNED:
                value = text[pair.end() : end].split('"', 1)[0].strip()
                if value not in ("null", "", "[]"):
                    self.values[pair[1]] = value[:300]
        return bool(pairs) and self._lines < MOST_LINES

    def fields(self) -> dict[str, str | int]:
        """The settings as fields of a statement."""
        return {
            "of": self.of,
            **{
                f"setting_{k.replace('.', '__')}": int(v) if _NUMBER.fullmatch(v) else v
                for k, v in self.values.items()
            },
        }


def dump_at(number: int, text: str) -> Dump | None:
    """The dump that begins in this line, with the settings that stand in it."""
    head = _HEAD.search(text)
    if head is None:
        return None
    dump = Dump(number, text, head[1])
    dump.takes(text[head.end() :])
    return dump
