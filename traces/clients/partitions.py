"""Partitions as libraries print them, and who held which of them when by what a client says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from attrs import Factory, define, frozen

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.clients.who import JAVA

_TOPIC = r"[A-Za-z0-9._-]{1,249}"
_PYTHON = re.compile(rf"topic=u?['\"]?({_TOPIC})['\"]?, partition=(\d{{1,9}})")
_GO = re.compile(rf"topic:({_TOPIC}) partition:(\d{{1,9}})")
# Partition(topic=Topic(name='t'), index=0)   Partition { topic: Topic("t"), index: 0 }   t[0:#]
_EMBEDDED = re.compile(
    rf"(?:Topic\((?:name=)?['\"](?={_TOPIC}['\"]\), index)|(?={_TOPIC}\[\d{{1,9}}:))({_TOPIC})"
    r"(?:['\"]\), index[=:] ?|\[)(\d{1,9})(?:\)| \}|:(?:#|-?\d{1,19})\])"
)
_LISTED = re.compile(  # t: [0, 1]   "t":[0,1]   ('t', [0, 1])   t:[0 1]   t[0 1]   t [0]   t(id)[0]
    rf"({_TOPIC})(?:\([\w-]{{0,30}}\))?['\"]?(?:\s?[:,]\s?|\s)?\s?[\[{{]"
    r"(\d{1,9}(?:[,\s]{1,3}\d{1,9}){0,10000})[\]}]"
)
_DATE = re.compile(r"(?<![\w.-])\d{4}-\d\d-\d\d(?=[ T]\d\d:|\Z)")
"""A time that an export prints behind the message, and no partition."""
_DASHED = re.compile(rf"(?<![\w.-])({_TOPIC})-(\d{{1,9}})(?![\w.-])")  # t-0, t-1


def partitions_of(text: str) -> list[str]:
    """The partitions in `text`, each as topic-number, in their order."""
    if found := [f"{topic}-{number}" for topic, number in _EMBEDDED.findall(text)]:
        return found
    pattern = _GO if "{topic:" in text else _PYTHON
    found = [f"{topic}-{number}" for topic, number in pattern.findall(text)]
    if not found:
        found = [
            f"{topic}-{number}"
            for topic, numbers in _LISTED.findall(text)
            for number in re.findall(r"\d+", numbers)
        ]
    return found or [f"{topic}-{number}" for topic, number in _DASHED.findall(_DATE.sub(" ", text))]


_EMPTY = re.compile(
    r"(?:\[\s?\]|\{\s?\}|\(\s?\)|(?:frozen)?set\((?:\[\])?\)|map\[\]|none)", re.IGNORECASE
)
_CUT = re.compile(r"(?:\.{2,}|…|,)\W{0,3}\Z")
_PAIRS = (("[", "]"), ("{", "}"), ("(", ")"))


def partitions_told(text: str, library: str) -> list[str] | None:
    """The partitions of a whole list; None if the text does not tell them: it is cut, it names none
    that can be read, or nothing stands there. Java prints an empty list as nothing (Utils.join).
    """
    text = text.strip()
    if not text:
        return [] if library == JAVA else None
    if _EMPTY.fullmatch(text):
        return []
    if is_cut(text):
        return None
    return partitions_of(text) or None


def is_cut(text: str) -> bool:
    """Does the end of a list miss?"""
    return bool(_CUT.search(text)) or any(text.count(a) > text.count(b) for a, b in _PAIRS)


End = Literal["revoked", "lost", "end of log"]


@frozen
class HoldingSpan:
    """One client held one partition."""

    # topic-number
    partition: str
    # Milliseconds since 1970 by the client's clock; None without timestamps.
    since: int | None
    until: int | None
    # What ended it.
    how: End


_EAGER = "Revoking previously assigned partitions ["
"""So Java's classic client says before 2.4, which gives all of them up; KIP-848's says the same."""
_LOST = {"STALE", "FENCED", "FATAL"}
"""States of a member of KIP-848 that has lost its partitions."""


@define
class _Held:
    """A partition that a client holds, or is about to give up."""

    since: int | None
    # The callback for it has not run, as far as the log tells.
    announced: bool = False
    until: int | None = None
    how: End = "end of log"


@define
class Holdings:
    """The partitions that one client holds, by its statements of the kinds `assigned`, `revoked`
    and `lost`, and by what kafka-consumer-groups.sh shows (`owns`).

    A field `whole` says that a statement names all that the client has, or gives up; otherwise the
    partitions are added or taken away. A field `step` tells what the client is about to do: a
    callback counts more than what announced it, and other steps do not count. (Java's client for
    KIP-848 prints announcements alone if the application has no listener.) Once a client has shown
    such a callback, what is announced is not its before the next one.
    """

    now: dict[str, _Held] = Factory(dict)
    spans: list[HoldingSpan] = Factory(list)
    # It speaks KIP-848, which takes partitions away one by one.
    modern: bool = False
    # When it gave up all that it had, which no line shows that it was given, in ms since 1970.
    gave_up_older: int | None = None
    # What it gave up first, and when.
    _older: dict[str, int | None] = Factory(dict)
    # It has shown a callback that gives it partitions.
    _called: bool = False

    def add(self, said: Statement) -> None:
        if said.fields.get("state") in _LOST:
            self._give_up([*self.now], said.time, "lost", announced=True)
        step = said.fields.get("step", "callback")
        if said.kind == "owns" or (
            said.kind == "assigned" and step in ("callback", "added", "partition")
        ):
            self._called = self._called or step == "callback"
            if step != "added" or not self._called:
                self._assign(said, announced=step == "added")
            lost = partitions_of(str(said.fields.get("lost", "")))  # franz-go
            self._give_up(lost, said.time, "revoked", announced=False)
        elif said.kind in ("revoked", "lost") and step in ("callback", "announced", "partition"):
            named = list(_named(said))
            gone = named if named or not said.fields.get("whole") else [*self.now]
            how: End = "lost" if said.kind == "lost" else "revoked"
            eager = not self.modern and _EAGER in said.text
            whole = bool(said.fields.get("whole")) or how == "lost" or eager
            self._give_up(gone, said.time, how, step == "announced", whole)

    def _assign(self, said: Statement, announced: bool) -> None:
        named = list(_named(said))
        if said.fields.get("whole") and told_whole(said):
            others = [p for p in self.now if p not in named]
            self._give_up(others, said.time, "revoked", announced=False)
        back = [p for p in named if p in self._older]
        if back and not self.modern:  # only an eager member gets back what it gave up
            self.gave_up_older = self._older[back[0]]
        self._older = {}
        for partition in named:
            if partition in self.now and self.now[partition].how != "end of log":
                self._end(partition)
            held = self.now.setdefault(partition, _Held(said.time, announced))
            if held.announced and not announced:
                held.since, held.announced = said.time, False

    def _give_up(
        self,
        partitions: Iterable[str],
        time: int | None,
        how: End,
        announced: bool,
        whole: bool = False,
    ) -> None:
        """`whole`: the client keeps no others."""
        for partition in partitions:
            held = self.now.get(partition)
            if held is None:
                if not self.spans and not self.now:
                    self._older[partition] = time
                    self.gave_up_older = time if whole else self.gave_up_older
                continue
            held.until, held.how = time, how
            if not announced:
                self._end(partition)

    def _end(self, partition: str) -> None:
        held = self.now.pop(partition)
        self.spans.append(HoldingSpan(partition, held.since, held.until, held.how))

    @property
    def told(self) -> bool:
        """Is there anything that it held?"""
        return bool(self.spans or self.now)

    def spans_until(self, time: int | None) -> list[HoldingSpan]:
        """All spans in the order of their ends, when the log ends at `time`."""
        return [
            *self.spans,
            *(
                HoldingSpan(p, h.since, time if h.how == "end of log" else h.until, h.how)
                for p, h in self.now.items()
            ),
        ]


def told_whole(said: Statement) -> bool:
    """Does the statement tell the partitions that it is about?"""
    text = said.fields.get("partitions")
    return text is None or partitions_told(str(text), said.library) is not None


def _named(said: Statement) -> Iterator[str]:
    if "topic" in said.fields and "partition" in said.fields:
        yield f"{said.fields['topic']}-{said.fields['partition']}"
    yield from partitions_of(str(said.fields.get("partitions", "")))
