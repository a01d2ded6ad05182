"""Situations on Kafka's Java client: how their events are carried out there, and how it reacted."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.oracles.conform.member.moves import NEVER_MS, POLL_MS, TOPIC, setup
from groupcheck.oracles.conform.member.situations import Expected, Situation
from groupcheck.oracles.kafka.client import (
    Schedule,
    Transcript,
    committed,
    coordinator_found,
    failed,
    joined,
    synced,
)
from groupcheck.oracles.kafka.client_commands import (
    Advance,
    Answer,
    Beat,
    Callback,
    Close,
    Command,
    CommitSync,
    FetchOffsets,
    Network,
    Poll,
    Position,
    SetTopics,
    Unsubscribe,
)
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.schedule import Lost

POLL, NETWORK, BEAT = Poll(), Network(), Beat()
ME = "c-0"
FOUND = (POLL, coordinator_found(), POLL)
JOINING = (*FOUND, failed("JoinGroup", 79, memberId=ME), NETWORK, POLL)
JOINED, SYNCED = joined(1, ME, "another"), synced({TOPIC: [0]})
OWNING = (SYNCED, NETWORK, POLL)
READ = Position(partition=0, offset=3)
STABLE = (*JOINING, JOINED, NETWORK, NETWORK, *OWNING)
BEGINS: dict[str, tuple[Command, ...]] = {
    "fresh": (),
    "joining": JOINING,
    "stable without offset": STABLE,
    "stable": (*STABLE, READ),
    "leading": (*JOINING, joined(1, ME, ME, {ME: (TOPIC,)}), NETWORK, NETWORK, *OWNING, READ),
    "told": (
        *STABLE,
        READ,
        Advance(ms=30),
        BEAT,
        NETWORK,
        failed("Heartbeat", 27),
        NETWORK,
    ),
}


def _waited(codes: str) -> tuple[Command, ...]:
    answers = tuple(committed(int(code)) for code in codes.split())
    return (CommitSync(ms=1000 if answers else 0, waits=answers),)


def _fetched(code: str) -> tuple[Command, ...]:
    group = {"groupId": "g", "topics": [], "errorCode": int(code or 0)}
    answer = Answer(api="OffsetFetch", data={"groups": [group]})
    return (FetchOffsets(), answer, FetchOffsets()) if code else (FetchOffsets(),)


def _refused(code: str) -> tuple[Command, ...]:
    found = {"key": "g", "nodeId": -1, "host": "", "port": -1, "errorCode": int(code)}
    return (Answer(api="FindCoordinator", data={"coordinators": [found | {"errorMessage": None}]}),)


EVENTS: dict[str, tuple[Command, ...]] = {
    "poll": (POLL,),
    "unsubscribe": (Unsubscribe(),),
    "close": (Close(),),
    "commit is answered": (committed(0), NETWORK),
    "join is answered": (JOINED, NETWORK, NETWORK),
    "sync is answered": (SYNCED, NETWORK),
    "revoked throws": (Callback(on="revoked", throws=True),),
    "assigned throws": (Callback(on="assigned", throws=True),),
    "revoked commits": (Callback(on="revoked", during=(CommitSync(),)),),
    # The heartbeat thread goes on meanwhile.
    "assigned lasts": (Callback(on="assigned", during=(Advance(ms=POLL_MS), BEAT, NETWORK)),),
    "commit interval passes": (Advance(ms=NEVER_MS),),
    "partitions are added": (SetTopics(topics=((TOPIC, 3),)), NETWORK),
}


def commands(event: str) -> tuple[Command, ...]:
    """The commands for an event on the Java client. `commit and wait: 14 0` names the codes of the
    answers.
    """
    name, _, codes = event.partition(": ")
    if name == "commit and wait":
        return _waited(codes)
    if name == "fetch":
        return _fetched(codes)
    if name == "coordinator":
        return _refused(codes)
    return EVENTS[name]


def react(situation: Situation, driver: Driver) -> Expected:
    """How Kafka's Java client reacts."""
    led = BEGINS[situation.begins]
    events = tuple(c for event in situation.events for c in commands(event))
    schedule = Schedule((*led, *events), setup(2, autocommit=True))
    (made,) = driver.run_all([schedule])
    if isinstance(made, Lost) or made.refused:
        raise AssertionError(f"{situation.name}: {made}")
    assert isinstance(made, Transcript)
    last = made.last
    return Expected(
        sends=tuple(_sent(made, len(led))),
        hears=tuple(_heard(made, len(led))),
        owns=tuple(sorted(p for _, p in last.owned)),
        has_id=bool(last.member),
        stable=last.state == "STABLE",
    )


def _sent(made: Transcript, after: int) -> Iterator[str]:
    before = [s.n for step in made.steps[:after] if step.look for s in step.look.sent]
    known = max(before, default=0)
    for step in made.steps[after:]:
        for s in step.look.sent if step.look else ():
            if s.n > known:
                known = s.n
                yield s.api


def _heard(made: Transcript, after: int) -> Iterator[str]:
    for step in made.steps[after:]:
        for call in step.look.calls if step.look else ():
            if call.call in ("revoked", "lost", "assigned"):
                yield call.call
        if step.thrown:
            yield "error"
