"""A rule about clients, and how it is asked of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from groupcheck.model.assignors import Partition
from groupcheck.oracles.judge.client.knowledge import Knowledge, known
from groupcheck.oracles.judge.client.record import Event, Record


@frozen
class Case:
    """One occasion on which a client keeps a rule or breaks it."""

    at: float
    # What it did; empty: it kept the rule.
    broken: str = ""


@frozen
class KnownRun:
    """A run with what the client knew at each moment."""

    record: Record
    events: Sequence[tuple[Event, Knowledge]]

    @property
    def end(self) -> float:
        return self.record.end


def seen(record: Record) -> KnownRun:
    return KnownRun(record, tuple(known(record)))


Judge = Callable[[KnownRun], Iterator[Case]]


@frozen
class Rule:
    """What must hold of every client."""

    name: str
    # One sentence.
    words: str
    # Where that stands: a KIP, a class of Kafka's, a page.
    source: str
    judge: Judge
    # It takes the application's events; without them the rule is not judged.
    needs_events: bool = False

    def cases(self, run: KnownRun) -> Iterator[Case]:
        """The occasions in a run; none: it says nothing about the rule."""
        if run.record.tells or not self.needs_events:
            yield from self.judge(run)


def named(partitions: set[Partition] | frozenset[Partition], most: int = 4) -> str:
    """`t-0, t-1` in order; the rest of many is counted."""
    names = [f"{topic}-{number}" for topic, number in sorted(partitions)]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "nothing") + more
