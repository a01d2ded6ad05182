"""Rows of a share partition: something that happens to its leader in one of its memories, what the
model makes of it, and how Kafka's leader is told of it.

Kafka's leader reads the log in the order of offsets, so no record is acquired while one before it
was never acquired. The model leaves that open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec, evolve
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import Firing
from groupcheck.model.protocol.masks import numbers
from groupcheck.model.protocol.share_partition import batch_rules, rules
from groupcheck.model.protocol.share_partition.batches import ACCEPT, asked
from groupcheck.model.protocol.share_partition.partition import (
    Delivery,
    Holder,
    Partition,
    known,
)

State = tuple[Any, ...]
Facts = Mapping[str, Any]
# Outcome -> its command; {m} is the member, {n} the record, {ns} all that it has, {asked} what is
# acknowledged.
COMMANDS: Mapping[str, str] = {
    **rules.acquire_records.by_name(delivered="acquire {m} {n}", lost="acquire {m} {n}"),
    **rules.acknowledge_record.by_name(
        accept="acknowledge {m} {n}-{n}=1",
        release="acknowledge {m} {n}-{n}=2",
        reject="acknowledge {m} {n}-{n}=3",
        refused="acknowledge {m} {n}-{n}=1",
        passed="acknowledge {m} {n}-{n}=1",
    ),
    **rules.acknowledge_batches.by_name(
        accepted="acknowledge {m} {ns}", refused="acknowledge {m} {ns}"
    ),
    **batch_rules.fetch_batches.by_name(
        delivered="fetch {m} batch_optimized {all}", lost="fetch {m} batch_optimized {all}"
    ),
    **batch_rules.fetch_one_batch.by_name(
        delivered="fetch {m} batch_optimized 1", lost="fetch {m} batch_optimized 1"
    ),
    **batch_rules.fetch_one_record.by_name(
        delivered="fetch {m} record_limit 1", lost="fetch {m} record_limit 1"
    ),
    **dict.fromkeys(batch_rules.acknowledge_in_batches.names, "acknowledge {m} {asked}"),
    **rules.write_ends.by_name(
        stored="write {n} ok", failed="write {n} fail", unanswered="write {n} unanswered"
    ),
    **rules.lock_runs_out.by_name(
        released="lock {n} ok", unwritten="lock {n} fail", in_a_write="lock {n} ok"
    ),
    rules.session_ends.name: "release {m}",
    **rules.leader_changes.by_name(unwritten="lead unwritten", written="lead written"),
}
FETCHES = frozenset(
    rule.name
    for rule in (
        batch_rules.fetch_batches,
        batch_rules.fetch_one_batch,
        batch_rules.fetch_one_record,
    )
)
# Rule, or outcome -> what the leader says. A fetch is told which records it acquires.
SAID: Mapping[str, str] = {
    rules.acquire_records.name: "1",
    rules.acknowledge_record.name: "waits",
    **rules.acknowledge_record.by_name(refused="refused", passed="well"),
    **rules.acknowledge_batches.by_name(accepted="waits", refused="refused"),
    batch_rules.acknowledge_in_batches.name: "waits",
    **batch_rules.acknowledge_in_batches.by_name(
        refused="refused", mixed_refused="refused", passed="well", broken="NullPointer"
    ),
    rules.write_ends.name: "refused",
    **rules.write_ends.by_name(stored="well"),
    rules.lock_runs_out.name: "over",
    rules.session_ends.name: "waits",
    rules.leader_changes.name: "leads",
}


@frozen
class LeaderRow:
    """A row."""

    # The outcome of the model's leader.
    fired: tuple[str, ...]
    command: str
    facts: Facts
    after: State


class LeaderRows:
    """The rows of a spec of a share partition."""

    def __init__(self, spec: Spec) -> None:
        self.scope: Any = spec.scope
        self._see = Semantics(attrs.evolve(spec, invariants=(), ends=()))
        members = range(self.scope.members)
        self._part = self._see.at["part", None]
        self._budget = self._see.at["budget", None]
        self._holders = [self._see.at["holder", i] for i in members]
        self._readers = [self._see.at["reader", i] for i in members]
        ((_, _, self.start),) = self._see.starts()

    @property
    def bounds(self) -> str:
        """How a schedule begins."""
        scope = self.scope
        missing = -1 if scope.missing is None else scope.missing
        return f"{scope.max_delivery} {scope.records} {max(scope.batch, 1)} {missing}"

    def of(self, state: State) -> Iterator[LeaderRow]:
        """All rows of a memory."""
        for instance in self._see.ordinary:
            for firing, after, _ in self._see.firings(instance, state):
                number = self._number(state, after, firing.me)
                if firing.name.startswith(rules.acquire_records.name) and self._skips(
                    state[self._part], number
                ):
                    continue
                has = 0 if firing.me is None else state[self._readers[firing.me]].has
                command = COMMANDS[firing.name].format(
                    m=f"m{firing.me}",
                    n=number,
                    ns="+".join(f"{n}-{n}=1" for n in numbers(has)),
                    all=self.scope.records,
                    asked=self._asked(firing, state, after),
                )
                facts = {"answer": self._said(firing, state, after), **self._remembered(after)}
                yield LeaderRow((firing.name,), command, facts, self._alike(after))

    def _asked(self, firing: Firing, before: State, after: State) -> str:
        """What an acknowledgement of batches asks for."""
        name, _, label = firing.name.partition(":")
        if name != batch_rules.acknowledge_in_batches.name:
            return ""
        at = self._readers[firing.me or 0]
        mask = before[at].has & ~after[at].has
        kind, rest = batch_rules.KINDS.get(label.removesuffix("_refused"), (ACCEPT, None))
        return "+".join(
            f"{b.first}-{b.last}={','.join(map(str, b.types))}"
            for b in asked(mask, kind, self.scope, rest)
        )

    def _said(self, firing: Firing, before: State, after: State) -> str:
        """What the leader says."""
        name = firing.name.partition(":")[0]
        if name in FETCHES:
            one, other = before[self._part].records, after[self._part].records
            pairs = enumerate(zip(one, other, strict=True))
            return ",".join(f"{n}:{b.count}" for n, (a, b) in pairs if a.count != b.count)
        return SAID.get(firing.name) or SAID[name]

    def _number(self, before: State, after: State, me: int | None) -> int:
        """Which record it is about."""
        pairs = zip(before[self._part].records, after[self._part].records, strict=True)
        changed = [n for n, (a, b) in enumerate(pairs) if a != b]
        if me is not None:
            for at, bits in ((self._holders[me], "moving"), (self._readers[me], "has")):
                moved = getattr(before[at], bits) ^ getattr(after[at], bits)
                if moved and not changed:
                    changed = [moved.bit_length() - 1]
        return changed[0] if changed else 0

    @staticmethod
    def _skips(part: Partition, number: int) -> bool:
        """Was a record before this one never acquired?"""
        before = part.records[part.start : number]
        return any(r.state == Delivery.AVAILABLE and not r.count for r in before)

    def _alike(self, state: State) -> State:
        """The memory without ghosts, and with terms and budgets that do not grow."""
        part = state[self._part]
        after = [*state]
        records = tuple(
            evolve(r, given=0, seen=False, accepted=False, rejected=False) for r in part.records
        )
        after[self._part] = evolve(part, records=records, term=0)
        after[self._budget] = self.start[self._budget]
        for at in self._holders:
            after[at] = evolve(known(after[at], part), term=0)
        for at in self._readers:
            after[at] = evolve(after[at], accepted=0)
        return tuple(after)

    def _remembered(self, state: State) -> Facts:
        """The leader's memory, and the persister's, as facts."""
        part: Partition = state[self._part]
        holders: list[Holder] = [known(state[at], part) for at in self._holders]
        found: dict[str, Any] = {"start": part.start, "stored start": part.stored_start}
        for n, record in enumerate(part.records):
            if n >= part.stored_start:  # it forgets those before
                found[f"stored {n}"] = (record.stored.value, record.stored_count)
            if n < part.start:
                continue
            owners = [f"m{i}" for i, h in enumerate(holders) if h.acquired >> n & 1]
            acquired = record.state == Delivery.ACQUIRED
            found[f"record {n}"] = (record.state.name, record.count)
            found[f"member {n}"] = owners[0] if acquired and owners else "-"
            found[f"in a write {n}"] = record.moving
            found[f"lock {n}"] = not record.expired if record.moving else acquired
            if self.scope.batch:
                batch = part.floor(n)
                if batch is not None and n <= batch.last:
                    found[f"batch {n}"] = (batch.first, batch.last, batch.whole)
        return found


def of_kafka(answer: str, batches: bool = False) -> Facts:
    """What Kafka's leader said, as facts; with its `batches`, or without them."""
    if answer.startswith("!"):
        return {"driver": answer[1:]}
    said, starts, *records = answer.split("|")
    start, stored_start = map(int, starts.split())
    refused = said.endswith("Exception")
    found: dict[str, Any] = {"answer": "refused" if refused else said}
    found |= {"start": start, "stored start": stored_start}
    for n, shown in enumerate(records):
        state, count, member, moving, lock, stored, stored_count, batch = shown.split()
        if n >= stored_start:
            found[f"stored {n}"] = (int(stored), int(stored_count))
        if n < start:
            continue
        # What nobody has acquired is not in the leader's cache.
        found[f"record {n}"] = ("AVAILABLE" if state == "none" else state, int(count))
        found[f"member {n}"] = member if state == "ACQUIRED" else "-"
        found[f"in a write {n}"] = moving == "true"
        found[f"lock {n}"] = lock == "true"
        if batches and batch != "-":
            found[f"batch {n}"] = _batch(batch)
    return found


def _batch(shown: str) -> tuple[int, int, bool]:
    first, last, whole = shown.split("-")
    return int(first), int(last), whole == "true"
