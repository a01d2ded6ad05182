"""The built-in scenarios: what is done to a group, step by step, and what is wrong with it then. A
step waits for a condition wherever one can be seen from outside.
"""

from __future__ import annotations

from attrs import evolve

from groupcheck.model.engine import UserError
from groupcheck.oracles.record.scenario import Scenario, Step
from groupcheck.oracles.record.settings import Setup


def _two(a: Setup, b: Setup | None = None) -> tuple[Step, ...]:
    """Members a and b share the partitions."""
    return (
        ("start", "a", a),
        ("shared_by", "a"),
        ("start", "b", b or a),
        ("shared_by", "a", "b"),
        ("commits", "b"),
    )


LATE = Setup(commit_on_revoke=False)
"""Nothing is committed on revoke, so that what a late member commits is its periodic commit."""
_SLOW = Setup(max_poll=4000, commit_on_revoke=False)
_STATIC = {name: Setup(session=6000, instance=name) for name in "ab"}
_THREE: tuple[Step, ...] = (
    ("start", "a"),
    ("start", "b"),
    ("start", "c"),
    ("shared_by", "a", "b", "c"),
    ("commits", "c"),
)


def _slow_batch(ms: int) -> tuple[Step, ...]:
    """Member b handles a batch for so long, loses its partitions and comes back."""
    return (
        ("tell", "b", f"sleep {ms}"),
        ("shared_by", "a"),
        ("woken", "b"),
        ("shared_by", "a", "b"),
    )


def _replaced(old: str, new: str, *others: str) -> tuple[Step, ...]:
    """A member is stopped, and its successor starts."""
    return (("stop", old), ("start", new), ("shared_by", new, *others), ("commits", new))


_EXPIRED = ("session_expired_broker", "session_expired_client")
_STOOD_STILL = ("client_stall", "network_cut", "zombie", *_EXPIRED)

