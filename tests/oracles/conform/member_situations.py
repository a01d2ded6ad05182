"""Situations that concern a member more than its group, as data: what has happened, what happens
then, and how the member reacts.

Nothing here is about one client library. Events and reactions have the words of the protocol: APIs,
error codes, partitions, what a member believes and what its application hears. `java_situations`
carries the events out on Kafka's Java client; another client needs a module of its own.
"""

from __future__ import annotations

from attrs import frozen


@frozen
class Expected:
    """How a member reacts. Commits in poll are on."""

    # The requests that it sends, in order; without those that are answered while the application
    # waits for them.
    sends: tuple[str, ...] = ()
    # What the application hears, in order: revoked, lost, assigned; error.
    hears: tuple[str, ...] = ()
    # The partitions that it owns afterwards.
    owns: tuple[int, ...] = ()
    # It has a member id afterwards.
    has_id: bool = True
    # It is in a generation, and has its share of it.
    stable: bool = False
    # What the JoinGroup of a cooperative member claims that is in flight: generation and
    # partitions; None if none is.
    claims: tuple[int, tuple[int, ...]] | None = None
    # The plan that it has sent as the leader: its own share, and that of the other member.
    plan: tuple[tuple[int, ...], tuple[int, ...]] | None = None


@frozen
class Situation:
    """Events and the reaction to the last ones."""

    name: str
    # Where it begins: fresh, joining (JoinGroup is in flight), stable (owns partition 0, has read
    # up to record 3, a follower), leading (the same as the leader), told (stable, and told to join
    # again), rejoining (told, and JoinGroup is in flight), joined again (its SyncGroup in the next
    # generation, 2, is in flight).
    begins: str
    # What happens then, in order; `java_situations.EVENTS` says what each means.
    events: tuple[str, ...]
    expected: Expected
    # The group's assignor: eager, cooperative, or careless, which is cooperative and asks nobody
    # what he owns.
    assignor: str = "eager"


