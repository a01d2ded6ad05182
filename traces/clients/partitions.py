"""Partitions as libraries print them, and who held which of them when by what a client says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from attrs import Factory, define, frozen

from groupcheck.traces.clients.said import Said

_TOPIC = r"[A-Za-z0-9._-]{1,249}"
_PYTHON = re.compile(rf"topic=u?['\"]?({_TOPIC})['\"]?, partition=(\d{{1,9}})")
_LISTED = re.compile(  # t: [0, 1]   "t":[0,1]   ('t', [0, 1])   t:[0 1]   t[0 1]   t [0]   t(id)[0]
    rf"({_TOPIC})(?:\([\w-]{{0,30}}\))?['\"]?(?:\s?[:,]\s?|\s)?\s?[\[{{]"
    r"(\d{1,9}(?:[,\s]{1,3}\d{1,9}){0,10000})[\]}]"
)
_DASHED = re.compile(rf"(?<![\w.-])({_TOPIC})-(\d{{1,9}})(?![\w.-])")  # t-0, t-1


def partitions_of(text: str) -> list[str]:
    """The partitions in `text`, each as topic-number, in their order."""
    found = [f"{topic}-{number}" for topic, number in _PYTHON.findall(text)]
    if not found:
        found = [
            f"{topic}-{number}"
            for topic, numbers in _LISTED.findall(text)
            for number in re.findall(r"\d+", numbers)
        ]
    return found or [f"{topic}-{number}" for topic, number in _DASHED.findall(text)]


End = Literal["revoked", "lost", "end of log"]


@frozen
class Span:
    """One client held one partition."""

    # topic-number
    partition: str
    # Milliseconds since 1970 by the client's clock; None without timestamps.
    since: int | None
    until: int | None
    # What ended it.
    how: End


@define
class Holdings:
    """What one client holds, by its statements of the kinds `assigned`, `revoked` and `lost`.

    A field `whole` says that a statement names all that the client has, or gives up; otherwise the
    partitions are added or taken away.
    """

    now: dict[str, int | None] = Factory(dict)
    spans: list[Span] = Factory(list)

    def add(self, said: Said) -> None:
        if said.kind not in ("assigned", "revoked", "lost"):
            return
        named = list(_named(said))
        whole = bool(said.fields.get("whole"))
        if said.kind == "assigned":
            if whole:
                self._end((p for p in [*self.now] if p not in named), said.time, "revoked")
            for partition in named:
                self.now.setdefault(partition, said.time)
        else:
            gone = named if named or not whole else [*self.now]
            self._end(gone, said.time, "lost" if said.kind == "lost" else "revoked")

    def _end(self, partitions: Iterable[str], time: int | None, how: End) -> None:
        for partition in partitions:
            if partition in self.now:
                self.spans.append(Span(partition, self.now.pop(partition), time, how))

    def settled(self, time: int | None) -> list[Span]:
        """All spans in the order of their ends, when the log ends at `time`."""
        held = [Span(p, since, time, "end of log") for p, since in self.now.items()]
        return [*self.spans, *held]


def _named(said: Said) -> Iterator[str]:
    if "topic" in said.fields and "partition" in said.fields:
        yield f"{said.fields['topic']}-{said.fields['partition']}"
    yield from partitions_of(str(said.fields.get("partitions", "")))