_SCENARIOS = (
    Scenario(
        "join",
        "Member a has all partitions; b joins, and they share them.",
        (
            ("start", "a"),
            ("shared_by", "a"),
            ("start", "b"),
            ("shared_by", "a", "b"),
            ("commits", "b"),
        ),
    ),
    Scenario(
        "leave",
        "One of three members, c, leaves; a and b take over its partitions.",
        (*_THREE, ("stop", "c"), ("shared_by", "a", "b"), ("commits", "a")),
    ),
    Scenario(
        "kill",
        "One of three members, b, is killed (SIGKILL); its session expires after 3 s, then a"
        " and c take over.",
        (
            *_THREE,
            ("trouble",),
            ("kill", "b"),
            ("shared_by", "a", "c"),
            ("over",),
            ("commits", "a"),
        ),
        "missing_close",
        ("b",),
        ("session_expired_broker", "never_closed", "blocked_by_departed_member"),
    ),
    Scenario(
        "killed_together",
        "Two of three members, b and c, are killed (SIGKILL) at the same moment; both sessions"
        " expire after 3 s, then a takes over.",
        (
            *_THREE,
            ("trouble",),
            ("kill", "b"),
            ("kill", "c"),
            ("shared_by", "a"),
            ("over",),
            ("commits", "a"),
        ),
        "died_together",
        ("b", "c"),
        ("session_expired_broker", "missing_close", "never_closed", "blocked_by_departed_member"),
    ),
    Scenario(
        "zombie",
        "Member a is frozen (SIGSTOP) for longer than its session of 3 s, b takes over, a wakes"
        " and still believes that it owns its partitions until it is told otherwise.",
        (
            *_two(LATE),
            ("trouble",),
            ("freeze", "a"),
            ("shared_by", "b"),
            ("pause", 1.0),
            ("wake", "a"),
            ("learned", "a"),
            ("over",),
            ("shared_by", "a", "b"),
            ("commits", "a"),
        ),
        "process_paused",
        ("a",),
        _STOOD_STILL,
    ),
    Scenario(
        "long_pause",
        "Member b is frozen (SIGSTOP) for 9 s, as by a garbage collection that takes longer than"
        " its session of 6 s; a takes over, and b comes back.",
        (
            *_two(Setup(session=6000, heartbeat=1000, max_poll=30_000)),
            ("trouble",),
            ("freeze", "b"),
            ("pause", 9.0),
            ("wake", "b"),
            ("learned", "b"),
            ("over",),
            ("shared_by", "a", "b"),
            ("commits", "b"),
        ),
        "process_paused",
        ("b",),
        _STOOD_STILL,
    ),
    Scenario(
        "short_pause",
        "Member b is frozen (SIGSTOP) for 2 s, less than its session of 10 s: nothing is lost.",
        (
            *_two(Setup(session=10_000)),
            ("freeze", "b"),
            ("pause", 2.0),
            ("wake", "b"),
            ("commits", "b", 2),
            ("shared_by", "a", "b"),
        ),
    ),
    Scenario(
        "poll_timeout",
        "Member b does not poll for 8 s, where 4 s are allowed: its library leaves the group,"
        " a takes over, b comes back.",
        (*_two(_SLOW), ("trouble",), *_slow_batch(8000), ("over",), ("commits", "b")),
        "poll_timeout",
        ("b",),
    ),
    Scenario(
        "slow_handler",
        "Member b handles three batches for 6 s each, where 4 s are allowed: it loses its"
        " partitions and comes back three times.",
        (*_two(_SLOW), ("trouble",), *(_slow_batch(6000) * 3), ("over",), ("commits", "b")),
        "poll_timeout",
        ("b",),
        ("rebalance_storm", "bouncing_members", "zombie"),
    ),
    Scenario(
        "slow_callback",
        "Member b takes 12 s in its revoked callback when c joins: the whole group waits for it.",
        (
            *_two(
                Setup(max_poll=30_000),
                Setup(session=20_000, heartbeat=1000, max_poll=30_000, revoke_ms=12_000),
            ),
            ("trouble",),
            ("start", "c", Setup(max_poll=30_000)),
            # With KIP-848, c may have partitions of a before b gives up its own.
            ("gave_up", "b"),
            ("shared_by", "a", "b", "c"),
            ("over",),
            ("commits", "c"),
        ),
        "stuck_in_callback",
        ("b",),
        ("late_join", "handler_ignores_rebalance", "join_window_missed", "kip848_held_back"),
    ),
    Scenario(
        "session_too_short",
        "Members have a session of 1 s and a heartbeat every 0.8 s: a pause of b (SIGSTOP) for"
        " 1.5 s is enough to lose its partitions.",
        (
            *_two(Setup(session=1000, heartbeat=800, commit_on_revoke=False)),
            ("trouble",),
            ("freeze", "b"),
            ("pause", 1.5),
            ("wake", "b"),
            ("learned", "b"),
            ("over",),
            ("shared_by", "a", "b"),
            ("commits", "b"),
        ),
        "session_too_short",
        ("b",),
        ("process_paused", *_STOOD_STILL),
    ),
    Scenario(
        "twin",
        "Two processes, a and b, use the group.instance.id `a`: the coordinator fences the older.",
        (
            ("start", "a", _STATIC["a"]),
            ("shared_by", "a"),
            ("commits", "a"),
            ("trouble",),
            ("start", "b", _STATIC["a"]),
            ("refused", 82),
            ("pause", 3.0),
            ("over",),
        ),
        "static_id_twice",
        ("a", "b"),
        ("zombie", *_EXPIRED),
    ),
    Scenario(
        "twins_in_process",
        "One process, a, makes two consumers with the same group.instance.id: the coordinator"
        " fences the older.",
        (
            ("start", "a", _STATIC["a"]),
            ("shared_by", "a"),
            ("commits", "a"),
            ("trouble",),
            ("tell", "a", "twin"),
            ("refused", 82),
            ("pause", 3.0),
            ("over",),
        ),
        "static_id_twice",
        ("a",),
        ("zombie", "client_id_twice", *_EXPIRED),
    ),
    Scenario(
        "no_common_assignor",
        "Member a has the range assignor, b only the round-robin assignor: b is refused.",
        (
            ("start", "a"),
            ("shared_by", "a"),
            ("commits", "a"),
            ("trouble",),
            ("start", "b", Setup(assignor="roundrobin")),
            ("refused", 23, 2),
            ("over",),
        ),
        "no_common_protocol",
        ("b",),
        classic="the coordinator of KIP-848 has the assignor",
    ),
    Scenario(
        "group_full",
        "The broker allows two members a group; the third, c, is refused.",
        (
            *_two(Setup()),
            ("trouble",),
            ("start", "c"),
            ("refused", 81, 2),
            ("over",),
        ),
        "group_full",
        ("c",),
        settings={"group.max.size": "2"},
        classic="KIP-848 has another limit, group.consumer.max.size",
    ),
    Scenario(
        "topic_late",
        "Members a and b subscribe to a topic that is made only 6 s later.",
        (
            ("start", "a", Setup(metadata=1000)),
            ("start", "b", Setup(metadata=1000)),
            ("trouble",),
            ("begun", "a", "b"),
            ("pause", 6.0),
            ("make_topic",),
            ("shared_by", "a", "b"),
            ("over",),
            ("commits", "b"),
        ),
        "topic_missing",
        ("a", "b"),
        ("partitions_added",),
        topic=False,
    ),
    Scenario(
        "idle_proxy",
        "Member a connects through a proxy that closes connections without traffic after 6 s. c"
        " joins while b handles a batch for 17 s, so the answer to a's JoinGroup takes longer.",
        (
            *_two(Setup(max_poll=30_000, proxied=True), Setup(max_poll=30_000)),
            ("tell", "b", "sleep 17000"),
            ("trouble",),
            ("start", "c", Setup(max_poll=30_000)),
            ("cut", 1),
            ("woken", "b"),
            ("shared_by", "a", "b", "c"),
            ("over",),
        ),
        "idle_connection_cut",
        ("a",),
        (
            "late_join",
            "handler_ignores_rebalance",
            "join_window_missed",
            "blocked_by_departed_member",
        ),
        idle_s=6.0,
        classic="no request of KIP-848 waits for a rebalance, and heartbeats use its connection",
    ),
    Scenario(
        "rolling_restart",
        "Three members are replaced one after the other, each by a new process.",
        (
            *_THREE,
            *_replaced("a", "d", "b", "c"),
            *_replaced("b", "e", "c", "d"),
            *_replaced("c", "f", "d", "e"),
        ),
    ),
    Scenario(
        "regex",
        "Members a and b subscribe by a regular expression, which means the topic.",
        _two(Setup(pattern=True)),
    ),
    Scenario(
        "rolling_upgrade",
        "Two members of the classic protocol are replaced one after the other by members that use"
        " KIP-848: the group becomes a consumer group.",
        (
            *_two(Setup(classic=True)),
            *_replaced("a", "c", "b"),
            *_replaced("b", "d", "c"),
        ),
        upgrade=True,
    ),
    Scenario(
        "rolling_downgrade",
        "Two members that use KIP-848 are replaced one after the other by members of the classic"
        " protocol: when the last one leaves, the group becomes a classic group.",
        (
            *_two(Setup()),
            ("start", "c", Setup(classic=True)),
            ("shared_by", "a", "b", "c"),
            ("stop", "a"),
            ("shared_by", "b", "c"),
            ("start", "d", Setup(classic=True)),
            ("shared_by", "b", "c", "d"),
            ("stop", "b"),
            ("shared_by", "c", "d"),
            ("commits", "d"),
        ),
        upgrade=True,
    ),
    Scenario(
        "broker_restart",
        "The broker is stopped and started again while two members have sessions of a minute: the"
        " group is loaded and goes on.",
        (
            # more than a broker takes to start on a busy machine: else it is `broker_outage`
            *_two(Setup(session=60_000, max_poll=60_000, commit_on_revoke=False)),
            ("trouble",),
            ("restart_broker",),
            ("commits", "a"),
            ("commits", "b"),
            ("over",),
            ("commits", "a"),
            ("commits", "b"),
        ),
        "broker_outage",
        ("a", "b"),
        (
            "coordinator_loading",
            "coordinator_moved",
            "coordinator_unavailable",
            "fetch_session_lost",
        ),
    ),
    Scenario(
        "broker_outage",
        "The broker is away for 12 s while two members have sessions of 4 s.",
        (
            *_two(Setup(session=4000, max_poll=20_000, commit_on_revoke=False)),
            ("trouble",),
            ("stop_broker",),
            ("pause", 12.0),
            ("start_broker",),
            ("commits", "a"),
            ("commits", "b"),
            ("over",),
            ("commits", "a"),
            ("commits", "b"),
        ),
        "broker_outage",
        ("a", "b"),
        (*_EXPIRED, "coordinator_loading", "coordinator_moved", "coordinator_unavailable"),
    ),
    Scenario(
        "partitions_added",
        "The topic grows from 6 to 8 partitions; the leader sees it and the group rebalances.",
        (
            *_two(Setup(metadata=1000, commit_on_revoke=False)),
            ("trouble",),
            ("add_partitions", 8),
            ("shared_by", "a", "b"),
            ("over",),
            ("commits", "a"),
        ),
        "partitions_added",
        ("a", "b"),
    ),
)
SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in _SCENARIOS}


def with_consumer(scenario: Scenario) -> Scenario:
    """A scenario whose members use KIP-848. Raises `UserError` for one that is about the classic
    protocol.
    """
    if scenario.classic:
        raise UserError(
            f"{scenario.name} is about the classic protocol alone: {scenario.classic}",
            where="--group-protocol",
            do="record another scenario",
        )
    return evolve(scenario, settings={**scenario.pace, **scenario.settings})


def without_consumer(scenario: Scenario) -> Scenario:
    """A scenario whose members use the classic protocol. Raises `UserError` for one in which they
    change it.
    """
    if scenario.upgrade:
        raise UserError(
            f"{scenario.name} needs members that use KIP-848",
            where="--scenario",
            do="add --group-protocol consumer, and --client java or confluent-kafka",
        )
    return scenario


def known(name: str) -> Scenario:
    """The scenario of that name. Raises `UserError` if there is none."""
    if name not in SCENARIOS:
        raise UserError(
            f"no scenario {name[:40]!r}",
            where="--scenario",
            do=f"choose one of {', '.join(SCENARIOS)}",
        )
    return SCENARIOS[name]