SITUATIONS = (
    Situation(
        "a stable member unsubscribes",
        "stable",
        ("unsubscribe",),
        Expected(sends=("LeaveGroup",), hears=("revoked",), has_id=False),
    ),
    Situation(
        "a member unsubscribes while its JoinGroup is in flight",
        "joining",
        ("unsubscribe",),
        Expected(sends=("LeaveGroup",), has_id=False),
    ),
    Situation(
        "a stable member closes",
        "stable",
        ("close",),
        Expected(sends=("OffsetCommit", "LeaveGroup"), hears=("revoked",), has_id=False),
    ),
    Situation(
        "a member closes while its JoinGroup is in flight",
        "joining",
        ("close",),
        Expected(sends=("LeaveGroup",), has_id=False),
    ),
    Situation(
        "the application commits while JoinGroup is in flight and nothing is owned",
        "joining",
        ("commit and wait",),
        Expected(),
    ),
    Situation(
        "a commit that the application waits for is answered 27",
        "stable",
        ("commit and wait: 27", "poll"),
        Expected(sends=("OffsetCommit",), hears=("error",), owns=(0,), stable=True),
    ),
    Situation(
        "a commit that the application waits for is answered 25",
        "stable",
        ("commit and wait: 25", "poll"),
        Expected(sends=("JoinGroup",), hears=("error", "lost"), has_id=False),
    ),
    Situation(
        "a commit that the application waits for is answered 14, and then 0",
        "stable",
        ("commit and wait: 14 0",),
        Expected(owns=(0,), stable=True),
    ),
    Situation(
        "the interval of commits in poll passes",
        "stable",
        ("commit interval passes", "poll"),
        Expected(sends=("OffsetCommit",), owns=(0,), stable=True),
    ),
    Situation(
        "the interval of commits in poll passes while JoinGroup is in flight",
        "joining",
        ("commit interval passes", "poll"),
        Expected(),
    ),
    Situation(
        "the application's callback for revoked partitions throws",
        "told",
        ("revoked throws", "poll", "commit is answered", "poll", "poll"),
        Expected(sends=("OffsetCommit", "JoinGroup"), hears=("revoked", "error")),
    ),
    Situation(
        "the application's callback for assigned partitions throws: the next poll calls it again",
        "joining",
        ("assigned throws", "join is answered", "sync is answered", "poll", "poll"),
        Expected(
            sends=("SyncGroup",),
            hears=("assigned", "error", "assigned", "error"),
            owns=(0,),
            stable=True,
        ),
    ),
    Situation(
        "the application commits in its callback for revoked partitions",
        "told",
        ("revoked commits", "poll", "commit is answered", "poll"),
        Expected(sends=("OffsetCommit", "OffsetCommit", "JoinGroup"), hears=("revoked",)),
    ),
    Situation(
        "the callback for assigned partitions lasts longer than the poll interval",
        "joining",
        ("assigned lasts", "join is answered", "sync is answered", "poll", "poll"),
        Expected(
            sends=("SyncGroup", "LeaveGroup", "JoinGroup"),
            hears=("assigned", "lost"),
            has_id=False,
        ),
    ),
    Situation(
        "the committed offset cannot be fetched because the coordinator loads",
        "stable without offset",
        ("fetch: 14", "fetch"),
        Expected(sends=("OffsetFetch", "OffsetFetch"), owns=(0,), stable=True),
    ),
    Situation(
        "the committed offset may not be fetched",
        "stable without offset",
        ("fetch: 30",),
        Expected(sends=("OffsetFetch",), hears=("error",), owns=(0,), stable=True),
    ),
    Situation(
        "nobody knows the coordinator yet",
        "fresh",
        ("poll", "coordinator: 15", "poll", "poll"),
        Expected(sends=("FindCoordinator", "FindCoordinator"), has_id=False),
    ),
    Situation(
        "the member may not ask for its coordinator",
        "fresh",
        ("poll", "coordinator: 30", "poll"),
        Expected(sends=("FindCoordinator",), hears=("error",), has_id=False),
    ),
    Situation(
        "a follower sees that the topic has more partitions",
        "stable",
        ("partitions are added", "poll", "poll"),
        Expected(owns=(0,), stable=True),
    ),
    Situation(
        "the leader sees that the topic has more partitions",
        "leading",
        ("partitions are added", "poll", "commit is answered", "poll"),
        Expected(sends=("OffsetCommit", "JoinGroup"), hears=("revoked",)),
    ),
    # K12: between its JoinGroup and its share, a member has a generation in which it owns nothing.
    Situation(
        "a cooperative member whose late SyncGroup is answered 27 claims in the new generation what"
        " it owned in the old one",
        "joined again",
        ("sync: 27", "poll", "poll"),
        Expected(sends=("JoinGroup",), owns=(0,), claims=(2, (0,))),
        "cooperative",
    ),
    Situation(
        "a cooperative member whose late SyncGroup is answered 22 has lost everything",
        "joined again",
        ("sync: 22", "poll", "poll"),
        Expected(sends=("JoinGroup",), hears=("lost",), claims=(-1, ())),
        "cooperative",
    ),
    Situation(
        "a cooperative member whose late SyncGroup is answered 25 has lost everything and its id",
        "joined again",
        ("sync: 25", "poll", "poll"),
        Expected(sends=("JoinGroup",), hears=("lost",), has_id=False, claims=(-1, ())),
        "cooperative",
    ),
    Situation(
        "a cooperative member revokes what its share lacks, and joins at once",
        "joined again",
        ("share: 1", "poll", "poll"),
        Expected(sends=("JoinGroup",), hears=("revoked", "assigned"), owns=(1,), claims=(2, (1,))),
        "cooperative",
    ),
    Situation(
        "a cooperative member with a larger share revokes nothing",
        "joined again",
        ("share: 0 1", "poll"),
        Expected(hears=("assigned",), owns=(0, 1), stable=True),
        "cooperative",
    ),
    Situation(
        "a cooperative member that closes in a round has lost its partitions",
        "joined again",
        ("close",),
        Expected(sends=("LeaveGroup",), hears=("lost",), has_id=False),
        "cooperative",
    ),
    Situation(
        "a cooperative leader leaves each member what it owns",
        "rejoining",
        ("it leads, claims 0 in 1; 1 in 1", "poll"),
        Expected(sends=("SyncGroup",), owns=(0,), plan=((0,), (1,))),
        "cooperative",
    ),
    Situation(
        "a cooperative leader gives a partition that one member has too many to nobody yet",
        "joining",
        ("it leads, claims nothing; 0 1 in 1", "poll"),
        Expected(sends=("SyncGroup",), plan=((), (0,))),
        "cooperative",
    ),
    Situation(
        "a later claim wins, also against the leader",
        "rejoining",
        ("it leads, claims 0 in 1; 0 in 2", "poll"),
        Expected(sends=("SyncGroup",), owns=(0,), plan=((1,), (0,))),
        "cooperative",
    ),
    Situation(
        "two equal claims to a partition cancel each other: nobody gets it in this round",
        "rejoining",
        ("it leads, claims 0 in 1; 0 in 1", "poll"),
        Expected(sends=("SyncGroup",), owns=(0,), plan=((1,), ())),
        "cooperative",
    ),
    Situation(
        "a leader whose assignor gives away what another member owns throws and sends no plan",
        "rejoining",
        ("it leads, claims 0 in 1; 1 in 1", "poll", "poll"),
        Expected(sends=("JoinGroup",), hears=("error",), owns=(0,), claims=(2, (0,))),
        "careless",
    ),
)
