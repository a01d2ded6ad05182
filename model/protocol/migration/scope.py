"""The bounds of a run, and how Kafka's weak points of migration are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import frozen

from groupcheck.model.engine import ScopeError
from groupcheck.model.protocol.bounds import TRUTH, bound, one_of
from groupcheck.model.protocol.consumer.scope import FAULTS, ConsumerScope, finding

# group.consumer.migration.policy: what may become what.
POLICIES: Mapping[str, tuple[bool, bool]] = {
    "bidirectional": (True, True),
    "upgrade": (True, False),
    "downgrade": (False, True),
    "disabled": (False, False),
}
OF_TIMERS = ("session_timeout", "rebalance_timeout", "fail_over")
OF_MEMBERS = ("crash", "close", "lose_request", "lose_response")
MORE: Mapping[str, str] = {
    "join_timeout": "The coordinator waits no longer for a classic member to join again.",
    "sync_timeout": "The coordinator waits no longer for the SyncGroup of a classic member.",
}
MIGRATION_FAULTS: Mapping[str, str] = {
    **{name: FAULTS[name] for name in FAULTS if name in (*OF_TIMERS, *OF_MEMBERS)},
    **MORE,
}
RESTARTS: Mapping[str, str] = {
    "upgrade": "all begin as classic members, and may be restarted as consumer members",
    "downgrade": "all begin as consumer members, and may be restarted as classic ones",
    "both": "all begin as classic members, and may be restarted as the other kind at any time",
}
# What consumer groups have that groups which migrate have not.
ABSENT: Mapping[str, Any] = {
    "java": False,
    "offsets": False,
    "patterns": False,
    "interval": False,
    "wire": "collapsed",
    "callbacks": "instant",
    "assignment_epochs": False,
}


@frozen
class MigrationScope(ConsumerScope):
    """The bounds of a run, and the readings."""

    LACKS: ClassVar[Mapping[str, str]] = {
        name: "groups that migrate are modelled without it"
        for name in FAULTS
        if name not in MIGRATION_FAULTS
    }
    MORE: ClassVar[Mapping[str, str]] = MORE
    APART: ClassVar[tuple[str, ...]] = (*LACKS,)

    policy: str = bound(
        "bidirectional",
        "group.consumer.migration.policy: which kind of group may become the other one.",
        one_of((*POLICIES,)),
    )
    restarts: str = bound(
        "upgrade",
        "Which restarts there are: " + "; ".join(f"`{n}`: {what}" for n, what in RESTARTS.items()),
        one_of((*RESTARTS,)),
    )
    cooperative: bool = bound(
        False, "Do classic members rebalance cooperatively? Otherwise eagerly.", TRUTH
    )
    k13: str = finding(
        "the first heartbeat of a consumer member to a classic group that has not finished its"
        " first round is answered with UNKNOWN_SERVER_ERROR, and the member fails for good."
    )
    k15: str = finding(
        "(4.3.0 and newer) a classic member in a group that is ahead of its target is not told to"
        " join again, so classic members alone never get another target."
    )
    k21: str = finding(
        "after a fail-over a classic member has the session timeout of consumer groups, not its"
        " own."
    )
    k29: str = finding(
        "a static member that makes a classic group of the group, in which all else are classic"
        " members, gets at once what others have not given up."
    )

    k30: str = finding(
        "what a member of a classic group has not revoked yet, although the last plan takes it"
        " away, is free once the group is upgraded."
    )
    k31: str = finding(
        "a classic member that was removed from a consumer group joins it again under its former"
        " id, and does not hear that its partitions are lost."
    )
    k36: str = finding(
        "a classic member that has to revoke, and goes on with heartbeats of the new protocol under"
        " the same id, revokes without a rebalance timer."
    )
    k37: str = finding(
        "the join timer of a round that an upgrade has ended runs on, and removes members of the"
        " classic group that comes of a downgrade."
    )
    k38: str = finding(
        "a static member that is away, and joins with the classic protocol under the member id that"
        " it had, still counts as away while it has to revoke something."
    )

    def __attrs_post_init__(self) -> None:
        ConsumerScope.__attrs_post_init__(self)
        if self.regexes:
            raise ScopeError(
                "groups that migrate have no regexes here", where="scope", do="leave regexes out"
            )
        if self.requests == "anybody":
            for name, count in self.faults:
                if count and name in OF_MEMBERS:
                    raise ScopeError(
                        f"there is no fault {name!r} here: members are every client that there"
                        " could be",
                        where="scope",
                    )
            return
        for name, value in ABSENT.items():
            if getattr(self, name) != value:
                raise ScopeError(
                    f"groups that migrate have no {name}={getattr(self, name)} here",
                    where="scope",
                    do=f"leave {name} out",
                )
        if self.max_size is not None:
            raise ScopeError(
                "members of a group that migrates may be as many as there are",
                where="scope",
                do="leave max_size out, or take requests=anybody",
            )

    @property
    def upgrades(self) -> bool:
        """May a classic group become a consumer group?"""
        return POLICIES[self.policy][0]

    @property
    def downgrades(self) -> bool:
        """May a consumer group become a classic group?"""
        return POLICIES[self.policy][1]
