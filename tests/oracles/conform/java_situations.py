"""Situations on Kafka's Java client: how their events are carried out there, and how it reacted."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from member_situations import Expected, Situation

from groupcheck.oracles.conform.member.moves import COOPERATIVE, NEVER_MS, POLL_MS, TOPIC, setup
from groupcheck.oracles.kafka.client import (
    Look,
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
from groupcheck.oracles.kafka.schedule import LostSchedule

POLL, NETWORK, BEAT = Poll(), Network(), Beat()
ME = "c-0"
FOUND = (POLL, coordinator_found(), POLL)
JOINING = (*FOUND, failed("JoinGroup", 79, memberId=ME), NETWORK, POLL)
ASSIGNORS = {"eager": "range", "cooperative": COOPERATIVE, "careless": "cooperative-range"}
READ = Position(partition=0, offset=3)
TOLD = (READ, Advance(ms=30), BEAT, NETWORK, failed("Heartbeat", 27), NETWORK)
COMMITTED = (committed(0), NETWORK)
OWNED = {TOPIC: [0]}
LEADS = "it leads, claims "


def _begins(assignor: str) -> dict[str, tuple[Command, ...]]:
    """Where a situation begins, with Kafka's name of the group's assignor."""
    joins = (joined(1, ME, "another", None, assignor), NETWORK, NETWORK)
    leads = (joined(1, ME, ME, {ME: (TOPIC,)}, assignor), NETWORK, NETWORK)
    owning = (synced(OWNED, assignor), NETWORK, POLL)
    stable = (*JOINING, *joins, *owning)
    rejoining = (*stable, *TOLD, POLL, *COMMITTED, POLL)
    again = (joined(2, ME, "another", None, assignor), NETWORK, NETWORK)
    return {
        "fresh": (),
        "joining": JOINING,
        "stable without offset": stable,
        "stable": (*stable, READ),
        "leading": (*JOINING, *leads, *owning, READ),
        "told": (*stable, *TOLD),
        "rejoining": rejoining,
        "joined again": (*rejoining, *again),
    }


def _waited(codes: str) -> tuple[Command, ...]:
    answers = tuple(committed(int(code)) for code in codes.split())
    return (CommitSync(ms=1000 if answers else 0, waits=answers),)


def _fetched(code: str) -> tuple[Command, ...]:
    group = {"groupId": "g", "topics": [], "errorCode": int(code or 0)}
    answer = Answer(api="OffsetFetch", data={"groups": [group]})
    return (FetchOffsets(), answer, FetchOffsets()) if code else (FetchOffsets(),)


def _leads(claims: str, assignor: str) -> tuple[Command, ...]:
    """The member leads, and there is another one. `0 in 1; 0 1 in 2` tells the claims of both:
    partitions, and of which generation; `nothing`.
    """
    told = zip((ME, "another"), claims.split("; "), strict=True)
    made = {member: claim.split(" in ") for member, claim in told if claim != "nothing"}
    claimed = {
        member: (int(generation), {TOPIC: [int(p) for p in owned.split()]})
        for member, (owned, generation) in made.items()
    }
    topics = {ME: (TOPIC,), "another": (TOPIC,)}
    return (joined(2, ME, ME, topics, assignor, claimed), NETWORK)


def _refused(code: str) -> tuple[Command, ...]:
    found = {"key": "g", "nodeId": -1, "host": "", "port": -1, "errorCode": int(code)}
    return (Answer(api="FindCoordinator", data={"coordinators": [found | {"errorMessage": None}]}),)


EVENTS: dict[str, tuple[Command, ...]] = {
    "poll": (POLL,),
    "unsubscribe": (Unsubscribe(),),
    "close": (Close(),),
    "commit is answered": COMMITTED,
    "revoked throws": (Callback(on="revoked", throws=True),),
    "assigned throws": (Callback(on="assigned", throws=True),),
    "revoked commits": (Callback(on="revoked", during=(CommitSync(),)),),
    # The heartbeat thread goes on meanwhile.
    "assigned lasts": (Callback(on="assigned", during=(Advance(ms=POLL_MS), BEAT, NETWORK)),),
    "commit interval passes": (Advance(ms=NEVER_MS),),
    "partitions are added": (SetTopics(topics=((TOPIC, 3),)), NETWORK),
}


def commands(event: str, assignor: str) -> tuple[Command, ...]:
    """The commands for an event on the Java client. `commit and wait: 14 0` names the codes of the
    answers, `share: 0 1` the partitions. `assignor`: Kafka's name of the group's.
    """
    name, _, codes = event.partition(": ")
    match name:
        case "commit and wait":
            return _waited(codes)
        case "fetch":
            return _fetched(codes)
        case "coordinator":
            return _refused(codes)
        case "join is answered":
            return (joined(1, ME, "another", None, assignor), NETWORK, NETWORK)
        case "sync is answered":
            return (synced(OWNED, assignor), NETWORK)
        case "share":
            return (synced({TOPIC: [int(p) for p in codes.split()]}, assignor), NETWORK)
        case "sync":
            return (failed("SyncGroup", int(codes)), NETWORK)
    if event.startswith(LEADS):
        return _leads(event.removeprefix(LEADS), assignor)
    return EVENTS[name]


def react(situation: Situation, driver: Driver) -> Expected:
    """How Kafka's Java client reacts."""
    assignor = ASSIGNORS[situation.assignor]
    led = _begins(assignor)[situation.begins]
    events = tuple(c for event in situation.events for c in commands(event, assignor))
    begun = attrs.evolve(setup(2, autocommit=True), assignors=(assignor,))
    schedule = Schedule((*led, *events), begun)
    (made,) = driver.run_all([schedule])
    if isinstance(made, LostSchedule) or made.refused:
        raise AssertionError(f"{situation.name}: {made}")
    assert isinstance(made, Transcript)
    last = made.last
    eager = situation.assignor == "eager"
    return Expected(
        sends=tuple(_sent(made, len(led))),
        hears=tuple(_heard(made, len(led))),
        owns=tuple(sorted(p for _, p in last.owned)),
        has_id=bool(last.member),
        stable=last.state == "STABLE",
        claims=None if eager else _claims(last),
        plan=_plan(last),
    )


def _claims(look: Look) -> tuple[int, tuple[int, ...]] | None:
    """What the JoinGroup in flight claims."""
    if not (join := look.waiting("JoinGroup")):
        return None
    (protocol,) = join.data["protocols"]
    said = protocol["metadata"]
    return said["ownedGeneration"], tuple(sorted(said["owned"].get(TOPIC, ())))


def _plan(look: Look) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The plan of the SyncGroup in flight."""
    if not (sync := look.waiting("SyncGroup")) or not sync.data["assignments"]:
        return None
    shares = {
        share["memberId"]: tuple(sorted(share["assignment"].get(TOPIC, ())))
        for share in sync.data["assignments"]
    }
    return shares[ME], shares["another"]


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
