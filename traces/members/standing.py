"""A step that is never left: in which state a member stands when its log ends, what it waits for,
and what would end it. Where the model's member is followed (Kafka's own client), its rules say what
comes next; for every other library a table does (`states.toml`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from attrs import Factory, define, field, frozen

from groupcheck.traces.clients.partitions import partitions_told
from groupcheck.traces.clients.statement import Statement, ms_between
from groupcheck.traces.facts.defaults import longest_default, rebalance_timeout
from groupcheck.traces.members import member_worlds as w
from groupcheck.traces.members.life import MemberLife

STANDS_MS = 3_000
"""A log that ends sooner after a step does not show that it is never left."""


@frozen
class State:
    """A state in which a member waits."""

    waits_for: str
    ends: str
    # The setting after which it has waited too long, and its default in ms; if there is none, the
    # rebalance timeout of the library.
    within: str = ""
    default_ms: int = 0
    libraries: tuple[str, ...] = ()
    # The field of a statement that names the state, and its values.
    told_in: str = ""
    names: tuple[str, ...] = ()
    # Or its own name, and the kinds of statements that enter and end it.
    name: str = ""
    entered: frozenset[str] = field(default=frozenset(), converter=frozenset)
    ended: frozenset[str] = field(default=frozenset(), converter=frozenset)
    # The request whose answer ends it, whatever the wording of the answer; empty if none does.
    answer_to: str = ""

    def is_ended_by(self, said: Statement) -> bool:
        """Does the statement show that the state is over?"""
        return said.kind in self.ended or is_answer(said, self.answer_to)


@cache
def _tables() -> Mapping[str, Any]:
    text = (files("groupcheck.traces.members") / "states.toml").read_text("utf-8")
    return tomllib.loads(text)


@cache
def states() -> tuple[State, ...]:
    return tuple(State(**row) for row in _tables()["state"])


def is_answer(said: Statement, api: str) -> bool:
    """Is the statement, or what it tells of, only possible once the request was answered?"""
    return said.kind in _tables()["answers"].get(api, ()) and said.fields.get("api", api) == api


@cache
def _named(library: str) -> Mapping[tuple[str, str], State]:
    """Field and value -> the state, for a library that prints its states."""
    some = [s for s in states() if s.told_in and library in s.libraries]
    return {(s.told_in, name): s for s in some for name in s.names}


@cache
def _told_in(library: str) -> str:
    """The field in which a library prints its states; empty if it prints none."""
    return next((s.told_in for s in states() if s.told_in and library in s.libraries), "")


@cache
def _said(library: str) -> Mapping[str, tuple[State, ...]]:
    """Kind of a statement -> the states that a library enters when it says that."""
    if library == "librdkafka":  # its states have names
        return {}
    some = [s for s in states() if not s.told_in and library in (s.libraries or (library,))]
    return {k: tuple(s for s in some if k in s.entered) for s in some for k in s.entered}


@frozen
class Standing:
    """A member that waits when its log ends."""

    # The member's, and the state's.
    name: str
    in_state: str
    state: State
    since: Statement
    # How long the log goes on, and how long it may last by a setting, with the value of the log or
    # else by default; None and empty where that is not known.
    lasted_ms: int | None
    within_ms: int | None
    setting: str

    @property
    def late(self) -> bool:
        """It has lasted longer than it may."""
        known = self.lasted_ms is not None and self.within_ms is not None
        return known and (self.lasted_ms or 0) > (self.within_ms or 0)

    @property
    def stands(self) -> bool:
        """It has lasted so long that a reader should look at it."""
        return self.lasted_ms is not None and self.lasted_ms >= STANDS_MS


@define
class Step:
    """The state that a member is in, by its statements."""

    name: str = ""
    state: State | None = None
    since: Statement | None = None
    last: Statement | None = None
    # Kind -> the last statement of this kind.
    _latest: dict[str, Statement] = Factory(dict)

    def add(self, said: Statement) -> None:
        if said.time is not None or self.last is None:
            self.last = said
        self._latest[said.kind] = said
        field = _told_in(said.library)
        name = said.fields.get(field) if field else None
        if name is not None:
            if name != self.name:
                self._enter(str(name), _named(said.library).get((field, str(name))), said)
            return
        if self.state is not None and self.state.is_ended_by(said):
            self.state = None
        elif said.kind == "joining":
            self.name = ""  # it may enter the same state again
        for state in _said(said.library).get(said.kind, ()):
            if self._begins(said) and self.state is not state:
                self._enter(state.name, state, said)

    def _begins(self, said: Statement) -> bool:
        listed = said.fields.get("partitions")
        told = None if listed is None else partitions_told(str(listed), said.library)
        empty = said.kind == "revoked" and not told and (told == [] or listed is None)
        return said.fields.get("step") in (None, "callback") and not empty

    def _enter(self, name: str, state: State | None, said: Statement) -> None:
        self.name, self.state, self.since = name, state, said

    def follow(self, life: MemberLife) -> None:
        """By the rules of the model's member; of callbacks they know nothing."""
        if life.told is None or (self.state is not None and "revoked" in self.state.entered):
            return
        due = ", ".join(sorted(w.due(life.worlds)))
        state, told = _named("model").get(("due", due)), life.told
        later = [said for said in self._latest.values() if said.line > told.line]
        if state is not None and any(state.is_ended_by(said) for said in later):
            state = None  # by a line of another kind than those that are followed
        self._enter(due, state, told)

    def standing(self, name: str, settings: Mapping[str, int]) -> Standing | None:
        """Where the member of this name stands at the end of the log; `settings`: those that lines
        tell.
        """
        if self.state is None or self.since is None or self.last is None:
            return None
        library = self.since.library
        setting = self.state.within or rebalance_timeout(library)
        usual = self.state.default_ms or longest_default(setting, library)
        within = settings.get(setting) or usual
        lasted = ms_between(self.since, self.last)
        return Standing(name, self.name, self.state, self.since, lasted, within, setting)
